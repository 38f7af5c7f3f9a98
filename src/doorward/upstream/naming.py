"""Names of upstream tools in Doorward. They do not depend on the order in which tools arrive.

A tool is `mcp/<server>/<tool>`, and `{server}_{tool}` on the wire. Names of Doorward's own commands and of the
catalogue keep their meaning. When several tools would share a name, each gets a suffix: a hash of its server and name.
So a server cannot take over another server's tool by being faster.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from doorward.names import folded
from doorward.visible import visible

AREA = "mcp"
LONGEST_TOOL = 256
"""Length limit of a tool's own name."""

_LONGEST_WIRE = 48
_LONGEST_SEGMENT = 120
_MARKS = (0, 8, 16, 32, 64)
"""Lengths of the hash suffix, tried in order until names are unique."""
_NOT_CANONICAL = re.compile(r"[^a-z0-9_.-]")
_NOT_WIRE = re.compile(r"[^A-Za-z0-9_-]")


class Tool(NamedTuple):
    """A tool by its server and own name, which is unique."""

    server: str
    tool: str


class Names(NamedTuple):
    """A tool's names in Doorward."""

    canonical: str
    wire: str


_Naming = Callable[[Tool, int], str]
"""Makes a tool's name with a hash suffix of this length."""


def unusable(tool: str) -> str:
    """A clause that says why a tool's own name cannot be used; empty when it can."""
    if len(tool) > LONGEST_TOOL:
        return f"its name has {len(tool)} characters; at most {LONGEST_TOOL} are valid"
    if visible(tool, lines=False) != tool:
        return "its name contains invisible characters"
    if not any(char.isalnum() for char in tool):
        return "its name contains no letter and no digit"
    return ""


def named(tools: Iterable[Tool], taken: Collection[str] = frozenset()) -> dict[Tool, Names]:
    """Name all these tools. `taken` are folded names that are in use already."""
    wanted = sorted(set(tools))
    canonical = _apart(wanted, _canonical, taken)
    wire = _apart(wanted, _wire, {*taken, *map(folded, canonical.values())})
    return {tool: Names(canonical[tool], wire[tool]) for tool in wanted}


def _apart(tools: list[Tool], name: _Naming, taken: Collection[str]) -> dict[Tool, str]:
    """Make unique names. Tools that share a name all get a longer suffix, until no name is shared."""
    marks = dict.fromkeys(tools, 0)
    while True:
        by_name: dict[str, list[Tool]] = {}
        for tool in tools:
            by_name.setdefault(name(tool, _MARKS[marks[tool]]), []).append(tool)
        crowded = [
            tool for spelling, group in by_name.items() if len(group) > 1 or folded(spelling) in taken for tool in group
        ]
        if not crowded:
            return {group[0]: spelling for spelling, group in by_name.items()}
        for tool in crowded:
            marks[tool] += 1  # the last length cannot collide, except for a SHA-256 collision


def _canonical(tool: Tool, mark: int) -> str:
    segment = _NOT_CANONICAL.sub("-", tool.tool.lower()).lstrip("_.-")
    if not segment:
        segment, mark = "tool", mark or _MARKS[1]
    if len(segment) > _LONGEST_SEGMENT:
        segment, mark = segment[:_LONGEST_SEGMENT], mark or _MARKS[1]
    return f"{AREA}/{tool.server.lower()}/{segment}{_marked('-', tool, mark)}"


def _wire(tool: Tool, mark: int) -> str:
    name = _NOT_WIRE.sub("_", f"{tool.server}_{tool.tool}")
    if not name[:1].isalpha():
        name = f"_{name}"
    if len(name) > _LONGEST_WIRE or not name[len(tool.server) :].strip("_-"):
        mark = mark or _MARKS[1]
    ending = _marked("_", tool, mark)[: _LONGEST_WIRE - 1]
    return f"{name[: _LONGEST_WIRE - len(ending)]}{ending}"


def _marked(between: str, tool: Tool, mark: int) -> str:
    if not mark:
        return ""
    return between + hashlib.sha256(f"{tool.server}/{tool.tool}".encode()).hexdigest()[:mark]
