"""Orders to say something in a room."""

from __future__ import annotations

from doorward.agents.house.orders.phrases import END, QUOTED, OrderText, need, unquote
from doorward.agents.house.plan import Reading, Step, Steps
from doorward.agents.house.request_context import RequestContext

_ROOM = (
    r"(?:the\s+)?(?:(?:room|channel)\s+)?(?:(?:called|named)\s+)?#?[\"'“`]?(?P<room>(?!file\b|folder\b)[a-z][\w-]{0,62})"
    r"[\"'”`]?(?:\s+(?:room|channel|chat))?"
)


def read(context: RequestContext, text: OrderText) -> Reading | None:
    found = text.match(
        rf"(?:say|post|send|announce|write|drop|put)\s+(?:(?:the|a|this)\s+)?(?:(?:message|text|note|words)\s*:?\s+)?(?:saying\s+)?"
        rf"(?P<content>{QUOTED})\s+(?:in|to|into|on)\s+{_ROOM}{END}",
        rf"(?:in|into)\s+{_ROOM},?\s+(?:say|post|write|announce)\s+(?P<content>{QUOTED}){END}",
    ) or text.match_to_end(
        rf"(?:post|send|put)\s+(?:an?\s+|the\s+)?message\s+(?:to|in|into)\s+{_ROOM}\s*(?:saying|:|that\s+says)\s+(?P<content>.+)$"
    )
    if found is None:
        return None
    params = {"text": unquote(found["content"]), "name": found["room"].lower()}

    def steps() -> Steps:
        need(context, "room/say")
        yield [Step("room/say", params)]
        return "I said it."

    every = frozenset(range(len(context.request)))
    return Reading(name="say in a room", steps=steps, explained=every, changes=True, says=f"say it in {found['room']}")
