"""Days that are written with their number: 2026-11-01, 1 November, the 1st of November 2026."""

from __future__ import annotations

import re
from datetime import date

from doorward.agents.house.entities import calendar
from doorward.agents.house.entities.knowledge import dates
from doorward.agents.house.entities.line import Line
from doorward.agents.house.entities.numbers import figures
from doorward.agents.house.entities.stretches import Stretch, timed, whole

_ISO = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:t.*)?")
_DOTTED = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})")
_SLASHED = re.compile(r"([0-9]{1,4})/([0-9]{1,2})/([0-9]{2,4})")


def dated(line: Line, i: int, sure: bool) -> tuple[Stretch, int] | None:
    """A day with its number: 2026-11-01, 1.11.2026, 1 November, November 1st, the 1st of November 2026."""
    word, today = line.lower(i), line.now.date()
    day: date | None = None
    at = i + 1
    iso, dotted = _ISO.fullmatch(word), _DOTTED.fullmatch(word)
    slashed = _SLASHED.fullmatch(word)
    if iso is not None:
        day = calendar.valid(int(iso[1]), int(iso[2]), int(iso[3]))
    elif dotted is not None:
        day = calendar.valid(int(dotted[3]), int(dotted[2]), int(dotted[1]))
    elif slashed is not None:
        day = _slashed(int(slashed[1]), int(slashed[2]), int(slashed[3]))
    else:
        start = i + 1 if word == "the" else i
        front = _day_number(line, start)
        behind = start + 2 if line.lower(start + 1) == "of" else start + 1
        if front and line.lower(behind) in dates().months:
            day, at = _numbered(line, dates().months[line.lower(behind)], front, behind + 1)
        elif word in dates().months:
            start = i + 2 if line.lower(i + 1) == "the" else i + 1
            front = _day_number(line, start)
            if front and front <= 31:
                day, at = _numbered(line, dates().months[word], front, start + 1)
    if day is None:
        return None
    return timed(line, whole(line, day, calendar.said(day, today), "on"), day, at)


def _slashed(first: int, second: int, third: int) -> date | None:
    """Only where no two readings are possible: a day above twelve, the year first, or both the same."""
    if first > 31:
        return calendar.valid(first, second, third)
    year = third + 2000 if third < 100 else third
    if first > 12 or first == second:
        return calendar.valid(year, second, first)
    return calendar.valid(year, first, second) if second > 12 else None


def _day_number(line: Line, i: int) -> int:
    read = figures(line.lower(i)) if line.shape(i) == "number" else None
    if read is None or not isinstance(read[0], int) or read[1] not in ("", "st", "nd", "rd", "th"):
        return 0
    return read[0] if 1 <= read[0] <= 31 else 0


def year_number(line: Line, i: int) -> int:
    """The year at a token; 0 when there is none."""
    word = line.lower(i)
    return int(word) if len(word) == 4 and word.isascii() and word.isdigit() and 1970 <= int(word) < 3000 else 0


def _numbered(line: Line, month: int, day: int, at: int) -> tuple[date | None, int]:
    """A day of a month, in the year that is named behind or else the last time that there was one."""
    today = line.now.date()
    behind = at + 1 if line.lower(at) == "," and year_number(line, at + 1) else at
    year = year_number(line, behind)
    if year:
        return calendar.valid(year, month, day), behind + 1
    found = calendar.valid(today.year, month, day)
    if found is not None and found > today:
        found = calendar.valid(today.year - 1, month, day)
    return found, at
