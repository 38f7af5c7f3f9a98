"""Derive what a short entry leaves out: types from argument names, and required arguments from the usage line."""

from __future__ import annotations

import re
from typing import NamedTuple

from doorward import names
from doorward.catalogue.entry import Type

_PATHS = frozenset(
    {"path", "directory", "dir", "file", "filename", "folder", "source", "destination", "dest", "src", "dst"}
)
_INTEGERS = frozenset({"count", "number", "num", "size", "line", "byte", "depth", "width", "n"})
_FLAGS = frozenset({"flag", "enable"})
_WORD = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*")
_GROUP = re.compile(r"(?:\[(?P<optional>[^\[\]]*)\]|<(?P<required>[^<>]*)>)(?P<dots>\.{3})?")
_OPTIONS = frozenset({"option", "options", "flags", "opts"})


class Place(NamedTuple):
    """An argument found in a usage line."""

    name: str
    required: bool
    many: bool


def type_of(name: str) -> Type:
    """The type that an argument's name suggests; text by default."""
    words = {word.lower().removesuffix("s") for word in _WORD.findall(name)} | {name.lower()}
    if words & _PATHS:
        return "path"
    if words & _INTEGERS:
        return "integer"
    return "flag" if words & _FLAGS else "text"


def parameter_name(text: str) -> str:
    """The parameter name for a spelling: `--max-depth` is maxDepth, `<file>...` is file."""
    bare = text.strip("<>[]. \t").lstrip("-")
    return names.camel(re.sub(r"[^A-Za-z0-9]+", "_", bare).strip("_"))


def places(usage: str) -> list[Place]:
    """The arguments in a usage line: `<x>` is required, `[x]` is optional, and dots mean a list."""
    found = []
    for group in _GROUP.finditer(usage):
        inner = (group["optional"] or group["required"] or "").strip()
        many = bool(group["dots"]) or inner.endswith("...")
        name = parameter_name(inner)
        if inner.startswith("-") or not name or name.lower() in _OPTIONS:
            continue
        found.append(Place(name, group["required"] is not None, many))
    return found
