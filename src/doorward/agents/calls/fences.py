"""Read fenced blocks: some are calls, others are examples that stay in the prose."""

from __future__ import annotations

import re
from collections.abc import Callable

from doorward.agents.calls import json_calls, lines, python_calls
from doorward.agents.calls.parsed import JSON_EXAMPLE, LINE_EXAMPLE, CallMatch, ParsedAnswer, ParsedCall, describe_fault
from doorward.agents.calls.scanner import Scanner

OPENING = r"(?:(?:[-*+•]|\d{1,3}[.)])[ \t]++)?(?P<fence>`{3,}+(?=[^`\n]*+$)|~{3,}+)(?P<info>[^\n]*+)"

_FENCE_LINE = re.compile(r"^[ \t]*+(?P<fence>`{3,}+|~{3,}+)[ \t]*+$", re.MULTILINE)
_CALL_LABELS = frozenset(
    ("action", "call", "execute", "function", "function_call", "function_calls", "tool", "tool-call", "tool-use")
) | frozenset(("tool_call", "tool_calls", "tool_code", "tool_use", "tools"))
"""Labels of blocks that contain calls."""
_JSON_LABELS = frozenset(("json", "jsonc", "json5", "jsonl"))
_NEUTRAL_LABELS = frozenset(("", "xml"))
"""Neutral labels: such a block is read as calls only if it holds nothing else."""
_MAX_BLOCK = 10_000


def read_fence(page: Scanner, opening: re.Match[str], read: Callable[[str], ParsedAnswer]) -> CallMatch:
    """Read a fenced block. `read` parses the content of a block that may hold lines and tags."""
    start = opening.end() + 1
    stop, end = _find_end(page, opening["fence"], start)
    inside = page.text[start:stop].strip()
    found = _read_block(_get_label(opening), inside, read)
    if found is None:
        return CallMatch(end=end, kept=True)
    return CallMatch(end=end, calls=found.calls, faults=found.faults, says=found.says, kept=found.kept)


def read_labelled(page: Scanner, opening: re.Match[str]) -> CallMatch | None:
    """Read the calls of a block whose label announces calls, so that its lines need no marker."""
    if _get_label(opening) not in _CALL_LABELS:
        return None
    stop, _ = _find_end(page, opening["fence"], opening.end() + 1)
    inside = page.text[opening.end() + 1 : min(stop, opening.end() + _MAX_BLOCK)].strip()
    return (python_calls.read_calls(Scanner(inside), 0, len(inside)) or _read_lines(inside)) if inside else None


def _get_label(opening: re.Match[str]) -> str:
    return re.split(r"[\s{},:]", opening["info"].strip().lower().lstrip("{."), maxsplit=1)[0]


def _read_block(label: str, inside: str, read: Callable[[str], ParsedAnswer]) -> CallMatch | None:
    if label in _CALL_LABELS:
        return _read_calls(inside, read) if inside else None
    if label in _JSON_LABELS:
        return _read_json(inside, marked=False)
    if label not in _NEUTRAL_LABELS:
        return None
    if inside[:1] in ("{", "["):
        return _read_json(inside, marked=False)
    reading = read(inside)
    if reading.prose or not (reading.calls or reading.faults):
        return None
    return CallMatch(end=0, calls=reading.calls, faults=reading.faults)


def _read_calls(inside: str, read: Callable[[str], ParsedAnswer]) -> CallMatch:
    if inside[0] in "{[":
        code = python_calls.read_calls(Scanner(inside), 0, len(inside)) if inside[0] == "[" else None
        return code or _read_json(inside, marked=True) or CallMatch(end=0)
    if (code := python_calls.read_calls(Scanner(inside), 0, len(inside))) is not None:
        return code
    reading = read(inside)
    if not reading.prose:
        return CallMatch(end=0, calls=reading.calls, faults=reading.faults)
    return _read_lines(inside)


def _read_lines(inside: str) -> CallMatch:
    calls: list[ParsedCall] = []
    for one in inside.splitlines():
        found = lines.read_unmarked(one.strip().removeprefix("EXECUTE:").strip()) if one.strip() else CallMatch(end=0)
        if found is None or found.faults:
            return CallMatch(
                end=0, faults=(describe_fault("its block holds something that is not a call", LINE_EXAMPLE, one),)
            )
        calls += found.calls
    return CallMatch(end=0, calls=tuple(calls))


def _read_json(inside: str, *, marked: bool) -> CallMatch | None:
    """Read consecutive JSON values. Without a call label, all of them must be calls."""
    page, at = Scanner(inside), 0
    calls: list[ParsedCall] = []
    faults: list[str] = []
    says = ""
    while at < len(inside):
        end = page.end_of_json(at) if inside[at] in "{[" else -1
        if end < 0:
            if not marked and not json_calls.looks_like_call(inside[at:]):
                return None
            why = "its block is cut off, or holds something that is not JSON"
            return CallMatch(
                end=0, calls=tuple(calls), faults=(*faults, describe_fault(why, JSON_EXAMPLE, inside[at : at + 300]))
            )
        found = json_calls.read_json(inside[at:end], end, marked=marked)
        if found.kept:
            return None
        calls += found.calls
        faults += found.faults
        says = says or found.says
        at = page.skip_whitespace(end)
        if inside[at : at + 1] == ",":
            at = page.skip_whitespace(at + 1)
    return CallMatch(end=0, calls=tuple(calls), faults=tuple(faults), says=says)


def _find_end(page: Scanner, opened: str, at: int) -> tuple[int, int]:
    """Return where the content and the block end. An unclosed block runs to the end of the text."""
    while (line := page.search(_FENCE_LINE, at)) is not None:
        if line["fence"][0] == opened[0] and len(line["fence"]) >= len(opened):
            return line.start(), line.end()
        at = line.end()
    return len(page.text), len(page.text)
