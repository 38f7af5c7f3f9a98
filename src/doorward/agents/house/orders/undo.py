"""Orders to take a change back."""

from __future__ import annotations

import re

from doorward.agents.house import sentences
from doorward.agents.house.orders.calls import make_reading, need
from doorward.agents.house.orders.phrases import END, OrderText
from doorward.agents.house.plan import Declined, Reading, Step, Steps
from doorward.agents.house.request_context import RequestContext

_VERB = r"(?:undo|revert|reverse|roll\s*back|take\s+back)"
_BACK = r"(?:take|put|turn|roll|bring|change|set)\s+(?:that|it|this|(?:the|my|your)\s+(?:last|latest)\s+change)\s+back"
_MEANS_LAST = re.compile(
    r"(?:\s+(?:that|it|this|the|my|your|last|latest|previous|most|recent|one|change|edit|write|action|thing|step|request"
    r"|what|you|i|have|just|did|made|wrote|changed|done|again|operation|move|rename|deletion|now))*"
)
_NOTHING = (
    "I did nothing: I changed nothing in this conversation that could be taken back. To take back something else, say "
    'which call, such as "undo ID".'
)


def read(context: RequestContext, text: OrderText) -> Reading | None:
    named = text.match(rf"{_VERB}\s+(?:the\s+)?(?:(?:execution|call|change)\s+)?(?P<execution>[0-9a-z]{{16}}){END}")
    last = re.fullmatch(
        rf"(?:[^,.;:!]{{1,60}}[,.;:!]\s+(?:please\s+)?)?(?:{_VERB}|{_BACK})(?P<rest>[\w ]*?){END}", text.bare, re.I
    )
    if named is None and (last is None or not _MEANS_LAST.fullmatch(last["rest"].lower())):
        return None
    execution = named["execution"] if named is not None else ""

    def steps() -> Steps:
        command = need(context, "undo", "file/undo")
        changes = context.conversation.changes
        if not execution and not changes:
            raise Declined(_NOTHING)
        wanted = execution or changes[0].execution
        says = next((one.says for one in changes if one.execution == wanted), "")
        (got,) = yield [Step(command, {"execution": wanted})]
        return f"I took back {says}." if says else sentences.describe_change(got) or "I took it back."

    return make_reading(context, "undo", steps, "undo the last change")
