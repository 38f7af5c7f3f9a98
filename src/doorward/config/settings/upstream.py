"""The settings of upstream MCP servers, and of the packages that they are installed from."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from doorward.config.settings.agents import Seconds
from doorward.config.settings.sandbox import Bytes


class PackageSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[upstream.packages]`: where MCP servers are found and installed from."""

    registry: str = "https://registry.modelcontextprotocol.io"
    """The MCP registry that mcp/search asks; empty for none."""
    python_index: str = ""
    """The index of Python packages; empty means the one of pip's configuration, else `https://pypi.org/simple`."""
    npm_registry: str = ""
    """The registry of npm packages; empty means the one of npm's configuration, else `https://registry.npmjs.org`."""
    hosts: tuple[str, ...] = ("pypi.org", "files.pythonhosted.org", "registry.npmjs.org")
    """The hosts that an installation may reach, besides the hosts of the two addresses above."""
    install_seconds: Seconds = 300.0
    """Time limit of each program that an installation runs."""
    max_bytes: Bytes = 500_000_000
    """Maximum size on disk of one installed server with all its packages."""


class UpstreamSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file: str = ""
    """The file of upstream MCP servers; empty means `mcp-servers.json` in the home folder."""
    max_entries: Annotated[int, Meta(ge=1, le=100_000)] = 2_000
    """Maximum tools, resources and prompts, each, that are taken from one upstream server."""
    private_addresses: tuple[str, ...] = ()
    """Private networks, such as `10.0.0.0/8`, that upstream servers and the hosts in recipes may resolve to."""
    client_metadata_url: str = ""
    """The https address of this server's OAuth client metadata document, for authorization servers that support it."""
    callback_port: Annotated[int, Meta(ge=0, le=65_535)] = 0
    """The local port for the OAuth callback of a login to an upstream server; 0 picks a free one."""
    packages: PackageSettings = PackageSettings()
    """Where servers are found and installed from: a table `[upstream.packages]`."""
