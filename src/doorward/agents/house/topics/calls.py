"""Calls: which failed or were refused and why, who did what, how many, and when."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.plan import NotOffered, Reading, Step, Steps
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.sentences import bullets, counted, in_a_row, name, number, one_line, when
from doorward.agents.house.topics.vocabulary import vocabulary, words_of
from doorward.agents.house.topics.wording import Limit, Wording

_QUIET = ["room/say", "room/typing", "room/messages"]
_DECIDED = ("denied", "expired")
"""How a call ends that waited for a person and was not approved."""
_MOST = 20
_BAR = 20
"""The length of the longest bar of a chart."""
_HOUR = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)T(?P<hour>\d\d):", re.ASCII)
_REASONS = ("note", "message", "reason", "error")
_GROUPS = {
    "command|kind": "command",
    "caller|user|person|agent|persona|who": "caller",
    "status|outcome|result": "status",
    "room|channel": "room",
}


class _Query(msgspec.Struct, frozen=True, kw_only=True):
    """Which calls are asked for, and how they are shown."""

    statuses: tuple[str, ...] = ()
    doer: str = ""
    command: str = ""
    room: str = ""
    span: TimeSpan | None = None
    limit: Limit | None = None
    count: bool = False
    group: str = ""
    longer: float = 0
    """The least duration in milliseconds; 0 if none is given."""
    lately: bool = False
    """Whether calls that only read something are left out."""

    @property
    def which(self) -> str:
        """The conditions as they stand behind a noun, without the period."""
        parts = [
            f"of {name(self.command)}" if self.command else "",
            f"by {name(self.doer)}" if self.doer else "",
            f"in {name(self.room)}" if self.room else "",
            f"over {number(self.longer / 1000)} s long" if self.longer else "",
        ]
        return "".join(f" {one}" for one in parts if one)

    @property
    def when(self) -> str:
        return f" {self.span.says}" if self.span else ""

    @property
    def says(self) -> str:
        return self.which + self.when

    def where(self, time: str = "at", status: str = "status") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        if self.statuses:
            many = list(self.statuses)
            found.append({status: many[0] if len(many) == 1 else {"$in": many}})
        if self.doer:
            found.append({"$or": [{"caller": self.doer}, {"onBehalfOf": self.doer}]})
        if self.command:
            found.append({"command": self.command})
        if self.room:
            found.append({"room": self.room})
        if self.longer:
            found.append({"durationMs": {"$gt": self.longer}})
        return found + within(time, self.span)


def within(field: str, span: TimeSpan | None) -> list[dict[str, Any]]:
    """Return the condition that a time lies in a period."""
    if span is None:
        return []
    bounds = {"$gte": span.since_utc, "$lt": span.until_utc}
    return [{field: {key: value for key, value in bounds.items() if value}}]


def all_of(where: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the parameter `filter` of some conditions; none for none."""
    return {"filter": where[0] if len(where) == 1 else {"$and": list(where)}} if where else {}


def read(context: RequestContext) -> Iterable[Reading]:
    words = words_of("calls")
    wording = Wording(context)
    if wording.take(words["chart"]):
        yield from _read_chart(wording)
        return
    wording = Wording(context)
    if wording.has(words["decided"]):
        return
    statuses = _statuses(wording)
    nouns = wording.take(words["nouns"])
    who = wording.take(words["who"])
    happened = wording.take(words["happened"])
    wording.take(words["reasons"])
    count = wording.count()
    group = _group(wording) or _busiest(wording, nouns=nouns, who=who)
    span = wording.span()
    command = wording.command()
    limit = wording.limit()
    longer = _duration(wording)
    did = wording.has(words["did"])
    doer = wording.doer(("with", "to", "for") if statuses else ("of",) if nouns else ())
    if command and Wording(context).has(words_of("help")["describe"]):
        return
    asks = (
        nouns or happened or (command and (who or did)) or (doer and did) or (statuses and wording.has(words["asks"]))
    )
    if not asks or (nouns and not (statuses or doer or span or limit or group or command or longer or happened or who)):
        return
    wording.take(words["did"])
    wording.take(words["may"])
    room = wording.room() if wording.rest else ""
    if who and not count and not group and not command and not statuses and not limit:
        group = "caller"
    query = _Query(
        statuses=statuses,
        doer=doer,
        command=command,
        room=room,
        span=span,
        limit=limit,
        count=count or bool(group),
        group=group,
        longer=longer,
        lately=happened and not (statuses or doer or command),
    )
    says = f"calls{query.says}"
    if statuses and not group and statuses != ("running",):
        yield wording.reading("failed calls", lambda: _failures(context, query), f"failed or refused {says}")
    else:
        yield wording.reading("calls", lambda: _calls(context, query), says)


