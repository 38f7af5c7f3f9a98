"""Approvals: what waits for a person, who asked for it, and what people decided."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.plan import NotOffered, Reading, Step, Steps
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import bullets, counted, name, when
from doorward.agents.house.topics.calls import all_of, within
from doorward.agents.house.topics.vocabulary import vocabulary, words_of
from doorward.agents.house.topics.wording import Limit, Wording

_MOST = 20
_TIMES = {"pending": "createdAt", "expired": "expiresAt", "used": "createdAt", "": "createdAt"}


def read(context: RequestContext) -> Iterable[Reading]:
    words = words_of("approvals")
    wording = Wording(context)
    state = ""
    nouns = wording.take(words["nouns"])
    if nouns and wording.has("want|wants|need|needs|ask|asks|asking"):
        state = "pending"
    negated = wording.has("not|never|without")
    state = state or next((one for one, phrases in vocabulary().states.items() if wording.take(phrases)), "")
    if state == "decided" and not wording.has("decide|decision|decisions"):
        state = "approved"
    if not state and not nouns:
        return
    count = wording.count()
    span, limit = wording.span(), wording.limit()
    if state in ("approved", "denied", "decided") and not nouns and not wording.has("who|whom|person|people|anybody"):
        return
    if state == "pending" and not nouns and not wording.has("what|who|which|anything|something|call|command|request"):
        return
    wording.take(words["who"])
    doer = wording.doer()
    wording.take(words["may"])
    if negated:
        wording.used -= wording.find("not|never|without")
    says = f"{state} approvals" if state else "approvals"
    steps = lambda: _approvals(context, state, doer, span, limit, count=count)  # noqa: E731
    yield wording.reading("approvals", steps, f"{says} {span.says}" if span else says)


def _approvals(
    context: RequestContext, state: str, doer: str, span: TimeSpan | None, limit: Limit | None, *, count: bool
) -> Steps:
    where: list[dict[str, Any]] = []
    if state == "decided":
        where.append({"state": {"$in": ["approved", "used", "denied"]}})
    elif state == "approved":
        where.append({"state": {"$in": ["approved", "used"]}})
    elif state:
        where.append({"state": state})
    if doer:
        where.append({"$or": [{"caller": doer}, {"onBehalfOf": doer}]})
    time = _TIMES.get(state, "decidedAt")
    where += within(time, span)
    behind = (f" by {name(doer)}" if doer else "") + (f" {span.says}" if span else "")
    if count and context.offered("data/count"):
        (number,) = yield [Step("data/count", {"collection": "approvals", **all_of(where)})]
        found = int(number.value.get("count", 0))
        what = f"{state} " if state and state != "decided" else ""
        return f"There {'is' if found == 1 else 'are'} {counted(found, f'{what}approval', f'{what}approvals')}{behind}."
    most = (limit.most if limit else 0) or _MOST
    if context.offered("data/list"):
        params = {"collection": "approvals", **all_of(where), "orderBy": f"-{time}", "limit": most}
        (listed,) = yield [Step("data/list", params)]
        items = listed.items
    elif context.offered("approval/list") and not span:
        (listed,) = yield [Step("approval/list")]
        items = [one for one in listed.items if state in ("", str(one.get("state")))][:most]
    else:
        raise NotOffered("data/list")
    return _describe(context, state, behind, items, total=listed.total)


def _describe(context: RequestContext, state: str, behind: str, items: list[Any], total: int | None) -> str:
    if state == "pending":
        lines = [
            f"{name(str(one.get('command')))} for {name(str(one.get('caller')))}, "
            f"until {when(str(one.get('expiresAt')), context.zone)}"
            for one in items
        ]
        if not lines:
            return f"Nothing waits for a person{behind}, as far as I can see."
        head = "One call waits" if len(lines) == 1 else f"{len(lines)} calls wait"
        return f"{head} for a person{behind}:\n{bullets(lines, total=total)}"
    lines = [
        f"{name(str(one.get('command')))} for {name(str(one.get('caller')))}, "
        + (
            f"decided on {when(str(one['decidedAt']), context.zone)}: "
            if one.get("decidedAt")
            else f"asked on {when(str(one.get('createdAt')), context.zone)}: "
        )
        + str(one.get("state"))
        for one in items
    ]
    decided = state in ("decided", "approved", "denied")
    noun = ("decision", "decisions") if decided else (f"{state} approval".strip(), f"{state} approvals".strip())
    if not lines:
        return f"I see no {noun[0]}{' of a person' if decided else ''}{behind}."
    head = f"I see one {noun[0]}" if len(lines) == 1 else f"I see {len(lines)} {noun[1]}"
    order = ", newest first" if len(lines) > 1 else ""
    who = " I cannot see which person decided." if decided else ""
    return f"{head}{behind}{order}:\n{bullets(lines, total=total)}" + (f"\n{who.strip()}" if who else "")
