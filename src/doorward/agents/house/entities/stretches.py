"""Stretches of the calendar as values: from when to when, and how they are said."""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cache

import msgspec

from doorward.agents.house.entities import calendar
from doorward.agents.house.entities.knowledge import dates
from doorward.agents.house.entities.line import Line
from doorward.agents.house.entities.phrases import Phrases, listed

_CLOCK = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))?(?::[0-9]{2})?(am|pm)?")


class Stretch(msgspec.Struct, frozen=True):
    """When it begins and ends, and how it is said behind `on`, `in` or nothing."""

    since: float
    until: float
    says: str
    on: str = ""
    """The word that stands before it in a sentence: `on` a day, `in` a month, nothing before `yesterday`."""
    day: date | None = None
    """Set when it is one whole day."""


@cache
def _at() -> Phrases[str]:
    return listed(("at", "around", "about", "by"))


def whole(line: Line, day: date, says: str, on: str = "") -> Stretch:
    """One whole day."""
    zone = line.now.tzinfo
    return Stretch(calendar.midnight(day, zone), calendar.midnight(day + timedelta(days=1), zone), says, on, day)


def timed(line: Line, of: Stretch, day: date, at: int) -> tuple[Stretch, int]:
    """A day, or the part of it or the time on it that is named behind."""
    part = dates().parts.get(line.lower(at))
    if part is not None and line.lower(at) != "night":
        return part_of(line, day, part, f"{of.says} {line.lower(at)}", of.on), at + 1
    before = _at().at(line.tokens, at)
    clock = hour_at(line, before[1]) if before else None
    if clock is not None:
        (hour, minute), behind = clock
        start = calendar.at_hour(day, hour, minute, line.now.tzinfo)
        return Stretch(start, start + 3600, f"{of.says} at {hour:02}:{minute:02}", of.on), behind
    return of, at


def part_of(line: Line, day: date, part: tuple[int, int], says: str, on: str = "") -> Stretch:
    """The hours of a part of a day, such as its morning."""
    zone = line.now.tzinfo
    return Stretch(calendar.at_hour(day, part[0], 0, zone), calendar.at_hour(day, part[1], 0, zone), says, on)


def hour_at(line: Line, i: int) -> tuple[tuple[int, int], int] | None:
    """A time of day: the hour and the minute, and where its words end."""
    word = line.lower(i)
    if word in dates().clocks:
        return (dates().clocks[word], 0), i + 1
    found = _CLOCK.fullmatch(word) if line.shape(i) == "number" else None
    if found is None:
        return None
    hour, minute, half = int(found[1]), int(found[2] or 0), found[3]
    at = i + 1
    if not half and line.lower(at) in ("am", "pm", "o'clock"):
        half, at = line.lower(at), at + 1
    if not half and not found[2]:
        return None
    if half == "pm" and hour < 12:
        hour += 12
    if half == "am" and hour == 12:
        hour = 0
    return ((hour, minute), at) if hour < 24 and minute < 60 else None
