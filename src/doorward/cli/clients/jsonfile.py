"""One entry of a JSON configuration: set or taken out, with every other byte left as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from doorward.cli.clients.jsontext import Member, Node, parse, skip, unreadable

_INDENT = re.compile(r"\n([ \t]+)\S")


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
    style = _Style(text)
    held = _only(text, root, container)
    if held is None:
        return _insert(text, root, container, {name: value}, style, 0)
    inside = _object(text, held.node, f"{container!r}")
    ours = _only(text, inside, name)
    if ours is None:
        return _insert(text, inside, name, value, style, 1)
    if ours.node.value == value:
        return text
    written = style.written(value, 2, _has_lines(text, ours.node) or _has_lines(text, inside))
    return text[: ours.node.start] + written + text[ours.node.end :]


def remove_entry(text: str, container: str, name: str) -> str:
    """The text without this entry."""
    held = _only(text, _object(text, parse(text), "the file"), container)
    inside = None if held is None else _object(text, held.node, f"{container!r}")
    ours = None if inside is None else _only(text, inside, name)
    if inside is None or ours is None or inside.members is None:
        return text
    place = inside.members.index(ours)
    begin = len(text[: ours.start].rstrip(" \t\r\n"))
    has_comma = place < len(inside.members) - 1 or inside.comma
    end = skip(text, ours.node.end) + 1 if has_comma else ours.node.end
    if len(inside.members) == 1:
        rest = text[inside.start + 1 : begin] + text[end : inside.end - 1]
        return text[: inside.start + 1] + (rest if rest.strip() else "") + text[inside.end - 1 :]
    if has_comma:
        return text[:begin] + text[end:]
    comma = skip(text, inside.members[place - 1].node.end)
    return text[:comma] + text[comma + 1 : begin] + text[end:]


class _Style:
    """How the file is laid out: its line ends and its indentation."""

    def __init__(self, text: str) -> None:
        found = _INDENT.search(text)
        self.unit = found[1] if found else "  "
        self.line = "\r\n" if "\r\n" in text else "\n"

    def written(self, value: Any, depth: int, lines: bool) -> str:
        if not lines:
            return json.dumps(value, ensure_ascii=False)
        laid_out = json.dumps(value, indent=self.unit, ensure_ascii=False).split("\n")
        return (self.line + self.unit * depth).join(laid_out)


def _insert(text: str, node: Node, key: str, value: Any, style: _Style, depth: int) -> str:
    """The text with one more member, behind the last."""
    lines = _has_lines(text, node) or not node.members
    member = f"{json.dumps(key, ensure_ascii=False)}: {style.written(value, depth + 1, lines)}"
    close = node.end - 1
    tail = len(text[:close].rstrip(" \t\r\n"))
    if not lines and node.members:
        last = node.members[-1].node.end
        return f"{text[:last]}, {member}{text[last:]}"
    begin = style.line + style.unit * (depth + 1)
    if not node.members:
        return text[:tail] + begin + member + style.line + style.unit * depth + text[close:]
    last = node.members[-1].node.end
    if node.comma:
        return text[:tail] + begin + member + "," + text[tail:]
    return text[:last] + "," + text[last:tail] + begin + member + text[tail:]


def _has_lines(text: str, node: Node) -> bool:
    return "\n" in text[node.start : node.end]


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