def _statuses(wording: Wording) -> tuple[str, ...]:
    words = words_of("calls")
    failed, refused = wording.take(words["failed"]), wording.take(words["refused"])
    if wording.take(words["expired"]):
        return ("expired",)
    if wording.take(words["running"]):
        wording.take("right now")
        return ("running",)
    if wording.take(words["wrong"]) or (failed and refused):
        return ("failed", "refused", *_DECIDED)
    if refused:
        return ("refused", *_DECIDED)
    return ("failed",) if failed else ("done",) if wording.take(words["succeeded"]) else ()


def _group(wording: Wording) -> str:
    for words, field in _GROUPS.items():
        for one in words.split("|"):
            if wording.take(f"by {one}|per {one}|each {one}|every {one}|grouped by {one}"):
                return field
    return ""


def _busiest(wording: Wording, *, nouns: bool, who: bool) -> str:
    """Take `most`: groups are listed with the largest first."""
    if not (nouns or who) or wording.has("most recent") or not wording.take(words_of("calls")["most"]):
        return ""
    return "caller" if who or wording.take("caller|agent|user|persona|person") else "command"


def _duration(wording: Wording) -> float:
    """Take `longer than 5 seconds`."""
    if not wording.has("longer than|more than|over"):
        return 0
    for place, one in enumerate(wording.request.tokens[:-1]):
        unit = {"second": 1_000, "minut": 60_000, "ms": 1, "millisecond": 1}.get(wording.request.stems[place + 1])
        if one.number and unit and place not in wording.used:
            wording.take("longer than|more than|over|take")
            wording.used |= {place, place + 1}
            return one.number * unit
    return 0


def _failures(context: RequestContext, query: _Query) -> Steps:
    """Calls that failed or were refused, with the reasons that the ledger has."""
    if not context.offered("data/list"):
        raise NotOffered("data/list")
    limit = (query.limit.most if query.limit else 0) or _MOST
    where = [*query.where(), {"phase": {"$ne": "start"}}]
    params = {"collection": "audit", **all_of(where), "orderBy": "-at", "limit": limit}
    (listed,) = yield [Step("data/list", params)]
    items = [one for one in listed.items if isinstance(one, dict)]
    total: int | None = len(items) if query.limit and query.limit.most else listed.total
    if total is None and context.offered("data/count"):
        (count,) = yield [Step("data/count", {"collection": "audit", **all_of(where)})]
        total = int(count.value.get("count", 0))
    decided = tuple(one for one in query.statuses if one in _DECIDED)
    if decided and not any(one.get("status") in _DECIDED for one in items):
        waited = msgspec.structs.replace(query, statuses=decided).where("createdAt", "state")
        given = {"collection": "approvals", **all_of(waited), "orderBy": "-createdAt", "limit": limit}
        (approvals,) = yield [Step("data/list", given)]
        stopped = [
            {**one, "status": one.get("state"), "at": one.get("decidedAt") or one.get("expiresAt")}
            for one in approvals.items
        ]
        items = sorted([*items, *stopped], key=lambda one: str(one.get("at")), reverse=True)[:limit]
        total = total + len(stopped) if total is not None else None
    return _describe_failures(context, query, items, total if total is not None else len(items))


