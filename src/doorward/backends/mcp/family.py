"""The family of commands about MCP servers of others, and how they name one."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from doorward.command import Family

family = Family("mcp", category="mcp")

ServerId = Annotated[str, Meta(description="The server's id in the file of servers", min_length=1, max_length=64)]
