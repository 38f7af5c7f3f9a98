"""Orders to take a change back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

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
_SHOWN = 3
"""Changes that are named if it is not clear which one is meant."""
_NOTHING = "I did nothing: I changed nothing in this conversation that could be taken back."


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
            return (yield from _name_changes(context))
        wanted = execution or changes[0].execution
        says = next((one.says for one in changes if one.execution == wanted), "")
        (got,) = yield [Step(command, {"execution": wanted})]
        return f"I took back {says}." if says else sentences.describe_change(got) or "I took it back."

    return make_reading(context, "undo", steps, "undo the last change")


def _name_changes(context: RequestContext) -> Steps:
    """Name the last changes of the asker, and take none of them back."""
    if "data/list" not in context.tools:
        raise Declined(_NOTHING)
    changing = sorted(name for name, tool in context.tools.items() if not tool.reads_only and _is_undoable(name))
    where: dict[str, Any] = {"phase": "start", "command": {"$in": changing}}
    who = context.conversation.speaker
    if who:
        where["$or"] = [{"caller": who}, {"onBehalfOf": who}]
    newest = {"collection": "audit", "filter": where, "orderBy": "-at", "limit": _SHOWN}
    (got,) = yield [Step("data/list", newest, lookup=True)]
    shown = [_describe(one) for one in got.items if isinstance(one, dict) and one.get("call")]
    if not shown:
        raise Declined(_NOTHING)
    how = 'To take back something else, say which, such as "undo ID"; the last changes are:'
    raise Declined(f"{_NOTHING} {how}\n{sentences.bullets(shown)}")


def _describe(one: Mapping[str, Any]) -> str:
    params = one.get("params")
    given = params.get("path") or params.get("paths") or params.get("id") if isinstance(params, dict) else None
    what = f" of {sentences.one_line(str(given), 100)}" if given else ""
    return f"{one['call']}: {one.get('command')}{what}, by {one.get('caller')}"


def _is_undoable(name: str) -> bool:
    area = name.partition("/")[0]
    return area in ("file", "data", "collection", "shell") and name not in ("file/undo", "shell/script", "shell/cd")
