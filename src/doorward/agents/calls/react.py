"""Read ReAct calls: `Action: name`, and on the next line `Action Input: {…}`."""

from __future__ import annotations

import re

from doorward.agents.calls.found import AS_JSON, Found, fault
from doorward.agents.calls.jsoncalls import call
from doorward.agents.calls.page import Page
from doorward.agents.calls.wanted import Wanted

OPENING = (
    r"(?:\*\*)?Action:(?:\*\*)?[ \t]*+`?(?P<react>[A-Za-z_][A-Za-z0-9_./:-]{0,199})`?[ \t]*+\n"
    r"[ \t]*+(?:\*\*)?Action[ _]Input:(?:\*\*)?[ \t]*+"
)
_FENCE = re.compile(r"\s*+```(?:json)?[ \t]*+\n?\s*+(?=\{)")
_AFTER_FENCE = re.compile(r"\s*+```")
_NOTHING = re.compile(r"(?:None|null|N/A|\{\})?[ \t]*+(?:\n|\Z)")


def action(page: Page, opening: re.Match[str]) -> Found:
    name, at = opening["react"], opening.end()
    fence = page.match(_FENCE, at)
    at = fence.end() if fence else at
    raw = page.text[opening.start() : opening.end()].strip()
    if page.text[at : at + 1] != "{":
        end = page.end_of_line(at)
        if page.match(_NOTHING, at) is not None:
            return Found(end=end, calls=(Wanted(name=name, params={}, raw=raw),))
        why = f"the Action Input of {name} is not a JSON object"
        return Found(end=end, faults=(fault(why, AS_JSON, page.text[at : min(end, at + 300)]),))
    end = page.end_of_json(at)
    if end < 0:
        why = f"the Action Input of {name} is cut off; nothing after it was read"
        return Found(end=len(page.text), faults=(fault(why, AS_JSON, page.text[at : at + 300]),))
    read = call(name, page.text[at:end], raw)
    closing = page.match(_AFTER_FENCE, end) if fence else None
    end = closing.end() if closing else end
    return Found(end=end, calls=(read,)) if isinstance(read, Wanted) else Found(end=end, faults=(read,))
