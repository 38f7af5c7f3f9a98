"""The configuration of upstream servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from doorward.core.classification import Tier

Transport = Literal["stdio", "http"]


class ServerSandbox(msgspec.Struct, frozen=True, kw_only=True):
    """What a server's process may access, besides the system's programs and its own folder."""

    read: tuple[str, ...] = ()
    """Absolute paths that it may read."""
    write: tuple[str, ...] = ()
    """Absolute paths that it may change."""
    network: bool = False
    memory_bytes: int = 2 * 1024 * 1024 * 1024
    processes: int = 64


class ServerAuth(msgspec.Struct, frozen=True, kw_only=True):
    """How Doorward authenticates to an HTTP server. Tokens of Doorward's own callers are never passed on."""

    type: Literal["bearer", "client_credentials", "oauth"]
    token: str = ""
    token_url: str = ""
    """Token endpoint for client credentials; empty: taken from the server's metadata."""
    client_id: str = ""
    client_secret: str = ""
    scope: str = ""


class ToolTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's settings for one tool, which override those of its server."""

    tier: Tier | None = None
    cost: float | None = None
    timeout_seconds: float | None = None
    auto_approve: bool | None = None


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The complete configuration of one server: variables expanded, paths absolute, defaults filled in."""

    id: str
    name: str
    enabled: bool = True
    transport: Transport = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    folder: str = ""
    """Working folder of the process, as an absolute path; empty: its own folder."""
    url: str = ""
    headers: Mapping[str, str] = {}
    auth: ServerAuth | None = None
    sandbox: ServerSandbox = ServerSandbox()
    tier: Tier = Tier.SYSTEM
    """The tier of its tools. `information` means that the operator knows that they only read."""
    cost: float = 5.0
    allow: tuple[str, ...] | None = None
    """The tools to offer, as exact names or patterns with `*`; None: all."""
    deny: tuple[str, ...] = ()
    auto_approve: bool | tuple[str, ...] = False
    """Whether calls need no approval: for all tools, or for the listed ones (patterns with `*`)."""
    tools: Mapping[str, ToolTerms] = {}
    sampling: bool = False
    """Whether it may ask the calling client for a model's answer."""
    timeout_seconds: float = 60.0
    """Time limit of one call."""
    start_seconds: float = 30.0
    """Time limit to start and to list what it offers."""
    ping_seconds: float = 30.0
    secrets: tuple[str, ...] = ()
    """Values from variables or from secret fields. They are never shown, logged or recorded."""
    lacks: str = ""
    """A sentence that says why it cannot start. It is then disabled, whatever the file says."""
    problem: str = ""
    """The same sentence, if the file enables the server; empty for a disabled server."""


class ServersConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    servers: tuple[ServerConfig, ...] = ()
    approval_required: bool = True
    auto_discovery: bool = False
    sub_agent: bool = True

    @property
    def networked_ids(self) -> tuple[str, ...]:
        """Ids of the enabled servers whose process has access to this machine's network."""
        return tuple(one.id for one in self.servers if one.enabled and one.transport == "stdio" and one.sandbox.network)
