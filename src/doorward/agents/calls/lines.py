"""Read EXECUTE: lines, the spelling that personas are taught."""

from __future__ import annotations

import re

from doorward.agents.calls import pythonic
from doorward.agents.calls.found import AS_LINE, Found, fault
from doorward.agents.calls.jsoncalls import NAME, call
from doorward.agents.calls.page import Page
from doorward.agents.calls.wanted import Wanted
from doorward.calltext import read_pairs
from doorward.errors import BadParams

OPENING = (
    r"(?:(?:[-*+•‣◦–→▶]|\d{1,3}[.)]|\#{1,6})[ \t]++)*+(?P<wrap>\*\*|__|\*|_|`{1,2})?"
    r"(?P<marker>EXECUTE|Execute|execute)(?P<unwrap>\*\*|__|\*|_|`{1,2})?:"
)
"""At the start of a line, after white space and the markup of lists, headings and emphasis."""
BEHIND_A_SENTENCE = r"(?<=[.!?…][ \t])EXECUTE:"

_BLANKS = re.compile(r"[ \t]*+")
_CLOSING = re.compile(r"\*\*|__|\*|_|`{1,2}")
_OBJECT = re.compile(r"[ \t]*+(?=\{)")


def line(page: Page, opening: re.Match[str]) -> Found | None:
    """Read the call of a line; None if the line is prose."""
    wrap, sure = opening["wrap"] or "", opening["marker"] == "EXECUTE"
    at = opening.end()
    if wrap and opening["unwrap"] == wrap:
        wrap = ""
    elif wrap and page.text.startswith(wrap, at):
        at, wrap = at + len(wrap), ""
    blanks = page.match(_BLANKS, at)
    at = blanks.end() if blanks else at
    if not wrap and (around := page.match(_CLOSING, at)) is not None:
        wrap, at = around[0], at + len(around[0])
    if not wrap:
        return _body(page, at, sure)
    end = page.end_of_line(at)
    inside = page.text[at:end].rstrip()
    if not inside.endswith(wrap):
        why = f"its line begins with {wrap} and does not end with it"
        return Found(end=end, faults=(fault(why, AS_LINE, inside),)) if sure else None
    found = _body(Page(inside.removesuffix(wrap)), 0, sure)
    return None if found is None else Found(end=end, calls=found.calls, faults=found.faults)


def behind_a_sentence(page: Page, opening: re.Match[str]) -> Found | None:
    """Read a call that follows a complete sentence on the same line."""
    blanks = page.match(_BLANKS, opening.end())
    return _body(page, blanks.end() if blanks else opening.end(), sure=True)


def bare(text: str) -> Found | None:
    """Read a call without its marker, such as `data/list --collection=rooms`, where the context marks it."""
    return _body(Page(text), 0, sure=True)


def _body(page: Page, at: int, sure: bool) -> Found | None:
    head = page.match(NAME, at)
    if head is None:
        given = page.text[at : min(page.end_of_line(at), at + 300)]
        why = "EXECUTE: is not followed by a command name"
        return Found(end=page.end_of_line(at), faults=(fault(why, AS_LINE, given),)) if sure else None
    if page.text.startswith("(", head.end()):
        found = pythonic.one(page, at)
        return found and _closed(page, at, found, sure)
    object = page.match(_OBJECT, head.end())
    if object is not None:
        return _closed(page, at, _with_object(page, head, object.end()), sure)
    return _with_pairs(page, head, sure)


def _with_pairs(page: Page, head: re.Match[str], sure: bool) -> Found | None:
    name = head[0].rstrip(".:")
    try:
        pairs, end = read_pairs(page.text, head.end())
    except BadParams as error:
        page.looked += len(page.text) - head.end()
        why = f"{error.message.rstrip('.')}; nothing after it was read"
        return Found(end=len(page.text), faults=(fault(why, AS_LINE, page.text[head.start() :][:300]),))
    page.looked += end - head.end()
    if not (sure or pairs or "/" in name or "_" in name or name.islower()):
        return None
    wanted = Wanted(name=name, args=pairs, raw=page.text[head.start() : end])
    return _closed(page, head.start(), Found(end=end, calls=(wanted,)), sure or bool(pairs))


def _with_object(page: Page, head: re.Match[str], at: int) -> Found:
    end = page.end_of_json(at)
    if end < 0:
        why = "a bracket is never closed; nothing after it was read"
        return Found(end=len(page.text), faults=(fault(why, AS_LINE, page.text[at : at + 300]),))
    read = call(head[0], page.text[at:end], page.text[head.start() : end])
    return Found(end=end, calls=(read,)) if isinstance(read, Wanted) else Found(end=end, faults=(read,))


def _closed(page: Page, at: int, found: Found, sure: bool) -> Found | None:
    """Accept a call only if nothing follows it on its line: the rest might be meant as a part of it."""
    end = page.end_of_line(found.end)
    rest = page.text[found.end : end].strip()
    if not rest or found.faults:
        return found
    why = f"the call is followed by {rest[:40]!r}, which is not a parameter"
    return Found(end=end, faults=(fault(why, AS_LINE, page.text[at : at + 300]),)) if sure else None
