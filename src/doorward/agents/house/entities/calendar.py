"""Days, weeks, months and years around a moment, by the clock of a time zone."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo

_FIRST, _LAST = 0.0, 32_503_680_000.0
"""1970 and the year 3000: whatever lies beyond is cut to these, so that no date is too large to reckon with."""
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")
MONTHS = (*_MONTHS, "November", "December")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def moment(now: float, zone: tzinfo) -> datetime:
    """A moment on the clock of a zone; what is no moment becomes the nearest that is one."""
    return datetime.fromtimestamp(min(max(now, _FIRST), _LAST) if now == now else _FIRST, zone)


def within(seconds: float) -> float:
    return min(max(seconds, _FIRST), _LAST)


def midnight(day: date, zone: tzinfo | None) -> float:
    """When a day begins, in seconds."""
    return within(datetime.combine(day, time(), zone).timestamp())


def at_hour(day: date, hour: int, minute: int, zone: tzinfo | None) -> float:
    """A time of a day; hours past 24 belong to the next."""
    return within(datetime.combine(day + timedelta(days=hour // 24), time(hour % 24, minute), zone).timestamp())


def months_on(day: date, months: int) -> date:
    """The same day so many months on, or the last of that month where there is no such day."""
    count = min(max(day.year * 12 + day.month - 1 + months, 1970 * 12), 3000 * 12)
    year, month = divmod(count, 12)
    return date(year, month + 1, min(day.day, last_day(year, month + 1)))


def last_day(year: int, month: int) -> int:
    following = date(year + month // 12, month % 12 + 1, 1)
    return (following - timedelta(days=1)).day


def week(day: date, weeks: int = 0) -> date:
    """The Monday of the week of a day, so many weeks on."""
    return day - timedelta(days=day.weekday()) + timedelta(weeks=weeks)


def quarter(day: date, quarters: int = 0) -> date:
    """The first day of the quarter of a day, so many quarters on."""
    return months_on(date(day.year, (day.month - 1) // 3 * 3 + 1, 1), quarters * 3)


def valid(year: int, month: int, day: int) -> date | None:
    """The day of these numbers, if there is one between 1970 and 3000."""
    if not (1970 <= year < 3000 and 1 <= month <= 12 and 1 <= day <= last_day(year, month)):
        return None
    return date(year, month, day)


def said(day: date, now: date) -> str:
    """A day in words, with its year where that is not this one."""
    year = "" if day.year == now.year else f" {day.year}"
    return f"{day.day} {MONTHS[day.month - 1]}{year}"
