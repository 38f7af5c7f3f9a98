"""What the house says of itself: its log, what failed, how it is, its collections and commands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from doorward.agents.house.entities.stemming import stems
from doorward.agents.house.telling.asked import Asked, Got
from doorward.agents.house.telling.figures import field_words, in_a_row, number, value, when, zone_named
from doorward.agents.house.telling.knowledge import Many, tellers
from doorward.agents.house.telling.nouns import goes_on, in_all, items_of, when_and_how
from doorward.agents.house.telling.quoting import name, one_line

_MOST = 20
_HOUR = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)T(?P<hour>\d\d):", re.ASCII)
_BAR = 20
"""The length of the longest bar of a chart."""
_SERIOUS = ("error", "critical", "fatal")


def log(asked: Asked, got: Got) -> str:
    """Lines of the log, the newest last."""
    items = [one for one in items_of(got.value) or [] if isinstance(one, dict)]
    errors = bool(got.params.get("includeErrorsOnly"))
    what = "error" if errors else "line"
    behind = when_and_how(asked)
    if not items:
        return f"There are no {what}s in the log{behind}."
    whole = in_all(got.value, items) or len(items)
    shown = items[-(asked.limit or _MOST) :] if asked.limit <= 200 else items[-200:]
    lines = [_log_line(one, asked) for one in shown]
    head = (
        f"There is one {what} in the log{behind}"
        if whole == 1
        else f"There are {number(whole)} {what}s in the log{behind}"
    )
    if asked.count:
        return f"{head}."
    which = (
        ""
        if whole == 1
        else ", the newest last"
        if len(shown) == whole
        else f"; the last {number(len(shown))}, the newest last"
    )
    return "\n".join([f"{head}{which}:", *lines])


def _log_line(one: Mapping[str, Any], asked: Asked) -> str:
    at = when(str(one.get("at") or one.get("time") or ""), zone_named(asked.zone))
    level = str(one.get("level") or "")
    message = one_line(str(one.get("message") or one.get("event") or one.get("text") or ""))
    error = one.get("error") or one.get("exception")
    more = f" (“{one_line(str(error), 200)}”)" if isinstance(error, str) and error else ""
    return (
        f"- {at}{f', {level.lower()}' if level and level.lower() not in ('info', 'error') else ''}: “{message}”{more}"
    )


def many(asked: Asked, got: Got, how: Many) -> str:
    """Things of the house by their own sentences."""
    items = list(items_of(got.value) or [])
    if how.no_questions:
        items = [one for one in items if not _is_question(one, asked.question)]
    if how.not_asked:
        items = [one for one in items if _text(one, "text") != " ".join(asked.question.split())]
    if how.rank and asked.topic:
        items = _best(items, how.rank, asked.topic)
    whole = len(items) if how.rank else (in_all(got.value, items) or len(items))
    names = [name(_called(one, how)) for one in items[: how.most]]
    left = whole - min(len(items), how.most)
    facts = {
        "count": number(whole),
        "when": when_and_how(asked),
        "names": in_a_row([*names, *([f"{number(left)} more"] if left > 0 else [])]),
    }
    lines = [how.item.format_map(_Shown(one, asked)) for one in items[: how.most]] if how.item else []
    facts["lines"] = "\n".join([*lines, *([f"… and {number(left)} more"] if left > 0 else [])])
    template = how.none if not whole else how.one if whole == 1 else how.many
    if asked.count and how.item and whole:
        template = template.partition(":\n")[0].replace(", newest first", "") + "."
    return template.format_map(facts)


def _called(one: Any, how: Many) -> str:
    if not isinstance(one, dict):
        return str(one)
    return next((str(one[field]) for field in (*how.name, *tellers().labels) if one.get(field)), "(no name)")


def _text(one: Any, field: str) -> str:
    return " ".join(str(one.get(field, "") if isinstance(one, dict) else one).split())


def _is_question(one: Any, question: str) -> bool:
    text = _text(one, "text")
    return not text or text.endswith("?") or text == " ".join(question.split())


def _best(items: Sequence[Any], field: str, topic: Sequence[str]) -> list[Any]:
    """Those that hold the most of the words that were asked about, in their order."""
    wanted = {one for word in topic for one in (word, *stems(word))}
    ranks = [len(stems(_text(one, field)) & wanted) for one in items]
    best = max(ranks, default=0)
    return [one for one, rank in zip(items, ranks, strict=True) if rank == best]


class _Shown(dict[str, str]):
    """The fields of one of the things as they stand in its line."""

    def __init__(self, one: Any, asked: Asked) -> None:
        super().__init__()
        self._one = one if isinstance(one, dict) else {}
        self._asked = asked

    def __missing__(self, field: str) -> str:
        if field == "reason":
            why = reason(self._one)
            return f", {why}" if why else ""
        given = self._one.get(field)
        if field == "text":
            return f"“{one_line(str(given or ''))}”"
        return value(field, given, zone_named(self._asked.zone))


def reason(one: Mapping[str, Any]) -> str:
    """Why something went wrong: what it said itself or, without that, what its code means."""
    for field in tellers().reasons:
        said = one.get(field)
        if isinstance(said, str) and said.strip():
            return f"because: “{one_line(said, 200)}”"
    code = str(one.get("code") or "")
    words = tellers().codes.get(code, "")
    return f"because {words} ({code})" if words else f"code {name(code)}" if code and code != "ok" else ""


def report(asked: Asked, got: Got) -> str:
    """What callers did, added up."""
    items = [one for one in items_of(got.value) or [] if isinstance(one, dict)]
    if not items:
        return f"Nobody has asked for anything yet{when_and_how(asked)}."
    sums = {field: sum(_number(one.get(field)) for one in items) for field in ("calls", "done", "failed", "refused")}
    weighed = [
        (_number(one.get("meanMs")), _number(one.get("calls"))) for one in items if one.get("meanMs") is not None
    ]
    calls = sum(count for _, count in weighed)
    mean = (
        f"; {'it' if calls == 1 else 'they'} took {number(round(sum(ms * count for ms, count in weighed) / calls))} ms"
        f"{'' if calls == 1 else ' on average'}"
        if calls
        else ""
    )
    who = "" if len(items) == 1 else f"{number(len(items))} callers made "
    one = sums["calls"] == 1
    made = f"{number(sums['calls'])} {'call' if one else 'calls'}"
    made += "" if who else " was made" if one else " were made"
    rest = f"{number(sums['done'])} done, {number(sums['failed'])} failed, {number(sums['refused'])} refused"
    return f"{who}{made}{when_and_how(asked)}: {rest}{mean}."


def _number(given: Any) -> float | int:
    return given if isinstance(given, int | float) and not isinstance(given, bool) else 0


def status(asked: Asked, got: Got) -> str:
    """The state of the house, the verdict first."""
    one = got.value if isinstance(got.value, dict) else {}
    if asked.count and isinstance(one.get(asked.thing), int):
        return (
            f"There {'is' if one[asked.thing] == 1 else 'are'} {number(one[asked.thing])} {asked.thing} in this house."
        )
    named = one.get("problems")
    problems = [str(each) for each in named] if isinstance(named, list) else []
    parts = []
    if one.get("version"):
        parts.append(f"This is Doorward {name(str(one['version']))}.")
    counts = [
        f"{number(one[field])} {words if one[field] != 1 else words.rstrip('s')}"
        for field, words in (("rooms", "rooms"), ("commands", "commands"), ("recipes", "recipes"))
        if isinstance(one.get(field), int)
    ]
    if counts:
        parts.append(f"It has {in_a_row(counts)}.")
    hour = one.get("lastHour")
    if isinstance(hour, dict):
        made, done, failed, refused = (number(_number(hour.get(one))) for one in ("calls", "done", "failed", "refused"))
        calls = "was 1 call" if made == "1" else f"were {made} calls"
        parts.append(f"In the last hour there {calls}: {done} done, {failed} failed, {refused} refused.")
    waiting = one.get("approvalsWaiting")
    if isinstance(waiting, int):
        parts.append(f"{number(waiting)} {'call waits' if waiting == 1 else 'calls wait'} for a person.")
    if isinstance(one.get("memoryMb"), int | float):
        parts.append(f"It has used at most {number(one['memoryMb'])} MB of memory.")
    if problems:
        parts.insert(
            0, "What is not as it should be: " + "; ".join(f"“{one_line(each, 200)}”" for each in problems[:10]) + "."
        )
    return " ".join(parts) or tellers().nothing


def is_well(results: Sequence[Got]) -> bool | None:
    """Whether everything is well, as far as results tell: nothing is broken, and no error stands in the log."""
    told = False
    for got in results:
        if got.status != "done":
            continue
        if got.command == "system/status" and isinstance(got.value, dict):
            told = True
            if got.value.get("state") != "well" or got.value.get("problems"):
                return False
        if got.command == "debug/logs":
            told = True
            errors = items_of(got.value) or []
            if not got.params.get("includeErrorsOnly"):
                errors = [
                    one for one in errors if isinstance(one, dict) and str(one.get("level", "")).lower() in _SERIOUS
                ]
            if errors:
                return False
    return True if told else None


def schema(asked: Asked, got: Got) -> str:
    """`orders has 5 fields: id (text), total (number, required) …`, or the collections that there are."""
    one = got.value if isinstance(got.value, dict) else {}
    if isinstance(one.get("items"), list):
        return many(asked, got, tellers().things["collections"])
    fields = one.get("fields")
    if not isinstance(fields, dict):
        return tellers().nothing
    written = one.get("schema")
    required = written.get("required") if isinstance(written, dict) else None
    must = set(required) if isinstance(required, list) else set()
    parts = []
    for field, kind in fields.items():
        facts = [one_line(str(kind), 60), *(["required"] if field in must else [])]
        parts.append(f"{name(str(field))} ({', '.join([*facts, *(['the key'] if field == one.get('key') else [])])})")
    count = one.get("count")
    holds = f" It holds {number(count)} record{'' if count == 1 else 's'}." if isinstance(count, int) else ""
    called = name(str(one.get("collection") or got.params.get("collection") or "It"))
    return f"{called} has {number(len(fields))} field{'' if len(fields) == 1 else 's'}: {', '.join(parts)}.{holds}"


def commands(asked: Asked, got: Got) -> str:
    """Commands that were found."""
    items = [one for one in items_of(got.value) or [] if isinstance(one, dict)]
    if not items:
        return "I found no such command."
    whole = in_all(got.value, items)
    count = f"{number(whole)}" if whole is not None else f"more than {number(len(items))}"
    head = "There is 1 command" if whole == 1 else f"There are {count} commands"
    if asked.count:
        return f"{head}."
    lines = [
        f"- {name(str(one.get('command') or one.get('name')))}: {_said(one.get('summary'), 160)}"
        for one in items[:_MOST]
    ]
    left = (whole or len(items)) - len(lines)
    return "\n".join([f"{head}:", *lines, *([f"… and {number(left)} more"] if left > 0 else [])])


def _said(text: Any, most: int) -> str:
    """What a command says of itself; some come from other servers."""
    return f"“{one_line(str(text), most)}”" if text else "(it says nothing of itself)"


def command(asked: Asked, got: Got) -> str:
    one = got.value if isinstance(got.value, dict) else {}
    called = name(str(one.get("name") or got.params.get("command") or "It"))
    text = _said(one.get("description") or one.get("summary"), 600)
    usage = one_line(str(one.get("usage") or ""), 300)
    return f"{called}: {text}" + (f"\nUsage: {usage}" if usage else "")


def surroundings(asked: Asked, got: Got) -> str:
    one = got.value if isinstance(got.value, dict) else {}
    offered = one.get("commands")
    parts = [
        f"{field_words(field)} {name(str(one[field]))}" for field in ("caller", "room", "folder") if one.get(field)
    ]
    text = f"You are here as: {', '.join(parts)}." if parts else ""
    if isinstance(offered, list):
        text += f" {number(len(offered))} programs are offered."
    return text.strip() or tellers().nothing


def timeline(asked: Asked, got: Got) -> str:
    """Calls by their outcome, added up over a stretch of time."""
    items = [one for one in items_of(got.value) or [] if isinstance(one, dict)]
    sums: dict[str, float | int] = {}
    for one in items:
        counts = one.get("counts")
        for outcome, count in counts.items() if isinstance(counts, dict) else ():
            sums[str(outcome)] = sums.get(str(outcome), 0) + _number(count)
    if not sums:
        return f"There were no calls{when_and_how(asked)}."
    parts = [f"{number(count)} {name(outcome)}" for outcome, count in sums.items()]
    more = " More happened than was shown." if goes_on(got.value) else ""
    head = f"There were {number(sum(sums.values()))} calls{when_and_how(asked)}: {in_a_row(parts)}.{more}"
    return f"{head}\n{_chart(items)}" if asked.thing == "timeline" else head


def _chart(items: Sequence[Mapping[str, Any]]) -> str:
    """A bar of calls for each hour or, over more than two days, for each day."""
    times = [(found, one) for one in items if (found := _HOUR.match(str(one.get("at") or ""))) is not None]
    days = {found["day"] for found, _ in times}
    bars: dict[str, float | int] = {}
    for found, one in times:
        counts = one.get("counts")
        label = found["day"] if len(days) > 2 else f"{found['day']} {found['hour']}:00"
        label = label.removeprefix(f"{found['day']} ") if len(days) == 1 else label
        calls = sum(_number(count) for count in counts.values()) if isinstance(counts, dict) else 0
        bars[label] = bars.get(label, 0) + calls
    most = max(bars.values(), default=0)
    lines = [f"- {label} {'█' * max(1, round(_BAR * n / most))} {number(n)}" for label, n in bars.items() if n]
    return "\n".join([f"By {'day' if len(days) > 2 else 'hour'} (UTC):", *lines])
