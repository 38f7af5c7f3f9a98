"""URL paths of the server's resources, and pages of its lists."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from doorward.client.body import text
from doorward.errors import BadParams, Unreachable


def part(name: str, *, deep: bool = False) -> str:
    """Quote a name or an id for a URL path. With `deep`, it may contain slashes."""
    text(name, "A name or an id", "shell/ls" if deep else "general")
    pieces = name.split("/") if deep else [name]
    if any(piece in ("", ".", "..") for piece in pieces):
        raise BadParams(f"Invalid name {name!r}; valid: a name or an id, without empty parts, '.' or '..'.")
    return "/".join(quote(piece, safe="") for piece in pieces)


class Page(list[dict[str, Any]]):
    """One page of a list. `next` is the cursor of the following page, and None on the last one."""

    next: Any = None
    total: int | None = None

    @classmethod
    def of(cls, said: Any) -> Page:
        if not isinstance(said, dict) or not isinstance(said.get("items"), list):
            raise Unreachable("The response is not a Doorward list.")
        page = cls(said["items"])
        page.next, page.total = said.get("next", said.get("cursor")), said.get("total")
        return page
