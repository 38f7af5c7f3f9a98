"""Read EXECUTE: lines, the spelling that personas are taught."""

from __future__ import annotations

import re

from doorward.agents.calls import python_calls
from doorward.agents.calls.json_calls import NAME, build_call
from doorward.agents.calls.parsed import LINE_EXAMPLE, CallMatch, ParsedCall, describe_fault
from doorward.agents.calls.scanner import Scanner
from doorward.core.argtext import parse_pairs
from doorward.core.errors import BadParams

OPENING = (
    r"(?:(?:[-*+•‣◦–→▶]|\d{1,3}[.)]|\#{1,6})[ \t]++)*+(?P<wrap>\*\*|__|\*|_|`{1,2})?"
    r"(?P<marker>EXECUTE|Execute|execute)(?P<unwrap>\*\*|__|\*|_|`{1,2})?:"
)
"""At the start of a line, after white space and the markup of lists, headings and emphasis."""
AFTER_SENTENCE = r"(?<=[.!?…][ \t])EXECUTE:"

_SPACES = re.compile(r"[ \t]*+")
_CLOSING = re.compile(r"\*\*|__|\*|_|`{1,2}")
_OBJECT = re.compile(r"[ \t]*+(?=\{)")


def read_line(page: Scanner, opening: re.Match[str]) -> CallMatch | None:
    """Read the call of a line; None if the line is prose."""
    wrap, sure = opening["wrap"] or "", opening["marker"] == "EXECUTE"
    at = opening.end()
    if wrap and opening["unwrap"] == wrap:
        wrap = ""
    elif wrap and page.text.startswith(wrap, at):
        at, wrap = at + len(wrap), ""
    blanks = page.match(_SPACES, at)
    at = blanks.end() if blanks else at
    if not wrap and (around := page.match(_CLOSING, at)) is not None:
        wrap, at = around[0], at + len(around[0])
    if not wrap:
        return _read_body(page, at, sure)
    end = page.end_of_line(at)
    inside = page.text[at:end].rstrip()
    if not inside.endswith(wrap):
        why = f"its line begins with {wrap} and does not end with it"
        return CallMatch(end=end, faults=(describe_fault(why, LINE_EXAMPLE, inside),)) if sure else None
    found = _read_body(Scanner(inside.removesuffix(wrap)), 0, sure)
    return None if found is None else CallMatch(end=end, calls=found.calls, faults=found.faults)


def read_after_sentence(page: Scanner, opening: re.Match[str]) -> CallMatch | None:
    """Read a call that follows a complete sentence on the same line."""
    blanks = page.match(_SPACES, opening.end())
    return _read_body(page, blanks.end() if blanks else opening.end(), sure=True)


def read_unmarked(text: str) -> CallMatch | None:
    """Read a call without its marker, such as `data/list --collection=rooms`, where the context marks it."""
    return _read_body(Scanner(text), 0, sure=True)


def _read_body(page: Scanner, at: int, sure: bool) -> CallMatch | None:
    head = page.match(NAME, at)
    if head is None:
        given = page.text[at : min(page.end_of_line(at), at + 300)]
        why = "EXECUTE: is not followed by a command name"
        return CallMatch(end=page.end_of_line(at), faults=(describe_fault(why, LINE_EXAMPLE, given),)) if sure else None
    if page.text.startswith("(", head.end()):
        found = python_calls.read_call(page, at)
        return found and _require_line_end(page, at, found, sure)
    object = page.match(_OBJECT, head.end())
    if object is not None:
        return _require_line_end(page, at, _read_object(page, head, object.end()), sure)
    return _read_pairs(page, head, sure)


def _read_pairs(page: Scanner, head: re.Match[str], sure: bool) -> CallMatch | None:
    name = head[0].rstrip(".:")
    try:
        pairs, end = parse_pairs(page.text, head.end())
    except BadParams as error:
        page.characters_scanned += len(page.text) - head.end()
        why = f"{error.message.rstrip('.')}; nothing after it was read"
        return CallMatch(
            end=len(page.text), faults=(describe_fault(why, LINE_EXAMPLE, page.text[head.start() :][:300]),)
        )
    page.characters_scanned += end - head.end()
    if not (sure or pairs or "/" in name or "_" in name or name.islower()):
        return None
    wanted = ParsedCall(name=name, args=pairs, raw=page.text[head.start() : end])
    return _require_line_end(page, head.start(), CallMatch(end=end, calls=(wanted,)), sure or bool(pairs))


def _read_object(page: Scanner, head: re.Match[str], at: int) -> CallMatch:
    end = page.end_of_json(at)
    if end < 0:
        why = "a bracket is never closed; nothing after it was read"
        return CallMatch(end=len(page.text), faults=(describe_fault(why, LINE_EXAMPLE, page.text[at : at + 300]),))
    read = build_call(head[0], page.text[at:end], page.text[head.start() : end])
    return CallMatch(end=end, calls=(read,)) if isinstance(read, ParsedCall) else CallMatch(end=end, faults=(read,))


def _require_line_end(page: Scanner, at: int, found: CallMatch, sure: bool) -> CallMatch | None:
    """Accept a call only if nothing follows it on its line: the rest might be meant as a part of it."""
    end = page.end_of_line(found.end)
    rest = page.text[found.end : end].strip()
    if not rest or found.faults:
        return found
    why = f"the call is followed by {rest[:40]!r}, which is not a parameter"
    return CallMatch(end=end, faults=(describe_fault(why, LINE_EXAMPLE, page.text[at : at + 300]),)) if sure else None
