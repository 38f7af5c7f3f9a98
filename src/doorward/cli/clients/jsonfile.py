"""One entry of a JSON configuration: set or taken out, with every other byte left as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from doorward.edited import jsonedit
from doorward.edited.jsontext import Member, Node, parse, unreadable


def entries(text: str, container: str) -> dict[str, Any]:
    """All entries as they stand in the text; one that is there twice makes it unreadable."""
    if not text.strip("\ufeff \t\r\n"):
        return {}
    held = _only(text, parse(text), container)
    found: dict[str, Any] = {}
    for one in (held.node.members if held is not None else None) or []:
        if one.key in found:
            raise unreadable(text, one.start, f"{one.key!r} is there twice")
        found[one.key] = one.node.value
    return found


def entry(text: str, container: str, name: str) -> Any:
    """The entry as it stands in the text, or None."""
    return entries(text, container).get(name)


def set_entry(text: str, container: str, name: str, value: Mapping[str, Any]) -> str:
    """The text with this entry, in the style of the rest."""
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
    """The text without this entry."""
    held = _only(text, _object(text, parse(text), "the file"), container)
    inside = None if held is None else _object(text, held.node, f"{container!r}")
    ours = None if inside is None else _only(text, inside, name)
    if inside is None or ours is None or inside.members is None:
        return text
    return jsonedit.without(text, inside, inside.members.index(ours))


def _object(text: str, node: Node, what: str) -> Node:
    if node.members is None:
        raise unreadable(text, node.start, f"{what} must hold a JSON object")
    return node


def _only(text: str, node: Node, key: str) -> Member | None:
    """The member of that name; one that is there twice cannot be changed safely."""
    found = [one for one in node.members or [] if one.key == key]
    if len(found) > 1:
        raise unreadable(text, found[1].start, f"{key!r} is there twice")
    return found[0] if found else None
