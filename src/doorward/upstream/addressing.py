"""Resource URIs of upstream servers, as Doorward's clients see them.

A server's resource is `mcp://<server>/` followed by the server's own URI. The URI is not re-encoded, so that a template
stays a template and the URI stays readable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

SCHEME = "mcp://"
LONGEST = 8_192
"""Length limit of a wrapped URI, in characters."""
_WRAPPED = re.compile(r"mcp://([a-z][a-z0-9_-]{0,30})/(.+)", re.DOTALL)


def wrapped(server: str, uri: str) -> str:
    return f"{SCHEME}{server}/{uri}"


def unwrapped(uri: str) -> tuple[str, str] | None:
    """Split a wrapped URI into the server and its own URI; None for any other URI."""
    found = _WRAPPED.fullmatch(uri) if len(uri) <= LONGEST else None
    return (found[1], found[2]) if found is not None else None


def relinked(server: str, content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Wrap every URI in these content blocks. Most blocks have none and are returned unchanged."""
    for block in content:
        kind = block.get("type")
        if kind == "resource_link" or kind == "resource":
            return [_relinked(server, one) for one in content]
    return content


def contents(server: str, given: Iterable[Any]) -> list[dict[str, Any]]:
    """Wrap the URIs in the contents of a resource."""
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