def _describe_failures(context: RequestContext, query: _Query, items: list[dict[str, Any]], total: int) -> str:
    names: dict[tuple[str, ...], str] = {("failed",): "failed", ("expired",): "expired", ("done",): "succeeded"}
    ended = names.get(query.statuses, "")
    one, many = (ended, ended) if ended else ("failed or was refused", "failed or were refused")
    noun = f"call{query.which}" if query.which else "command"
    nouns = f"calls{query.which}" if query.which else "commands"
    if not total:
        return f"I see no {noun} that {one}{query.when}."
    head = f"One {noun} {one}{query.when}" if total == 1 else f"{number(total)} {nouns} {many}{query.when}"
    if query.count:
        return f"{head}."
    order = "" if total == 1 else ", newest first"
    return f"{head}{order}:\n{bullets([describe_call(each, context) for each in items], total=total)}"


def describe_call(one: Mapping[str, Any], context: RequestContext) -> str:
    """Describe a call: `file/read by anna on 16 November 2026 at 08:00: failed, because: “There is no file.”`."""
    at = when(str(one.get("at") or one.get("startedAt") or ""), context.zone)
    why = describe_reason(one)
    status = str(one.get("status") or one.get("state") or "")
    return f"{name(str(one.get('command')))} by {name(str(one.get('caller')))} on {at}: {status}{why}"


def describe_reason(one: Mapping[str, Any]) -> str:
    if str(one.get("status") or one.get("state")) in ("done", "completed"):
        return ""
    said = next((str(one[field]) for field in _REASONS if isinstance(one.get(field), str) and one[field].strip()), "")
    if said:
        return f", because: “{one_line(said, 200)}”"
    code = str(one.get("code") or "")
    words = vocabulary().codes.get(code, "")
    return f", because {words} ({code})" if words else f", code {name(code)}" if code and code != "ok" else ""


def _calls(context: RequestContext, query: _Query) -> Steps:
    where = query.where()
    if query.group:
        if not context.offered("data/aggregate"):
            raise NotOffered("data/aggregate")
        params = {"collection": "executions", "groupBy": [query.group], **all_of(where), "orderBy": "-count"}
        (groups,) = yield [Step("data/aggregate", {**params, "limit": 50})]
        return describe_groups(groups, query.group, f"calls{query.says}")
    if query.count and context.offered("data/count"):
        (count,) = yield [Step("data/count", {"collection": "executions", **all_of(where)})]
        found = int(count.value.get("count", 0))
        return f"There {'was' if found == 1 else 'were'} {counted(found, 'call', 'calls')}{query.says}."
    if not context.offered("data/list"):
        raise NotOffered("data/list")
    collection = "executions"
    if query.lately:
        collection = "audit"
        where += [{"command": {"$nin": _QUIET}}, {"phase": {"$ne": "start"}}]
        where.append({"$or": [{"phase": "end"}, {"status": {"$ne": "done"}}]})
    newest = query.limit is None or query.limit.newest
    limit = query.limit.most if query.limit and query.limit.most else 10 if query.lately and not query.span else 50
    params = {"collection": collection, **all_of(where), "orderBy": "-at" if newest else "at", "limit": limit}
    (listed,) = yield [Step("data/list", params)]
    return _describe_calls(context, query, listed)


