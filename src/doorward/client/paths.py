"""Paths of the server's resources, and the pages of its lists."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from doorward.client.body import text
from doorward.errors import BadParams, Unreachable


def part(name: str, *, deep: bool = False) -> str:
    """A name or an id as a part of a path. One that goes `deep` may hold slashes."""
    text(name, "A name or an id", "shell/ls" if deep else "general")
    pieces = name.split("/") if deep else [name]
    if any(piece in ("", ".", "..") for piece in pieces):
        raise BadParams(f"This names nothing on the server: {name!r}; valid is a name or an id.")
    return "/".join(quote(piece, safe="") for piece in pieces)


class Page(list[dict[str, Any]]):
    """Some items of a list. `next` says how to ask for those that follow, and is None at the end."""

    next: Any = None
    total: int | None = None

    @classmethod
    def of(cls, said: Any) -> Page:
        if not isinstance(said, dict) or not isinstance(said.get("items"), list):
            raise Unreachable("The answer is no list, as Doorward writes one.")
        page = cls(said["items"])
        page.next, page.total = said.get("next", said.get("cursor")), said.get("total")
        return page
