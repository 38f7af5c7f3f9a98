"""Read fenced blocks: some are calls, others are examples that stay in the prose."""

from __future__ import annotations

import re
from collections.abc import Callable

from doorward.agents.calls import jsoncalls, lines, pythonic
from doorward.agents.calls.found import AS_JSON, AS_LINE, Found, fault
from doorward.agents.calls.page import Page
from doorward.agents.calls.wanted import Reading, Wanted

OPENING = r"(?:(?:[-*+•]|\d{1,3}[.)])[ \t]++)?(?P<fence>`{3,}+(?=[^`\n]*+$)|~{3,}+)(?P<info>[^\n]*+)"

_FENCE_LINE = re.compile(r"^[ \t]*+(?P<fence>`{3,}+|~{3,}+)[ \t]*+$", re.MULTILINE)
_CALLS = frozenset(
    ("action", "call", "execute", "function", "function_call", "function_calls", "tool", "tool-call", "tool-use")
) | frozenset(("tool_call", "tool_calls", "tool_code", "tool_use", "tools"))
"""Labels of blocks that contain calls."""
_JSON = frozenset(("json", "jsonc", "json5", "jsonl"))
_MAYBE = frozenset(("", "xml"))
"""Neutral labels: such a block is read as calls only if it holds nothing else."""
_LONGEST = 10_000


def fence(page: Page, opening: re.Match[str], read: Callable[[str], Reading]) -> Found:
    """Read a fenced block. `read` parses the content of a block that may hold lines and tags."""
    start = opening.end() + 1
    stop, end = _closing(page, opening["fence"], start)
    inside = page.text[start:stop].strip()
    found = _read(_label(opening), inside, read)
    if found is None:
        return Found(end=end, kept=True)
    return Found(end=end, calls=found.calls, faults=found.faults, says=found.says, kept=found.kept)


def labelled(page: Page, opening: re.Match[str]) -> Found | None:
    """Read the calls of a block whose label announces calls, so that its lines need no marker."""
    if _label(opening) not in _CALLS:
        return None
    stop, _ = _closing(page, opening["fence"], opening.end() + 1)
    inside = page.text[opening.end() + 1 : min(stop, opening.end() + _LONGEST)].strip()
    return (pythonic.several(Page(inside), 0, len(inside)) or _bare_lines(inside)) if inside else None


def _label(opening: re.Match[str]) -> str:
    return re.split(r"[\s{},:]", opening["info"].strip().lower().lstrip("{."), maxsplit=1)[0]


def _read(label: str, inside: str, read: Callable[[str], Reading]) -> Found | None:
    if label in _CALLS:
        return _calls(inside, read) if inside else None
    if label in _JSON:
        return _json(inside, marked=False)
    if label not in _MAYBE:
        return None
    if inside[:1] in ("{", "["):
        return _json(inside, marked=False)
    reading = read(inside)
    if reading.prose or not (reading.calls or reading.faults):
        return None
    return Found(end=0, calls=reading.calls, faults=reading.faults)


def _calls(inside: str, read: Callable[[str], Reading]) -> Found:
    if inside[0] in "{[":
        code = pythonic.several(Page(inside), 0, len(inside)) if inside[0] == "[" else None
        return code or _json(inside, marked=True) or Found(end=0)
    if (code := pythonic.several(Page(inside), 0, len(inside))) is not None:
        return code
    reading = read(inside)
    if not reading.prose:
        return Found(end=0, calls=reading.calls, faults=reading.faults)
    return _bare_lines(inside)


def _bare_lines(inside: str) -> Found:
    calls: list[Wanted] = []
    for one in inside.splitlines():
        found = lines.bare(one.strip().removeprefix("EXECUTE:").strip()) if one.strip() else Found(end=0)
        if found is None or found.faults:
            return Found(end=0, faults=(fault("its block holds something that is not a call", AS_LINE, one),))
        calls += found.calls
    return Found(end=0, calls=tuple(calls))


def _json(inside: str, *, marked: bool) -> Found | None:
    """Read consecutive JSON values. Without a call label, all of them must be calls."""
    page, at = Page(inside), 0
    calls: list[Wanted] = []
    faults: list[str] = []
    says = ""
    while at < len(inside):
        end = page.end_of_json(at) if inside[at] in "{[" else -1
        if end < 0:
            if not marked and not jsoncalls.looks_like_a_call(inside[at:]):
                return None
            why = "its block is cut off, or holds something that is not JSON"
            return Found(end=0, calls=tuple(calls), faults=(*faults, fault(why, AS_JSON, inside[at : at + 300])))
        found = jsoncalls.read_json(inside[at:end], end, marked=marked)
        if found.kept:
            return None
        calls += found.calls
        faults += found.faults
        says = says or found.says
        at = page.after_blanks(end)
        if inside[at : at + 1] == ",":
            at = page.after_blanks(at + 1)
    return Found(end=0, calls=tuple(calls), faults=tuple(faults), says=says)


def _closing(page: Page, opened: str, at: int) -> tuple[int, int]:
    """Return where the content and the block end. An unclosed block runs to the end of the text."""
    while (line := page.search(_FENCE_LINE, at)) is not None:
        if line["fence"][0] == opened[0] and len(line["fence"]) >= len(opened):
            return line.start(), line.end()
        at = line.end()
    return len(page.text), len(page.text)
