"""Stretches of time in a request, and ages."""

from __future__ import annotations

from functools import cache

from doorward.agents.house.entities import calendar
from doorward.agents.house.entities.durations import Length, duration_at, said, seconds, unit
from doorward.agents.house.entities.entity import About, Compare, Span
from doorward.agents.house.entities.knowledge import dates
from doorward.agents.house.entities.line import Find, Line
from doorward.agents.house.entities.moments import back, stretch_at, week_before
from doorward.agents.house.entities.phrases import Phrases, listed
from doorward.agents.house.entities.stemming import stem

_NEAR = 8
"""How many words away the verb of a stretch of time may stand."""


@cache
def _phrases() -> dict[str, Phrases[str]]:
    when = dates()
    return {
        "within": listed(when.within),
        "rolling": listed(when.rolling),
        "on": listed(when.on),
        "since": listed(when.since),
        "until": listed(when.until),
        "to": listed(when.to),
        "never": listed(when.never_touched),
        "for": listed(when.lasting),
    }


@cache
def _vague() -> Phrases[tuple[str, int]]:
    return Phrases(dates().vague)


@cache
def _verbs() -> tuple[frozenset[str], frozenset[str]]:
    """The stems of verbs for changing and for creating."""
    when = dates()
    return frozenset(stem(one) for one in when.changed), frozenset(stem(one) for one in when.created)


@cache
def _ages() -> tuple[Phrases[str], Phrases[str]]:
    """Words for older and newer: those that need `old` or `ago` behind the length, and those that do not."""
    when = dates()
    return (
        Phrases({**dict.fromkeys(when.older, "gt"), **dict.fromkeys(when.newer, "lt")}),
        Phrases({**dict.fromkeys(when.older_alone, "gt"), **dict.fromkeys(when.newer_alone, "lt")}),
    )


def span(line: Line, i: int) -> Find | None:
    for reading in (_between, _rolling, _vaguely, _bounded, _alone):
        found = reading(line, i)
        if found is not None:
            value, end = found
            return "span", Span(value.since, value.until, value.says, value.about or about(line, i, end)), i, end
    return None


def day(line: Line, i: int) -> Find | None:
    """A day that is only named, without a word that says how it bounds anything."""
    found = stretch_at(line, i, sure=False)
    if found is None or found[0].day is None or found[0].on != "on":
        return None
    value, end = found
    return "date", Span(value.since, value.until, f"on {value.says}"), i, end


def about(line: Line, start: int, end: int) -> About:
    """What happened in a stretch of time, by the nearest verb before it or else behind it."""
    changed, created = _verbs()
    near = [*range(start - 1, max(-1, start - 1 - _NEAR), -1), *range(end, min(len(line.tokens), end + _NEAR))]
    for k in near:
        token = line.tokens[k]
        if token.shape != "word":
            continue
        if token.stem in changed:
            return "changed"
        if token.stem in created:
            return "created"
    return ""


def _rolling(line: Line, i: int) -> tuple[Span, int] | None:
    """In the last three days, the past hour, last 24h; also `7d` alone, and the last week where `in the` says so."""
    phrases = _phrases()
    front = phrases["within"].at(line.tokens, i)
    at = front[1] if front else i
    turn = phrases["rolling"].at(line.tokens, at)
    if turn is not None:
        at = turn[1]
        length = duration_at(line, at)
        if length is None and unit(line, at, digits=False):
            name = unit(line, at, digits=False)
            calendar_word = name in ("week", "month", "quarter", "year") and turn[0] in (
                "last",
                "previous",
                "preceding",
            )
            if calendar_word and (front is None or "the" not in front[0].split()):
                return None
            length = (1.0, name), at + 1
        return _back(line, length[0], length[1]) if length else None
    length = duration_at(line, at)
    if length is None or line.lower(length[1]) in ("ago", "old", "back", "earlier"):
        return None
    compact = line.shape(at) == "number" and length[1] == at + 1
    if compact and length[0][1] not in ("second",):
        return _back(line, length[0], length[1])
    return _back(line, length[0], length[1]) if front and front[0].startswith("within") else None


def _back(line: Line, length: Length, end: int) -> tuple[Span, int]:
    amount, name = length
    now = line.now.timestamp()
    if name in ("month", "quarter", "year", "decade") and float(amount).is_integer():
        first = back(line.now.date(), amount, name)
        since = calendar.at_hour(first, line.now.hour, line.now.minute, line.now.tzinfo)
    else:
        since = calendar.within(now - seconds(length))
    return Span(since, None, f"in the last {said(length)}"), end


def _vaguely(line: Line, i: int) -> tuple[Span, int] | None:
    found = _vague().at(line.tokens, i)
    if found is None:
        return None
    (name, amount), end = found
    if name.startswith("this "):
        first = line.now.date().replace(day=1, **({"month": 1} if name.endswith("year") else {}))
        return Span(calendar.midnight(first, line.now.tzinfo), None, name), end
    return _back(line, (float(amount), name), end)


