"""A single stretch of the calendar as people name it: a day, a week, a month, a part of a day, so long ago."""

from __future__ import annotations

from datetime import UTC, date, timedelta
from functools import cache

from doorward.agents.house.entities import calendar
from doorward.agents.house.entities.dated import dated, year_number
from doorward.agents.house.entities.durations import duration_at
from doorward.agents.house.entities.knowledge import dates
from doorward.agents.house.entities.line import Line
from doorward.agents.house.entities.phrases import Phrases
from doorward.agents.house.entities.stretches import Stretch, hour_at, part_of, timed, whole

_DAY = 86_400.0


@cache
def _days() -> Phrases[int]:
    return Phrases(dates().days)


@cache
def _periods() -> Phrases[tuple[str, int]]:
    return Phrases(dates().periods)


@cache
def _turn() -> Phrases[int]:
    when = dates()
    return Phrases({**dict.fromkeys(when.this, 0), **dict.fromkeys(when.last, -1), **dict.fromkeys(when.next, 1)})


def stretch_at(line: Line, i: int, *, sure: bool) -> tuple[Stretch, int] | None:
    """The stretch that begins at a token. Without `sure`, words that mean other things as well are passed over."""
    for reading in (
        _relative_day,
        _named_period,
        _begun,
        _turned,
        _quarter,
        _ago,
        dated,
        _weekday,
        _month,
        _clock,
        _year,
    ):
        found = reading(line, i, sure)
        if found is not None:
            return found
    return None


def _relative_day(line: Line, i: int, sure: bool) -> tuple[Stretch, int] | None:
    found = _days().at(line.tokens, i)
    if found is None:
        return None
    away, at = found
    day = line.now.date() + timedelta(days=away)
    return timed(line, whole(line, day, " ".join(one.lower for one in line.tokens[i:at]).removesuffix("'s")), day, at)


def _named_period(line: Line, i: int, sure: bool) -> tuple[Stretch, int] | None:
    found = _periods().at(line.tokens, i)
    if found is None:
        return None
    (part, away), at = found
    day = line.now.date() + timedelta(days=away)
    return part_of(line, day, dates().parts[part], " ".join(one.lower for one in line.tokens[i:at])), at


def _turned(line: Line, i: int, sure: bool) -> tuple[Stretch, int] | None:
    """This, last or next week, month, quarter, year, weekend, Tuesday, May, morning."""
    if line.lower(i) == "the" and line.lower(i + 1) == "weekend":
        days = _ends(line.now.date(), "weekend", -1)
        if days is not None:
            zone = line.now.tzinfo
            return Stretch(
                calendar.midnight(days[0], zone), calendar.midnight(days[1], zone), "the weekend", "over"
            ), i + 2
    for turn, at in _turn().every(line.tokens, i):
        word, today, zone = line.lower(at).removesuffix("'s"), line.now.date(), line.now.tzinfo
        if word in ("calendar", "whole", "full"):
            at, word = at + 1, line.lower(at + 1)
        name = {0: "this", -1: "last", 1: "next"}[turn]
        ends = _ends(today, word, turn)
        if ends is not None:
            first, behind = ends
            found = Stretch(calendar.midnight(first, zone), calendar.midnight(behind, zone), f"{name} {word}")
            return found, at + 1
        if word in dates().weekdays and word not in ("sun", "sat", "mon", "wed"):
            return _day_of_week(line, dates().weekdays[word], turn, at + 1)
        if word in dates().months and turn:
            found = _month_named(line, dates().months[word], None, turn)
            return found, at + 1
        if word in dates().parts and not turn:
            return part_of(line, today, dates().parts[word], f"this {word}"), at + 1
    return None


def _begun(line: Line, i: int, sure: bool) -> tuple[Stretch, int] | None:
    """The beginning of the month: its first day."""
    at = i + 1 if line.lower(i) == "the" else i
    if line.lower(at) not in ("beginning", "start") or line.lower(at + 1) != "of":
        return None
    behind = at + 3 if line.lower(at + 2) == "the" and line.lower(at + 3) in dates().units else at + 2
    ends = _ends(line.now.date(), line.lower(behind), 0) if behind == at + 3 else None
    if ends is not None:
        return whole(line, ends[0], calendar.said(ends[0], line.now.date()), "on"), behind + 1
    found = stretch_at(line, behind, sure=True) if line.lower(behind) not in ("the", "beginning", "start") else None
    if found is None:
        return None
    day = calendar.moment(found[0].since, line.now.tzinfo or UTC).date()
    return whole(line, day, calendar.said(day, line.now.date()), "on"), found[1]


def _quarter(line: Line, i: int, sure: bool) -> tuple[Stretch, int] | None:
    """Q3, Q1 2026."""
    word, today, zone = line.lower(i), line.now.date(), line.now.tzinfo
    if word not in ("q1", "q2", "q3", "q4"):
        return None
    number = int(word[1])
    named = year_number(line, i + 1)
    year = named or (today.year if number * 3 - 2 <= today.month else today.year - 1)
    first = date(year, number * 3 - 2, 1)
    until = calendar.midnight(calendar.months_on(first, 3), zone)
    found = Stretch(calendar.midnight(first, zone), until, f"{word.upper()} {year}", "in")
    return found, i + 2 if named else i + 1


