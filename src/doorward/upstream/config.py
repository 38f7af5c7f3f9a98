"""One upstream server as its operator set it up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from doorward.facts import Tier

Transport = Literal["stdio", "http"]


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What the process of a server may reach; beside this it has the system's programs and a folder of its own."""

    read: tuple[str, ...] = ()
    """Absolute paths that it may read."""
    write: tuple[str, ...] = ()
    """Absolute paths that it may change."""
    network: bool = False
    memory_bytes: int = 2 * 1024 * 1024 * 1024
    processes: int = 64


class Auth(msgspec.Struct, frozen=True, kw_only=True):
    """How Doorward shows a server over HTTP who it is. Its own callers' tokens are never passed on."""

    type: Literal["bearer", "client_credentials", "oauth"]
    token: str = ""
    token_url: str = ""
    """Where client credentials are turned into a token; empty: where the server's metadata says."""
    client_id: str = ""
    client_secret: str = ""
    scope: str = ""


class ToolTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator says of one tool, over what is said of its server."""

    tier: Tier | None = None
    cost: float | None = None
    timeout_seconds: float | None = None
    auto_approve: bool | None = None


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Complete and expanded: variables are replaced, paths are absolute, defaults are filled in."""

    id: str
    name: str
    enabled: bool = True
    transport: Transport = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    folder: str = ""
    """Where the process starts, as an absolute path; empty: in the folder of its own."""
    url: str = ""
    headers: Mapping[str, str] = {}
    auth: Auth | None = None
    sandbox: Surroundings = Surroundings()
    tier: Tier = Tier.SYSTEM
    """The tier of its tools; `information` means that the operator knows them to read only."""
    cost: float = 5.0
    allow: tuple[str, ...] | None = None
    """The tools that are offered, as exact names or patterns with `*`; None: all."""
    deny: tuple[str, ...] = ()
    auto_approve: bool | tuple[str, ...] = False
    """Whether calls need no approval: of all tools, or of those named (patterns with `*`)."""
    tools: Mapping[str, ToolTerms] = {}
    sampling: bool = False
    """Whether it may ask the client that called it for a model's answer."""
    timeout_seconds: float = 60.0
    """How long one call may take."""
    start_seconds: float = 30.0
    """How long it may take to start and to say what it can do."""
    ping_seconds: float = 30.0
    secrets: tuple[str, ...] = ()
    """The values that came from variables or are secret by their place: never shown, logged or recorded."""
    lacks: str = ""
    """Why it could not be started as it stands, as a sentence; it is not enabled then, whatever the file says."""
    problem: str = ""
    """The same, if the file wants it enabled; what one lacks that nobody wants to run is no problem."""


class Servers(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    servers: tuple[ServerConfig, ...] = ()
    approval_required: bool = True
    auto_discovery: bool = False
    sub_agent: bool = False

    @property
    def networked(self) -> tuple[str, ...]:
        """The ids of those whose process is to have the network of this machine."""
        return tuple(one.id for one in self.servers if one.enabled and one.transport == "stdio" and one.sandbox.network)
