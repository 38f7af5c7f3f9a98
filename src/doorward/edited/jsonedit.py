"""Edits of a JSON text that keep all other bytes and follow the layout of the file."""

from __future__ import annotations

import json
import re
from typing import Any

from doorward.edited.jsontext import Member, Node, skip

_INDENT = re.compile(r"\n([ \t]+)\S")


def inserted(text: str, node: Node, key: str, value: Any, depth: int) -> str:
    """Add a member at the end of this object. `depth` is the nesting depth of the object itself."""
    return _added(text, node, f"{json.dumps(key, ensure_ascii=False)}: ", value, depth)


def appended(text: str, node: Node, value: Any, depth: int) -> str:
    """Add an element at the end of this list."""
    return _added(text, node, "", value, depth)


def replaced(text: str, node: Node, value: Any, depth: int, *, lines: bool = False) -> str:
    """Replace this value by another."""
    written = _Style(text).written(value, depth, lines or has_lines(text, node))
    return text[: node.start] + written + text[node.end :]


def without(text: str, node: Node, place: int) -> str:
    """Remove one member of an object or one element of a list, with its comma."""
    inner = _inside(node)
    ours, (start, _) = inner[place], _span(inner[place])
    begin = len(text[:start].rstrip(" \t\r\n"))
    has_comma = place < len(inner) - 1 or node.comma
    stop = _span(ours)[1]
    end = skip(text, stop) + 1 if has_comma else stop
    if len(inner) == 1:
        rest = text[node.start + 1 : begin] + text[end : node.end - 1]
        return text[: node.start + 1] + (rest if rest.strip() else "") + text[node.end - 1 :]
    if has_comma:
        return text[:begin] + text[end:]
    comma = skip(text, _span(inner[place - 1])[1])
    return text[:comma] + text[comma + 1 : begin] + text[end:]


def has_lines(text: str, node: Node) -> bool:
    return "\n" in text[node.start : node.end]


class _Style:
    """The layout of the file: line ends and indentation."""

    def __init__(self, text: str) -> None:
        found = _INDENT.search(text)
        self.unit = found[1] if found else "  "
        self.line = "\r\n" if "\r\n" in text else "\n"

    def written(self, value: Any, depth: int, lines: bool) -> str:
        if not lines:
            return json.dumps(value, ensure_ascii=False)
        laid_out = json.dumps(value, indent=self.unit, ensure_ascii=False).split("\n")
        return (self.line + self.unit * depth).join(laid_out)


def _added(text: str, node: Node, before: str, value: Any, depth: int) -> str:
    inner, style = _inside(node), _Style(text)
    lines = has_lines(text, node) or not inner
    one = before + style.written(value, depth + 1, lines)
    close = node.end - 1
    tail = len(text[:close].rstrip(" \t\r\n"))
    if not lines:
        last = _span(inner[-1])[1]
        return f"{text[:last]}, {one}{text[last:]}"
    begin = style.line + style.unit * (depth + 1)
    if not inner:
        return text[:tail] + begin + one + style.line + style.unit * depth + text[close:]
    if node.comma:
        return text[:tail] + begin + one + "," + text[tail:]
    last = _span(inner[-1])[1]
    return text[:last] + "," + text[last:tail] + begin + one + text[tail:]


def _inside(node: Node) -> list[Member] | list[Node]:
    if node.members is not None:
        return node.members
    return node.elements if node.elements is not None else []


def _span(one: Member | Node) -> tuple[int, int]:
    return (one.start, one.node.end) if isinstance(one, Member) else (one.start, one.end)
