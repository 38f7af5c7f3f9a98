"""Doorward itself: whether all is well, its status, its version and its log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from doorward.agents.house.plan import NotOffered, Reading, Step, Steps
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.sentences import bullets, counted, describe_record, join_parts, name, number, one_line, when
from doorward.agents.house.topics.vocabulary import words_of
from doorward.agents.house.topics.wording import Wording
from doorward.agents.house.words import singular

_TAIL = 20
_ALL = 5_000


def read(context: RequestContext) -> Iterable[Reading]:
    words = words_of("status")
    for what, steps, says in (
        ("version", lambda: _status(context, "version"), "the version"),
        ("status", lambda: _status(context, "status"), "the system status"),
        ("health", lambda: _health(context), "whether everything is well"),
    ):
        wording = Wording(context)
        if wording.take(words[what]):
            wording.take(words["health_may" if what == "health" else "status_may"])
            yield wording.reading(what, steps, says)
    wording = Wording(context)
    files = any(one.lower == "files" for one in context.request.tokens)
    if wording.take(words["log"]) and not files and not wording.has("everything|all well|all okay|log in|log out"):
        yield _read_log(wording)


def _read_log(wording: Wording) -> Reading:
    words, context = words_of("status"), wording.context
    level = "error" if wording.take(words["log_errors"]) else "warning" if wording.take(words["log_warnings"]) else ""
    count, span, limit = wording.count(), wording.span(), wording.limit()
    wording.take(words["log_may"])
    about = [one.text for one in wording.behind(words["log_about"])]

    def steps() -> Steps:
        if not context.offered("debug/logs"):
            raise NotOffered("debug/logs")
        most = (limit.most if limit else 0) or _TAIL
        pattern = _pattern(level, about)
        params: dict[str, Any] = {"tailLines": _ALL if span else most}
        params |= {"includeErrorsOnly": True} if level == "error" else {}
        (result,) = yield [Step("debug/logs", params | ({"filterPattern": pattern} if pattern else {}))]
        items, total = [one for one in result.items if isinstance(one, dict)], result.total
        behind = f" about “{one_line(' '.join(about), 80)}”" if about else ""
        if span is not None:
            until = span.until_utc or "9999"
            items = [one for one in items if span.since_utc <= str(one.get("at") or "") < until]
            behind, total = f"{behind} {span.says}", len(items)
        return _describe_log(context, items[-most:], total, level or "line", behind, count=count)

    says = f"{level or 'line'}s in the log" + (f" about {' '.join(about)}" if about else "")
    return wording.reading("log", steps, says)


def _pattern(level: str, about: Sequence[str]) -> str:
    """Return the pattern of lines that hold all of the words in any order, or one of them if `or` is said."""
    words = [re.escape(singular(one.lower())) for one in about if one.lower() not in ("or", "and")]
    either = "or" in about or len(words) > 2
    parts = [r'"level":"WARNING"'] if level == "warning" else []
    if words:
        parts.append(f"(?:{'|'.join(words if either else {'.*'.join(words), '.*'.join(words[::-1])})})")
    return "(?i)" + ".*".join(parts) if parts else ""


def _describe_log(
    context: RequestContext, items: Sequence[Any], total: int | None, noun: str, behind: str = "", *, count: bool
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
        which = f"; {'this is the last' if len(items) == 1 else f'these are the last {number(len(items))}'}"
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
        steps.append(Step("debug/logs", {"includeErrorsOnly": True, "tailLines": 10}))
    if not steps:
        raise NotOffered("system/status")
    results = yield steps
    log = results[-1] if steps[-1].command == "debug/logs" else None
    if first != "system/status" and log is None:
        head = "I cannot see from here whether everything is well, only the calls that were made."
    elif (log is not None and log.items) or (first == "system/status" and _problems(results[0])):
        head = "Not everything is well."
    else:
        head = "Yes, everything is running okay."
    facts = _describe_status(results[0]) if first == "system/status" else _report(results[0]) if first else ""
    errors = _describe_log(context, log.items, log.total, "error", count=False) if log is not None else ""
    return join_parts([head, facts, errors])


def _status(context: RequestContext, what: str) -> Steps:
    if not context.offered("system/status"):
        raise NotOffered("system/status")
    (result,) = yield [Step("system/status")]
    if what == "version" and isinstance(result.value, dict):
        return f"This is Doorward {name(str(result.value.get('version')))}."
    return _describe_status(result)


def _problems(status: ToolResult) -> list[Any]:
    found = status.value.get("problems") if isinstance(status.value, dict) else None
    return found if isinstance(found, list) else []


def _describe_status(result: ToolResult) -> str:
    """Describe the status of Doorward, its problems first."""
    problems = "; ".join(f"“{one_line(str(each), 200)}”" for each in _problems(result)[:10])
    facts = f"Doorward: {describe_record(result.value, ('version', 'rooms'), ('problems',))}."
    return f"Problems: {problems}. {facts}" if problems else facts


def _report(result: ToolResult) -> str:
    """Describe the calls of all callers, added up."""
    items = [one for one in result.items if isinstance(one, dict)]
    fields = ("calls", "done", "failed", "refused")
    calls, *ends = [sum(one.get(field) or 0 for one in items) for field in fields]
    said = ", ".join(f"{number(count)} {end}" for end, count in zip(fields[1:], ends, strict=True))
    made = f"{counted(len(items), 'caller', 'callers')} made {counted(calls, 'call', 'calls')} ({said})."
    return made if items else "No calls were made yet."
