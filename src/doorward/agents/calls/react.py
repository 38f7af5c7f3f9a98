"""Read ReAct calls: `Action: name`, and on the next line `Action Input: {…}`."""

from __future__ import annotations

import re

from doorward.agents.calls.json_calls import build_call
from doorward.agents.calls.parsed import JSON_EXAMPLE, CallMatch, ParsedCall, describe_fault
from doorward.agents.calls.scanner import Scanner

OPENING = (
    r"(?:\*\*)?Action:(?:\*\*)?[ \t]*+`?(?P<react>[A-Za-z_][A-Za-z0-9_./:-]{0,199})`?[ \t]*+\n"
    r"[ \t]*+(?:\*\*)?Action[ _]Input:(?:\*\*)?[ \t]*+"
)
_FENCE = re.compile(r"\s*+```(?:json)?[ \t]*+\n?\s*+(?=\{)")
_AFTER_FENCE = re.compile(r"\s*+```")
_EMPTY_INPUT = re.compile(r"(?:None|null|N/A|\{\})?[ \t]*+(?:\n|\Z)")


def read_action(page: Scanner, opening: re.Match[str]) -> CallMatch:
    name, at = opening["react"], opening.end()
    fence = page.match(_FENCE, at)
    at = fence.end() if fence else at
    raw = page.text[opening.start() : opening.end()].strip()
    if page.text[at : at + 1] != "{":
        end = page.end_of_line(at)
        if page.match(_EMPTY_INPUT, at) is not None:
            return CallMatch(end=end, calls=(ParsedCall(name=name, params={}, raw=raw),))
        why = f"the Action Input of {name} is not a JSON object"
        return CallMatch(end=end, faults=(describe_fault(why, JSON_EXAMPLE, page.text[at : min(end, at + 300)]),))
    end = page.end_of_json(at)
    if end < 0:
        why = f"the Action Input of {name} is cut off; nothing after it was read"
        return CallMatch(end=len(page.text), faults=(describe_fault(why, JSON_EXAMPLE, page.text[at : at + 300]),))
    read = build_call(name, page.text[at:end], raw)
    closing = page.match(_AFTER_FENCE, end) if fence else None
    end = closing.end() if closing else end
    return CallMatch(end=end, calls=(read,)) if isinstance(read, ParsedCall) else CallMatch(end=end, faults=(read,))
