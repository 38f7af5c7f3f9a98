"""The published schema of `mcp-servers.json`."""

from __future__ import annotations

from importlib import resources

from doorward.edited.published import Published

_SERVERS = Published(resources.files(__package__).joinpath("mcp-servers.schema.json").read_bytes())
PUBLISHED = _SERVERS.schema
first_fault = _SERVERS.first_fault
