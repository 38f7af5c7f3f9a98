"""JSON with comments and trailing commas (JSONC): a parser with positions, and edits that keep all other bytes."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from doorward.core import strictjson


class UnreadableText(ValueError):
    """The text cannot be parsed; the message says where or why."""


class UneditableText(UnreadableText):
    """The text can be parsed but not edited safely; the message says why."""


_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"[-+.\w]+")
_DEEPEST = 100


def error_at(text: str, place: int, problem: str) -> UnreadableText:
    before = text[:place]
    line, column = before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1
    return UnreadableText(f"line {line}, column {column}: {problem}")


class JsonNode(msgspec.Struct):
    """One value with its position and, for an object or a list, its members or elements."""

    start: int
    end: int
    value: Any
    members: list[JsonMember] | None = None
    elements: list[JsonNode] | None = None
    """The values of a list, in order."""
    comma: bool = False
    """Whether a comma follows the last member or element."""

    def find_member(self, key: str) -> JsonMember | None:
        return next((one for one in reversed(self.members or []) if one.key == key), None)


class JsonMember(msgspec.Struct):
    key: str
    start: int
    node: JsonNode


def parse_jsonc(text: str) -> JsonNode:
    reader = _JsoncParser(text)
    start = reader.skip(1 if text.startswith("\ufeff") else 0)
    node = reader.value(start, 0)
    end = reader.skip(node.end)
    if end != len(text):
        raise error_at(text, end, "unexpected text after the end of the JSON value")
    return node


def skip_space(text: str, place: int) -> int:
    """The next position that is neither space nor part of a comment."""
    found = _SPACE.match(text, place)
    return found.end() if found else place


class _JsoncParser:
    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, place: int) -> int:
        return skip_space(self._text, place)

    def value(self, place: int, depth: int) -> JsonNode:
        if depth > _DEEPEST:
            raise error_at(self._text, place, f"nested deeper than {_DEEPEST} levels")
        sign = self._text[place : place + 1]
        if sign == "{":
            return self._object(place, depth)
        if sign == "[":
            return self._array(place, depth)
        found = (_STRING if sign == '"' else _SCALAR).match(self._text, place)
        if found is None:
            raise error_at(self._text, place, f"a value is expected, not {sign!r}" if sign else "a value is missing")
        try:
            return JsonNode(place, found.end(), strictjson.loads(found[0]))
        except strictjson.NotJson as error:
            raise error_at(self._text, place, f"{found[0][:40]!r} is not a JSON value") from error

    def _object(self, start: int, depth: int) -> JsonNode:
        node = JsonNode(start, start, {}, [])
        place = self.skip(start + 1)
        while self._text[place : place + 1] != "}":
            key = self.value(place, depth + 1)
            if not isinstance(key.value, str):
                raise error_at(self._text, place, "a name in quotes is expected")
            colon = self.skip(key.end)
            if self._text[colon : colon + 1] != ":":
                raise error_at(self._text, colon, "a colon is expected")
            value = self.value(self.skip(colon + 1), depth + 1)
            node.value[key.value] = value.value
            if node.members is not None:
                node.members.append(JsonMember(key.value, place, value))
            place, node.comma = self._next(value.end, "}")
        node.end = place + 1
        return node

    def _array(self, start: int, depth: int) -> JsonNode:
        node = JsonNode(start, start, [], None, [])
        place = self.skip(start + 1)
        while self._text[place : place + 1] != "]":
            value = self.value(place, depth + 1)
            node.value.append(value.value)
            if node.elements is not None:
                node.elements.append(value)
            place, node.comma = self._next(value.end, "]")
        node.end = place + 1
        return node

    def _next(self, end: int, closing: str) -> tuple[int, bool]:
        """The position of the next value or of the closing bracket, and whether there was a comma."""
        place = self.skip(end)
        sign = self._text[place : place + 1]
        if sign == ",":
            return self.skip(place + 1), True
        if sign != closing:
            raise error_at(self._text, place, f"a comma or {closing!r} is expected")
        return place, False


_INDENT = re.compile(r"\n([ \t]+)\S")


def insert_member(text: str, node: JsonNode, key: str, value: Any, depth: int) -> str:
    """Add a member at the end of this object. `depth` is the nesting depth of the object itself."""
    return _add_entry(text, node, f"{json.dumps(key, ensure_ascii=False)}: ", value, depth)


def append_element(text: str, node: JsonNode, value: Any, depth: int) -> str:
    """Add an element at the end of this list."""
    return _add_entry(text, node, "", value, depth)


def replace_value(text: str, node: JsonNode, value: Any, depth: int, *, lines: bool = False) -> str:
    """Replace this value by another."""
    written = _JsonLayout(text).render(value, depth, lines or spans_lines(text, node))
    return text[: node.start] + written + text[node.end :]


def remove_entry(text: str, node: JsonNode, place: int) -> str:
    """Remove one member of an object or one element of a list, with its comma."""
    inner = _entries(node)
    ours, (start, _) = inner[place], _span(inner[place])
    begin = len(text[:start].rstrip(" \t\r\n"))
    has_comma = place < len(inner) - 1 or node.comma
    stop = _span(ours)[1]
    end = skip_space(text, stop) + 1 if has_comma else stop
    if len(inner) == 1:
        rest = text[node.start + 1 : begin] + text[end : node.end - 1]
        return text[: node.start + 1] + (rest if rest.strip() else "") + text[node.end - 1 :]
    if has_comma:
        return text[:begin] + text[end:]
    comma = skip_space(text, _span(inner[place - 1])[1])
    return text[:comma] + text[comma + 1 : begin] + text[end:]


def spans_lines(text: str, node: JsonNode) -> bool:
    return "\n" in text[node.start : node.end]


class _JsonLayout:
    """The layout of the file: line ends and indentation."""

    def __init__(self, text: str) -> None:
        found = _INDENT.search(text)
        self.unit = found[1] if found else "  "
        self.line = "\r\n" if "\r\n" in text else "\n"

    def render(self, value: Any, depth: int, lines: bool) -> str:
        if not lines:
            return json.dumps(value, ensure_ascii=False)
        laid_out = json.dumps(value, indent=self.unit, ensure_ascii=False).split("\n")
        return (self.line + self.unit * depth).join(laid_out)


def _add_entry(text: str, node: JsonNode, before: str, value: Any, depth: int) -> str:
    inner, style = _entries(node), _JsonLayout(text)
    lines = spans_lines(text, node) or not inner
    one = before + style.render(value, depth + 1, lines)
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


def _entries(node: JsonNode) -> list[JsonMember] | list[JsonNode]:
    if node.members is not None:
        return node.members
    return node.elements if node.elements is not None else []


def _span(one: JsonMember | JsonNode) -> tuple[int, int]:
    return (one.start, one.node.end) if isinstance(one, JsonMember) else (one.start, one.end)
