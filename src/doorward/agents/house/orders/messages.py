"""Orders to say something in a room."""

from __future__ import annotations

from doorward.agents.house.orders.calls import make_call
from doorward.agents.house.orders.phrases import END, QUOTED, OrderText, unquote
from doorward.agents.house.plan import Reading
from doorward.agents.house.request_context import RequestContext

_ROOM = (
    r"(?:the\s+)?(?:(?:room|channel)\s+)?(?:(?:called|named)\s+)?#?[\"'“`]?(?P<room>(?!file\b|folder\b)[a-z][\w-]{0,62})"
    r"[\"'”`]?(?:\s+(?:room|channel|chat))?"
)


def read(context: RequestContext, text: OrderText) -> Reading | None:
    what = r"\s+(?:(?:the|a|this)\s+)?(?:(?:message|text|note|words)\s*:?\s+)?(?:saying\s+)?"
    to = r"(?:in|to|into|on)"
    found = text.match(
        rf"(?:say|post|send|announce){what}(?P<content>{QUOTED})\s+{to}\s+{_ROOM}{END}",
        rf"(?:write|put|drop){what}(?P<content>{QUOTED})\s+{to}\s+(?=the\s|room\s|channel\s|#){_ROOM}{END}",
        rf"(?:in|into)\s+{_ROOM},?\s+(?:say|post|announce)\s+(?P<content>{QUOTED}){END}",
    ) or text.match_to_end(
        rf"(?:say|post|send|announce|put|write|drop|leave)\s+(?:(?:an?|the)\s+(?:message|note|word)\s+)?{to}\s+{_ROOM}"
        rf"\s*(?:saying|that\s+says|that|:|,)\s+(?P<content>.+)$",
        rf"(?:tell|message|notify|inform)\s+(?:(?:everyone|everybody|people|all)\s+)?(?:in\s+)?(?=the\s|room\s|channel\s|#){_ROOM}"
        rf"(?:\s+that\s+|\s*[:,]\s+|\s+(?={QUOTED}{END}))(?P<content>.+)$",
        rf"let\s+(?:everyone\s+in\s+)?{_ROOM}\s+know(?:\s+that\s+|\s*[:,]\s+|\s+(?={QUOTED}{END}))(?P<content>.+)$",
    )
    if found is None:
        return None
    params = {"text": unquote(found["content"]), "name": found["room"].lower()}
    return make_call(context, "say in a room", f"say it in {found['room']}", {"room/say": params}, "I said it.")
