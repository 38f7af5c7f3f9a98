"""Shared parts of the mcp commands: the family and the type of a server id."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from doorward.core.command import Family

family = Family("mcp", category="mcp")

ServerId = Annotated[str, Meta(description="The server's id in the server file", min_length=1, max_length=64)]
