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

from doorward.core.escape_invisible import escape_invisible
from doorward.core.names import normalise

AREA = "mcp"
MAX_TOOL_NAME = 256
"""Length limit of a tool's own name."""

_LONGEST_WIRE = 48
_LONGEST_SEGMENT = 120
_SUFFIX_LENGTHS = (0, 8, 16, 32, 64)
"""Lengths of the hash suffix, tried in order until names are unique."""
_NOT_CANONICAL = re.compile(r"[^a-z0-9_.-]")
_NOT_WIRE = re.compile(r"[^A-Za-z0-9_-]")


class ToolKey(NamedTuple):
    """A tool by its server and own name, which is unique."""

    server: str
    tool: str


class ToolNames(NamedTuple):
    """A tool's names in Doorward."""

    canonical: str
    wire: str


_MakeName = Callable[[ToolKey, int], str]
"""Makes a tool's name with a hash suffix of this length."""


def why_unusable(tool: str) -> str:
    """A clause that says why a tool's own name cannot be used; empty when it can."""
    if len(tool) > MAX_TOOL_NAME:
        return f"its name has {len(tool)} characters; at most {MAX_TOOL_NAME} are valid"
    if escape_invisible(tool, lines=False) != tool:
        return "its name contains invisible characters"
    if not any(char.isalnum() for char in tool):
        return "its name contains no letter and no digit"
    return ""


def name_tools(tools: Iterable[ToolKey], taken: Collection[str] = frozenset()) -> dict[ToolKey, ToolNames]:
    """Name all these tools. `taken` are folded names that are in use already."""
    wanted = sorted(set(tools))
    canonical = _make_unique(wanted, _canonical_name, taken)
    wire = _make_unique(wanted, _wire_name, {*taken, *map(normalise, canonical.values())})
    return {tool: ToolNames(canonical[tool], wire[tool]) for tool in wanted}


def _make_unique(tools: list[ToolKey], name: _MakeName, taken: Collection[str]) -> dict[ToolKey, str]:
    """Make unique names. Tools that share a name all get a longer suffix, until no name is shared."""
    marks = dict.fromkeys(tools, 0)
    while True:
        by_name: dict[str, list[ToolKey]] = {}
        for tool in tools:
            by_name.setdefault(name(tool, _SUFFIX_LENGTHS[marks[tool]]), []).append(tool)
        crowded = [
            tool
            for spelling, group in by_name.items()
            if len(group) > 1 or normalise(spelling) in taken
            for tool in group
        ]
        if not crowded:
            return {group[0]: spelling for spelling, group in by_name.items()}
        for tool in crowded:
            marks[tool] += 1  # the last length cannot collide, except for a SHA-256 collision


def _canonical_name(tool: ToolKey, mark: int) -> str:
    segment = _NOT_CANONICAL.sub("-", tool.tool.lower()).lstrip("_.-")
    if not segment:
        segment, mark = "tool", mark or _SUFFIX_LENGTHS[1]
    if len(segment) > _LONGEST_SEGMENT:
        segment, mark = segment[:_LONGEST_SEGMENT], mark or _SUFFIX_LENGTHS[1]
    return f"{AREA}/{tool.server.lower()}/{segment}{_hash_suffix('-', tool, mark)}"


def _wire_name(tool: ToolKey, mark: int) -> str:
    name = _NOT_WIRE.sub("_", f"{tool.server}_{tool.tool}")
    if not name[:1].isalpha():
        name = f"_{name}"
    if len(name) > _LONGEST_WIRE or not name[len(tool.server) :].strip("_-"):
        mark = mark or _SUFFIX_LENGTHS[1]
    ending = _hash_suffix("_", tool, mark)[: _LONGEST_WIRE - 1]
    return f"{name[: _LONGEST_WIRE - len(ending)]}{ending}"


def _hash_suffix(between: str, tool: ToolKey, mark: int) -> str:
    if not mark:
        return ""
    return between + hashlib.sha256(f"{tool.server}/{tool.tool}".encode()).hexdigest()[:mark]
