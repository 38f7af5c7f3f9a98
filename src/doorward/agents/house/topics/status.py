"""Doorward itself: whether all is well, its status, its version and its log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.plan import NotOffered, Reading, Step, Steps
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.sentences import bullets, counted, in_a_row, join_parts, name, number, one_line, when
from doorward.agents.house.topics.vocabulary import words_of
from doorward.agents.house.topics.wording import Limit, Wording
from doorward.agents.house.words import singular

_ERRORS = {"includeErrorsOnly": True, "tailLines": 10}
_TAIL = 20
_ALL = 5_000


def read(context: RequestContext) -> Iterable[Reading]:
    words = words_of("status")
    wording = Wording(context)
    if wording.take(words["version"]):
        wording.take(words["status_may"])
        yield wording.reading("version", lambda: _status(context, only_version=True), "the version")
    wording = Wording(context)
    if wording.take(words["status"]):
        wording.take(words["status_may"])
        yield wording.reading("status", lambda: _status(context), "the system status")
    wording = Wording(context)
    if wording.take(words["health"]):
        wording.take(words["health_may"])
        yield wording.reading("health", lambda: _health(context), "whether everything is well")
    wording = Wording(context)
    if wording.take(words["log"]) and not wording.has("everything|all well|all okay|all good|log in|log out"):
        yield _read_log(wording)


def _read_log(wording: Wording) -> Reading:
    words = words_of("status")
    context = wording.context
    level = "error" if wording.take(words["log_errors"]) else "warning" if wording.take(words["log_warnings"]) else ""
    count, span, limit = wording.count(), wording.span(), wording.limit()
    wording.take(words["log_may"])
    about = [one.text for one in wording.behind(words["log_about"])]
    says = f"{level or 'line'}s in the log" + (f" about {' '.join(about)}" if about else "")
    return wording.reading("log", lambda: _log(context, level, about, span, limit, count=count), says)


def _log(
    context: RequestContext,
    level: str,
    about: Sequence[str],
    span: TimeSpan | None,
    limit: Limit | None,
    *,
    count: bool,
) -> Steps:
    if not context.offered("debug/logs"):
        raise NotOffered("debug/logs")
    wanted = (limit.most if limit else 0) or _TAIL
    params: dict[str, Any] = {"tailLines": _ALL if span else wanted}
    if level == "error":
        params["includeErrorsOnly"] = True
    patterns = [r'"level":"WARNING"'] if level == "warning" else []
    words = [re.escape(singular(one.lower())) for one in about if one.lower() not in ("or", "and")]
    if words:
        both = (
            "|".join(words) if "or" in about or len(words) > 2 else "|".join({".*".join(words), ".*".join(words[::-1])})
        )
        patterns.append(f"(?:{both})")
    if patterns:
        params["filterPattern"] = "(?i)" + ".*".join(patterns)
    (result,) = yield [Step("debug/logs", params)]
    items = [one for one in result.items if isinstance(one, dict)]
    total = result.total
    if span is not None:
        items = [one for one in items if _is_within(str(one.get("at") or ""), span)]
        total = len(items)
    behind = (f" about “{one_line(' '.join(about), 80)}”" if about else "") + (f" {span.says}" if span else "")
    return describe_log(context, items[-wanted:], total, level or "line", behind, count=count)


def _is_within(at: str, span: TimeSpan) -> bool:
    return span.since_utc <= at and (not span.until_utc or at < span.until_utc)


def describe_log(
    context: RequestContext,
    items: Sequence[Mapping[str, Any]],
    total: int | None,
    noun: str,
    behind: str,
    *,
    count: bool,
) -> str:
    """Describe lines of the log, the newest last."""
    if not items:
        return f"There are no {noun}s in the log{behind}."
    whole = max(total or 0, len(items))
    head = f"There {'is' if whole == 1 else 'are'} {counted(whole, noun, f'{noun}s')} in the log{behind}"
    if count:
        return f"{head}."
    which = "" if whole == 1 else ", the newest last"
    if len(items) < whole:
        which = "; this is the last" if len(items) == 1 else f"; these are the last {number(len(items))}"
    return f"{head}{which}:\n{bullets([_log_line(one, context) for one in items], 200)}"


def _log_line(one: Mapping[str, Any], context: RequestContext) -> str:
    level = str(one.get("level") or "").lower()
    message = one_line(str(one.get("message") or one.get("event") or ""))
    shown = f", {level}" if level not in ("", "info", "error") else ""
    return f"{when(str(one.get('at') or ''), context.zone)}{shown}: “{message}”"


def _health(context: RequestContext) -> Steps:
    first = context.offered("system/status", "ai/report")
    steps = [Step(first)] if first else []
    if context.offered("debug/logs"):
        steps.append(Step("debug/logs", dict(_ERRORS)))
    if not steps:
        raise NotOffered("system/status")
    results = yield steps
    by_command = {one.command.replace("_", "/", 1): one for one in results}
    status, report, log = (by_command.get(one) for one in ("system/status", "ai/report", "debug/logs"))
    problems = _problems(status)
    errors = log.items if log is not None else []
    if status is None and log is None:
        head = "I cannot see from here whether everything is well, only the calls that were made."
    else:
        head = "Not everything is well." if problems or errors else "Yes, everything is running okay."
    log_says = describe_log(context, errors, log.total, "error", "", count=False) if log is not None else ""
    return join_parts([head, describe_status(status) if status else "", _report(report) if report else "", log_says])


def _problems(status: ToolResult | None) -> list[str]:
    found = status.value.get("problems") if status is not None and isinstance(status.value, dict) else None
    return [str(one) for one in found] if isinstance(found, list) else []


def _status(context: RequestContext, *, only_version: bool = False) -> Steps:
    if not context.offered("system/status"):
        raise NotOffered("system/status")
    (result,) = yield [Step("system/status")]
    version = result.value.get("version") if isinstance(result.value, dict) else ""
    return f"This is Doorward {name(str(version))}." if only_version and version else describe_status(result)


def describe_status(result: ToolResult) -> str:
    """Describe the status of Doorward, its problems first."""
    one = result.value if isinstance(result.value, dict) else {}
    parts = []
    problems = _problems(result)
    if problems:
        parts.append(f"Problems: {'; '.join(f'“{one_line(each, 200)}”' for each in problems[:10])}.")
    if one.get("version"):
        parts.append(f"This is Doorward {name(str(one['version']))}.")
    counts = [
        counted(one[many], many[:-1], many)
        for many in ("rooms", "commands", "recipes")
        if isinstance(one.get(many), int)
    ]
    if counts:
        parts.append(f"It has {in_a_row(counts)}.")
    hour = one.get("lastHour")
    if isinstance(hour, dict):
        calls = hour.get("calls", 0)
        ends = ", ".join(f"{number(hour.get(end, 0))} {end}" for end in ("done", "failed", "refused"))
        parts.append(
            f"In the last hour there {'was' if calls == 1 else 'were'} {counted(calls, 'call', 'calls')}: {ends}."
        )
    waiting = one.get("approvalsWaiting")
    if isinstance(waiting, int):
        parts.append(f"{number(waiting)} {'call waits' if waiting == 1 else 'calls wait'} for a person.")
    if isinstance(one.get("memoryMb"), int | float):
        parts.append(f"It has used at most {number(one['memoryMb'])} MB of memory.")
    return " ".join(parts) or "The status is empty."


def _report(result: ToolResult) -> str:
    """Describe the calls of all callers, added up."""
    items = [one for one in result.items if isinstance(one, dict)]
    if not items:
        return "No calls were made yet."
    sums = {field: sum(one.get(field) or 0 for one in items) for field in ("calls", "done", "failed", "refused")}
    timed = [(one["meanMs"], one.get("calls") or 0) for one in items if one.get("meanMs") is not None]
    calls = sum(count for _, count in timed)
    mean = round(sum(ms * count for ms, count in timed) / calls) if calls else None
    took = "" if mean is None else f"; it took {mean} ms" if calls == 1 else f"; they took {number(mean)} ms on average"
    made = counted(sums["calls"], "call", "calls")
    who = f"{made} {'was' if sums['calls'] == 1 else 'were'} made"
    if len(items) > 1:
        who = f"{number(len(items))} callers made {made}"
    return f"{who}: {', '.join(f'{number(sums[one])} {one}' for one in ('done', 'failed', 'refused'))}{took}."
