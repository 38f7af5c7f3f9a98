"""A parser for JSON with comments and trailing commas (JSONC) that records the position of every value.

The positions allow one entry to be edited while every other byte of the file stays the same.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from doorward import strictjson
from doorward.edited.unreadable import Unreadable

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"[-+.\w]+")
_DEEPEST = 100


def unreadable(text: str, place: int, problem: str) -> Unreadable:
    before = text[:place]
    line, column = before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1
    return Unreadable(f"line {line}, column {column}: {problem}")


class Node(msgspec.Struct):
    """One value with its position and, for an object or a list, its members or elements."""

    start: int
    end: int
    value: Any
    members: list[Member] | None = None
    elements: list[Node] | None = None
    """The values of a list, in order."""
    comma: bool = False
    """Whether a comma follows the last member or element."""

    def member(self, key: str) -> Member | None:
        return next((one for one in reversed(self.members or []) if one.key == key), None)


class Member(msgspec.Struct):
    key: str
    start: int
    node: Node


def parse(text: str) -> Node:
    reader = _Reader(text)
    start = reader.skip(1 if text.startswith("\ufeff") else 0)
    node = reader.value(start, 0)
    end = reader.skip(node.end)
    if end != len(text):
        raise unreadable(text, end, "unexpected text after the end of the JSON value")
    return node


def skip(text: str, place: int) -> int:
    """The next position that is neither space nor part of a comment."""
    found = _SPACE.match(text, place)
    return found.end() if found else place


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, place: int) -> int:
        return skip(self._text, place)

    def value(self, place: int, depth: int) -> Node:
        if depth > _DEEPEST:
            raise unreadable(self._text, place, f"nested deeper than {_DEEPEST} levels")
        sign = self._text[place : place + 1]
        if sign == "{":
            return self._object(place, depth)
        if sign == "[":
            return self._array(place, depth)
        found = (_STRING if sign == '"' else _SCALAR).match(self._text, place)
        if found is None:
            raise unreadable(self._text, place, f"a value is expected, not {sign!r}" if sign else "a value is missing")
        try:
            return Node(place, found.end(), strictjson.loads(found[0]))
        except strictjson.NotJson as error:
            raise unreadable(self._text, place, f"{found[0][:40]!r} is not a JSON value") from error

    def _object(self, start: int, depth: int) -> Node:
        node = Node(start, start, {}, [])
        place = self.skip(start + 1)
        while self._text[place : place + 1] != "}":
            key = self.value(place, depth + 1)
            if not isinstance(key.value, str):
                raise unreadable(self._text, place, "a name in quotes is expected")
            colon = self.skip(key.end)
            if self._text[colon : colon + 1] != ":":
                raise unreadable(self._text, colon, "a colon is expected")
            value = self.value(self.skip(colon + 1), depth + 1)
            node.value[key.value] = value.value
            if node.members is not None:
                node.members.append(Member(key.value, place, value))
            place, node.comma = self._next(value.end, "}")
        node.end = place + 1
        return node

    def _array(self, start: int, depth: int) -> Node:
        node = Node(start, start, [], None, [])
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
            raise unreadable(self._text, place, f"a comma or {closing!r} is expected")
        return place, False