def _between(line: Line, i: int) -> tuple[Span, int] | None:
    """Between A and B, from A to B, A until B."""
    word = line.lower(i)
    start = i + 1 if word in ("between", "from") else i
    first = stretch_at(line, start, sure=start > i)
    if first is None:
        return None
    link = _phrases()["to"].at(line.tokens, first[1])
    if link is None or (link[0] == "and" and word != "between") or (word == "between" and link[0] not in ("and", "to")):
        return None
    second = stretch_at(line, link[1], sure=True)
    if second is None:
        return None
    begin = first[0] if second[0].until > first[0].since else week_before(line, first[0])
    if begin is None or second[0].until <= begin.since:
        return None
    says = f"between {begin.says} and {second[0].says}"
    until = second[0].since if second[0].on == "at" else second[0].until
    return Span(begin.since, until, says), second[1]


def _bounded(line: Line, i: int) -> tuple[Span, int] | None:
    """Since, after, before and until something."""
    phrases = _phrases()
    since = phrases["since"].at(line.tokens, i)
    if since is not None:
        found = stretch_at(line, since[1], sure=True)
        if found is not None and not (since[0] == "from" and not _goes_on(line, found[1])):
            stretch, end = found
            whole = since[0] in dates().after_whole and stretch.on != "at"
            start = stretch.until if whole else stretch.since
            word = "after" if whole else "since"
            end = (
                end + 1
                if since[0] in ("from", "starting", "as of") and line.lower(end) in ("on", "onward", "onwards")
                else end
            )
            return Span(start, None, f"{word} {stretch.says}"), end
        length = duration_at(line, since[1])
        if length is not None and since[0] == "since" and length[0][1] != "second":
            return _back(line, length[0], length[1])
    until = phrases["until"].at(line.tokens, i)
    if until is not None:
        found = stretch_at(line, until[1], sure=until[0] != "by")
        if found is not None:
            stretch, end = found
            whole = until[0] in dates().until_whole and stretch.on != "at"
            bound = stretch.until if whole else stretch.since
            return Span(None, bound, f"{'until' if whole else 'before'} {stretch.says}"), end
    return None


def _goes_on(line: Line, end: int) -> bool:
    return line.lower(end) in ("on", "onward", "onwards")


def _alone(line: Line, i: int) -> tuple[Span, int] | None:
    """On Tuesday, in May, yesterday, last week, two days ago."""
    front = _phrases()["on"].at(line.tokens, i)
    start = front[1] if front else i
    if front and line.lower(start) == "the" and line.shape(start + 1) != "number" and line.lower(start + 1) != "day":
        found = stretch_at(line, start, sure=True) or stretch_at(line, start + 1, sure=True)
    else:
        found = stretch_at(line, start, sure=front is not None)
    if found is None or (
        front is None and found[0].on in ("on", "at") and found[0].day is not None and _numbered(line, i)
    ):
        return None
    stretch, end = found
    if front and front[0] in ("for", "of", "all", "later", "at") and stretch.on in ("in",) and stretch.says.isdigit():
        return None
    says = f"{stretch.on} {stretch.says}".strip()
    open_end = stretch.until > line.now.timestamp() >= stretch.since
    return Span(stretch.since, None if open_end else stretch.until, says), end


def _numbered(line: Line, i: int) -> bool:
    """Whether a day begins with its number or its month, and so may be a value rather than a bound."""
    return line.shape(i) == "number" or line.lower(i) in dates().months or line.lower(i) == "the"


def age(line: Line, i: int) -> Find | None:
    """Older than 30 days, not touched for two weeks, modified more than three days ago."""
    never = _phrases()["never"].at(line.tokens, i)
    if never is not None:
        found = _since_when(line, never[1], i)
        if found is not None:
            return found
    needs, alone = _ages()
    for op, at in alone.every(line.tokens, i):
        length = duration_at(line, at)
        if length is not None:
            end = length[1] + 1 if line.lower(length[1]) in ("old", "ago") else length[1]
            return _aged(line, op, length[0], i, end)
    for op, at in needs.every(line.tokens, i):
        length = duration_at(line, at)
        if length is not None and line.lower(length[1]) in ("old", "ago", "back"):
            return _aged(line, op, length[0], i, length[1] + 1)
    length = duration_at(line, i)
    if length is not None and line.lower(length[1]) == "or" and line.lower(length[1] + 1) == "older":
        return _aged(line, "gt", length[0], i, length[1] + 2)
    return None


def _aged(line: Line, op: str, length: Length, start: int, end: int) -> Find:
    says = f"{'more' if op == 'gt' else 'less'} than {_counted(length)} old"
    return "age", Compare("gt" if op == "gt" else "lt", seconds(length), says, about(line, start, end)), start, end


def _since_when(line: Line, at: int, start: int) -> Find | None:
    """How long something was left alone, or since when."""
    link = _phrases()["for"].at(line.tokens, at)
    if link is None:
        return None
    length = duration_at(line, link[1])
    if length is None and unit(line, link[1], digits=False):
        length = (1.0, unit(line, link[1], digits=False)), link[1] + 1
    if length is not None:
        end = length[1] + 1 if line.lower(length[1]) in ("ago", "now") else length[1]
        return "age", Compare("gt", seconds(length[0]), f"not changed for {_counted(length[0])}", "changed"), start, end
    found = stretch_at(line, link[1], sure=True) if link[0] in ("since", "in") else None
    if found is None:
        return None
    return "span", Span(None, found[0].since, f"not since {found[0].says}", "changed"), start, found[1]


def _counted(length: Length) -> str:
    return f"1 {length[1]}" if length[0] == 1 else said(length)
