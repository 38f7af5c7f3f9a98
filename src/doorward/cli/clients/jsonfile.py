"""Sets or removes one entry of a JSON configuration file, leaving every other byte unchanged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from doorward.edited import jsonedit
from doorward.edited.jsontext import Member, Node, parse, unreadable


def entries(text: str, container: str) -> dict[str, Any]:
    """Return all entries. Raises when a name occurs twice."""
    if not text.strip("\ufeff \t\r\n"):
        return {}
    held = _only(text, parse(text), container)
    found: dict[str, Any] = {}
    for one in (held.node.members if held is not None else None) or []:
        if one.key in found:
            raise unreadable(text, one.start, f"{one.key!r} occurs twice")
        found[one.key] = one.node.value
    return found


def entry(text: str, container: str, name: str) -> Any:
    """Return the entry, or None."""
    return entries(text, container).get(name)


def set_entry(text: str, container: str, name: str, value: Mapping[str, Any]) -> str:
    """Return the text with this entry set, in the style of the rest."""
    if not text.strip("\ufeff \t\r\n"):
        return json.dumps({container: {name: value}}, indent=2, ensure_ascii=False) + "\n"
    root = _object(text, parse(text), "the file")
    held = _only(text, root, container)
    if held is None:
        return jsonedit.inserted(text, root, container, {name: value}, 0)
    inside = _object(text, held.node, f"{container!r}")
    ours = _only(text, inside, name)
    if ours is None:
        return jsonedit.inserted(text, inside, name, value, 1)
    if ours.node.value == value:
        return text
    return jsonedit.replaced(text, ours.node, value, 2, lines=jsonedit.has_lines(text, inside))


def remove_entry(text: str, container: str, name: str) -> str:
    """Return the text without this entry."""
    held = _only(text, _object(text, parse(text), "the file"), container)
    inside = None if held is None else _object(text, held.node, f"{container!r}")
    ours = None if inside is None else _only(text, inside, name)
    if inside is None or ours is None or inside.members is None:
        return text
    return jsonedit.without(text, inside, inside.members.index(ours))


def _object(text: str, node: Node, what: str) -> Node:
    if node.members is None:
        raise unreadable(text, node.start, f"{what} must be a JSON object")
    return node


def _only(text: str, node: Node, key: str) -> Member | None:
    """Return the member with that key. Raises when it occurs twice, because no edit is safe then."""
    found = [one for one in node.members or [] if one.key == key]
    if len(found) > 1:
        raise unreadable(text, found[1].start, f"{key!r} occurs twice")
    return found[0] if found else None