def _ends(today: date, word: str, turn: int) -> tuple[date, date] | None:
    """The first day of a period of the calendar, and the first behind it."""
    if word == "week":
        return calendar.week(today, turn), calendar.week(today, turn + 1)
    if word == "weekend":
        turn = turn + 1 if turn == -1 and today.weekday() >= 5 else turn
        saturday = calendar.week(today, turn) + timedelta(days=5)
        return saturday, saturday + timedelta(days=2)
    if word == "month":
        first = today.replace(day=1)
        return calendar.months_on(first, turn), calendar.months_on(first, turn + 1)
    if word == "quarter":
        return calendar.quarter(today, turn), calendar.quarter(today, turn + 1)
    if word == "year":
        first = date(today.year, 1, 1)
        return calendar.months_on(first, 12 * turn), calendar.months_on(first, 12 * (turn + 1))
    return None


def _ago(line: Line, i: int, sure: bool) -> tuple[Stretch, int] | None:
    """`two days ago` is that day; `3 hours ago` the hour around that moment."""
    length = duration_at(line, i)
    if length is None or line.lower(length[1]) not in ("ago", "back", "earlier"):
        return None
    (amount, unit), at = length
    says = f"{amount:g} {unit}{'' if amount == 1 else 's'} ago"
    if unit in ("second", "minute", "hour"):
        seconds = dates().units[unit]
        point = calendar.within(line.now.timestamp() - amount * seconds)
        return Stretch(calendar.within(point - seconds / 2), calendar.within(point + seconds / 2), says), at + 1
    day = back(line.now.date(), amount, unit)
    return whole(line, day, f"{says} ({calendar.said(day, line.now.date())})"), at + 1


def back(day: date, amount: float, unit: str) -> date:
    """The day so long before another, by the calendar where whole months are meant."""
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}.get(unit)
    if months is not None and float(amount).is_integer():
        return calendar.months_on(day, -int(min(amount, 20_000)) * months)
    days = min(amount * dates().units[unit] / _DAY, (day - date(1970, 1, 1)).days)
    return day - timedelta(days=days)


def _weekday(line: Line, i: int, sure: bool) -> tuple[Stretch, int] | None:
    word = line.lower(i)
    if word not in dates().weekdays or (not sure and word in dates().also_words):
        return None
    return _day_of_week(line, dates().weekdays[word], 0, i + 1)


def _day_of_week(line: Line, weekday: int, turn: int, at: int) -> tuple[Stretch, int]:
    """The last such day; today counts unless `last` is said, and `next` is the one to come."""
    today = line.now.date()
    away = (today.weekday() - weekday) % 7
    if turn < 0 and not away:
        away = 7
    if turn > 0:
        away -= 7
    day = today - timedelta(days=away)
    says = f"{calendar.WEEKDAYS[weekday]} {calendar.said(day, today)}"
    return timed(line, whole(line, day, says, "on"), day, at)


def week_before(line: Line, stretch: Stretch) -> Stretch | None:
    """The same day a week before, for a weekday that must lie before another."""
    if stretch.day is None or not stretch.says.startswith(calendar.WEEKDAYS):
        return None
    day = stretch.day - timedelta(days=7)
    return whole(line, day, f"{calendar.WEEKDAYS[day.weekday()]} {calendar.said(day, line.now.date())}", "on")


def _month(line: Line, i: int, sure: bool) -> tuple[Stretch, int] | None:
    word = line.lower(i)
    if word not in dates().months:
        return None
    at = i + 2 if line.lower(i + 1) == "of" and year_number(line, i + 2) else i + 1
    year = year_number(line, at)
    if not year and not sure:
        return None
    return _month_named(line, dates().months[word], year or None), at + 1 if year else i + 1


def _month_named(line: Line, month: int, year: int | None, turn: int = 0) -> Stretch:
    """A month, in a year or else the last time that there was one."""
    today, zone = line.now.date(), line.now.tzinfo
    if year is None:
        year = today.year if month <= today.month else today.year - 1
        if turn < 0 and month == today.month:
            year = today.year - 1
        if turn > 0:
            year = today.year if month > today.month else today.year + 1
    first = date(year, month, 1)
    until = calendar.midnight(calendar.months_on(first, 1), zone)
    return Stretch(calendar.midnight(first, zone), until, f"{calendar.MONTHS[month - 1]} {year}", "in")


def _year(line: Line, i: int, sure: bool) -> tuple[Stretch, int] | None:
    at = i + 2 if line.lower(i) == "the" and line.lower(i + 1) == "year" else i
    year = year_number(line, at)
    if not year or not sure or year > line.now.year + 10:
        return None
    zone = line.now.tzinfo
    since = calendar.midnight(date(year, 1, 1), zone)
    return Stretch(since, calendar.midnight(date(year + 1, 1, 1), zone), str(year), "in"), at + 1


def _clock(line: Line, i: int, sure: bool) -> tuple[Stretch, int] | None:
    """A time of day: of today, or of the day that is named behind."""
    found = hour_at(line, i)
    if found is None or not (sure or line.lower(i) in dates().clocks or ":" in line.lower(i) or found[1] > i + 1):
        return None
    (hour, minute), at = found
    behind = at + 1 if line.lower(at) == "on" else at
    other = _relative_day(line, behind, sure=True) or _weekday(line, behind, sure=True)
    day = other[0].day if other else None
    start = calendar.at_hour(day or line.now.date(), hour, minute, line.now.tzinfo)
    says = f"{hour:02}:{minute:02}" + (f" {other[0].says}" if other and day else "")
    return Stretch(start, start + 3600, says, "at"), other[1] if other and day else at
