"""The addresses of servers' resources as our own clients see them: unique, and leading back to their server.

A resource of a server is `mcp://<server>/` with the server's own address behind it, as it is. Nothing in it is encoded
anew, so that a template stays a template, and whoever reads the address sees what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

SCHEME = "mcp://"
LONGEST = 8_192
"""Characters of an address, with the server in front of it."""
_WRAPPED = re.compile(r"mcp://([a-z][a-z0-9_-]{0,30})/(.+)", re.DOTALL)


def wrapped(server: str, uri: str) -> str:
    return f"{SCHEME}{server}/{uri}"


def unwrapped(uri: str) -> tuple[str, str] | None:
    """The server and its own address; None for an address of another kind."""
    found = _WRAPPED.fullmatch(uri) if len(uri) <= LONGEST else None
    return (found[1], found[2]) if found is not None else None


def relinked(server: str, content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same blocks with every address in them as our clients can read it. Most have none, and are left alone."""
    for block in content:
        kind = block.get("type")
        if kind == "resource_link" or kind == "resource":
            return [_relinked(server, one) for one in content]
    return content


def contents(server: str, given: Iterable[Any]) -> list[dict[str, Any]]:
    """What a resource holds, under addresses that lead back."""
    return [_addressed(server, one) for one in given if isinstance(one, dict)]


def _relinked(server: str, block: dict[str, Any]) -> dict[str, Any]:
    kind = block.get("type")
    if kind == "resource_link":
        return _addressed(server, block)
    if kind == "resource" and isinstance(block.get("resource"), dict):
        return {**block, "resource": _addressed(server, block["resource"])}
    return block


def _addressed(server: str, one: dict[str, Any]) -> dict[str, Any]:
    uri = one.get("uri")
    return {**one, "uri": wrapped(server, uri)} if isinstance(uri, str) else one