def _describe_calls(context: RequestContext, query: _Query, listed: ToolResult) -> str:
    lines = [describe_call(one, context) for one in listed.items]
    if not lines:
        running = " that are running" if query.statuses == ("running",) else ""
        return f"Nothing happened{query.says}." if query.lately else f"I see no calls{running}{query.says}."
    if query.limit and query.limit.most:
        which = "newest" if query.limit.newest else "oldest"
        those = f"{which} call" if len(lines) == 1 else f"{number(len(lines))} {which} calls"
        return f"The {those}{query.says}:\n{bullets(lines, 200)}"
    more = " at least" if listed.has_more else ""
    head = f"One call{query.says}" if len(lines) == 1 else f"There were{more} {number(len(lines))} calls{query.says}"
    if query.statuses == ("running",):
        head = f"One call{query.says} is running" if len(lines) == 1 else f"{number(len(lines))} calls{query.says} run"
    elif query.lately:
        head = "This happened" + query.says
    order = ", newest first" if len(lines) > 1 else ""
    return f"{head}{order}:\n{bullets(lines, 50)}"


def describe_groups(result: ToolResult, field: str, noun: str) -> str:
    """Describe counts for each value: `Calls by command: file/read 3, file/list 1 (4 in all).`."""
    items = [one for one in result.items if isinstance(one, dict)]
    if not items:
        return f"There are no {noun}."
    parts = [
        f"{name(str(one.get(field) if one.get(field) not in (None, '') else '(none)'))} {number(one.get('count', 0))}"
        for one in items
    ]
    total = sum(one.get("count", 0) for one in items)
    more = " More than these were found." if result.has_more else f" ({number(total)} in all)"
    head = f"{noun[:1].upper()}{noun[1:]} by {field}"
    return f"{head}: {', '.join(parts)}.{more}" if result.has_more else f"{head}: {', '.join(parts)}{more}."


def _read_chart(wording: Wording) -> Iterable[Reading]:
    words = words_of("calls")
    statuses = _statuses(wording)
    wording.take(words["nouns"])
    wording.count()
    wording.take(words["did"])
    query = _Query(statuses=statuses[:1], span=wording.span(), doer=wording.doer(), command=wording.command())
    wording.take(words["may"])
    steps = wording.context
    yield wording.reading("chart of calls", lambda: _chart(steps, query), f"a chart of the calls{query.says}")


def _chart(context: RequestContext, query: _Query) -> Steps:
    if not context.offered("audit/timeline"):
        raise NotOffered("audit/timeline")
    params: dict[str, Any] = {"since": "24h"}
    if query.span is not None:
        params = {"since": query.span.since_utc, "until": query.span.until_utc}
    given = {"caller": query.doer, "command": query.command, "status": "".join(query.statuses)}
    params = {key: value for key, value in {**params, **given}.items() if value}
    (result,) = yield [Step("audit/timeline", params)]
    items = [one for one in result.items if isinstance(one, dict) and isinstance(one.get("counts"), dict)]
    sums: dict[str, int] = {}
    for one in items:
        for outcome, count in one["counts"].items():
            sums[outcome] = sums.get(outcome, 0) + count
    said = query.says or " in the last 24 hours"
    if not sums:
        return f"There were no calls{said}."
    parts = in_a_row([f"{number(count)} {name(outcome)}" for outcome, count in sums.items()])
    return f"There were {counted(sum(sums.values()), 'call', 'calls')}{said}: {parts}.\n{_bars(items)}"


def _bars(items: Sequence[Mapping[str, Any]]) -> str:
    """A bar of calls for each hour or, over more than two days, for each day."""
    times = [(found, one) for one in items if (found := _HOUR.match(str(one.get("at") or "")))]
    days = {found["day"] for found, _ in times}
    bars: dict[str, int] = {}
    for found, one in times:
        label = found["day"] if len(days) > 2 else f"{found['hour']}:00"
        label = f"{found['day']} {label}" if len(days) == 2 else label
        bars[label] = bars.get(label, 0) + sum(one["counts"].values())
    most = max(bars.values(), default=1)
    lines = [f"{label} {'█' * max(1, round(_BAR * count / most))} {number(count)}" for label, count in bars.items()]
    return f"By {'day' if len(days) > 2 else 'hour'} (UTC):\n{bullets(lines, 200)}"
