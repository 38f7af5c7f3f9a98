"""Dates and periods in a request: `yesterday`, `since Monday`, `in the last 30 days`, `before 1 April`, `last week`."""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, timedelta

import msgspec

from doorward.agents.house.request import Request

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name[:3]: number for name, number in tuple(_MONTHS.items())} | {"sept": 9}
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_UNITS = {"minute": 60, "min": 60, "hour": 3_600, "hr": 3_600, "day": 86_400, "week": 604_800, "fortnight": 1_209_600}
_MONTH_UNITS = {"month": 1, "quarter": 3, "year": 12}
_RELATIVE = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
_LEADS = frozenset(("on", "in", "during", "within", "over", "for", "from", "of", "at", "the", "by"))
_LAST = frozenset(("last", "past", "previous", "preceding"))
_NEXT = frozenset(("next", "coming"))
_BOUNDS = frozenset(("since", "after", "from", "before", "until", "till", "by", "between"))
_AGES = {"older": True, "more": True, "over": True, "longer": True, "newer": False, "less": False, "under": False}
"""Words before a length of time, and whether they mean what is older than that."""
_SHORT = frozenset(("may", "mar", "sun", "sat", "mon", "wed", "sec"))
"""Names of months and days that are also other words, and count only beside a number or a word such as `in`."""


_FEASTS = {"christmas": (12, 25), "xmas": (12, 25), "halloween": (10, 31)}
_SOON = 62
"""Days ahead from which on a bare day is taken for that of the year before."""


class TimeSpan(msgspec.Struct, frozen=True, kw_only=True):
    """A period in a request. `until` is exclusive; None means open."""

    first: int
    """The place of its first token."""
    behind: int
    """The place behind its last token."""
    since: datetime | None
    until: datetime | None
    says: str
    """The period as a phrase, such as `in the last 30 days`."""
    yearless: bool = False
    """Whether it names a day or a month without its year."""

    def other_years(self, least: str, most: str) -> list[str]:
        """Return the years that can be meant, if records from `least` to `most` leave more than one; else none."""
        moment = self.since or self.until
        if not self.yearless or moment is None or not least or not most:
            return []
        day = moment.date().isoformat()[4:]
        years = [year for year in range(int(least[:4]), int(most[:4]) + 1) if least <= f"{year}{day}" <= most]
        return [str(year) for year in years] if len(years) > 1 else []

    def overlaps(self, least: str, most: str) -> bool:
        """Whether days from `least` to `most` reach into it."""
        return (not self.last_day or least <= self.last_day) and (not self.first_day or most >= self.first_day)

    @property
    def places(self) -> frozenset[int]:
        return frozenset(range(self.first, self.behind))

    @property
    def first_day(self) -> str:
        """The first day as an ISO date; empty if open."""
        return self.since.date().isoformat() if self.since else ""

    @property
    def last_day(self) -> str:
        """The last day as an ISO date; empty if open."""
        return (self.until - timedelta(microseconds=1)).date().isoformat() if self.until else ""

    @property
    def since_utc(self) -> str:
        return _utc(self.since) if self.since else ""

    @property
    def until_utc(self) -> str:
        return _utc(self.until) if self.until else ""


class _Period(msgspec.Struct, frozen=True):
    since: datetime
    until: datetime
    says: str
    behind: int
    lead: str = "on"
    yearless: bool = False


def find_spans(request: Request, now: datetime, *, ahead: bool = False) -> tuple[TimeSpan, ...]:
    """Find the periods of a request, from left to right. A bare `Friday` or `May` is the last, or the one ahead."""
    found: list[TimeSpan] = []
    at = 0
    while at < len(request):
        span = _Reader(request, now, ahead).span(at)
        if span is None:
            at += 1
        else:
            found.append(span)
            at = span.behind
    return tuple(found)


class _Reader:
    def __init__(self, request: Request, now: datetime, ahead: bool) -> None:
        self.tokens = request.tokens
        self.now = now
        self.ahead = ahead
        self.today = now.date()

    def word(self, at: int) -> str:
        return self.tokens[at].lower.removesuffix("'s") if 0 <= at < len(self.tokens) else ""

    def midnight(self, day: date) -> datetime:
        return datetime(day.year, day.month, day.day, tzinfo=self.now.tzinfo)

    def span(self, at: int) -> TimeSpan | None:
        word = self.word(at)
        if word in _BOUNDS or word in _AGES:
            bounded = self._bounded(at, word)
            if bounded is not None:
                return bounded
        lead = at
        while self.word(lead) in _LEADS and lead < at + 3:
            lead += 1
        for start in dict.fromkeys((lead, at)):
            period = self._rolling(start, introduced=start > at) or self.period(start, sure=start > at)
            if period is not None:
                says = period.says if not period.lead else f"{period.lead} {period.says}"
                return TimeSpan(
                    first=at,
                    behind=period.behind,
                    since=period.since,
                    until=period.until,
                    says=says,
                    yearless=period.yearless,
                )
        return None

    def _bounded(self, at: int, word: str) -> TimeSpan | None:
        start = at + 1
        while self.word(start) in ("the", "than", "on"):
            start += 1
        age = self._age(at, start, word)
        if age is not None or word in _AGES:
            return age
        period = self.period(start, sure=True)
        if period is None:
            return None
        if word in ("between", "from"):
            joint = period.behind
            if self.word(joint) in ("and", "to", "until", "till", "-", "–"):
                second = self.period(joint + 1, sure=True)
                if second is not None and second.until > period.since:
                    says = f"between {period.says} and {second.says}"
                    return self._open(at, second.behind, period.since, second.until, says)
            if word == "between" or self.word(joint) not in ("on", "onwards", "onward"):
                return None
            return self._open(at, joint + 1, period.since, None, f"since {period.says}")
        since, until = {
            "since": (period.since, None),
            "after": (period.until, None),
            "before": (None, period.since),
        }.get(word, (None, period.until))
        says = f"{'until' if word == 'till' else word} {period.says}"
        found = self._open(at, period.behind, since, until, says)
        return msgspec.structs.replace(found, yearless=period.yearless)

    def _age(self, first: int, start: int, word: str) -> TimeSpan | None:
        """`older than 30 days`, `more than 30 days ago`, `less than a week old`."""
        found = self._duration(start) if word in _AGES else None
        if found is None:
            return None
        seconds, says, behind = found
        ago = self.word(behind) in ("ago", "old")
        if not ago and word not in ("older", "newer"):
            return None
        limit = self.now - timedelta(seconds=seconds)
        since, until = (None, limit) if _AGES[word] else (limit, None)
        text = f"more than {says} ago" if _AGES[word] else f"less than {says} ago"
        return self._open(first, behind + ago, since, until, text)

    def _open(self, first: int, behind: int, since: datetime | None, until: datetime | None, says: str) -> TimeSpan:
        return TimeSpan(first=first, behind=behind, since=since, until=until, says=says)

    def _duration(self, at: int) -> tuple[float, str, int] | None:
        """Return the seconds of `30 days`, `an hour`, `3 months`, with its words and the place behind it."""
        amount: float | None = 1.0 if self.word(at) in ("a", "an", "one") else None
        if amount is None and 0 <= at < len(self.tokens):
            amount = self.tokens[at].number
        if amount is None:
            return None
        unit = self.word(at + 1).removesuffix("s")
        says = f"{amount:g} {unit}{'' if amount == 1 else 's'}"
        if unit in _UNITS:
            return min(amount, 1e5) * _UNITS[unit], says, at + 2
        if unit in _MONTH_UNITS:
            first = _months_on(self.today, -int(min(amount, 1_000) * _MONTH_UNITS[unit]))
            return (self.today - first).days * 86_400.0, says, at + 2
        return None

    def _rolling(self, at: int, *, introduced: bool) -> _Period | None:
        """`last 30 days`, `past hour`, `within 3 days`, `the last day`."""
        word = self.word(at)
        coming = self._duration(at + 1) if word in _NEXT else None
        if coming is not None:
            end = self.midnight((self.now + timedelta(seconds=coming[0])).date() + timedelta(days=1))
            return _Period(self.midnight(self.today), end, f"the next {coming[1]}", coming[2], "in")
        if word in _LAST:
            found = self._duration(at + 1)
            unit = self.word(at + 1)
            if found is None and (
                unit in ("day", "hour", "minute", "24h") or (word == "past" and unit in _MONTH_UNITS | _UNITS)
            ):
                seconds = {"24h": 86_400.0}.get(unit) or float(
                    _UNITS.get(unit, 30 * 86_400 * _MONTH_UNITS.get(unit, 1))
                )
                found = seconds, unit, at + 2
            if found is None:
                return None
            seconds, says, behind = found
        elif introduced and self.word(at - 1) in ("within", "in") and (plain := self._duration(at)) is not None:
            seconds, says, behind = plain
            if self.word(behind) in ("ago", "old"):
                return None
        else:
            return None
        since = self.now - timedelta(seconds=seconds)
        return _Period(since, self.midnight(self.today + timedelta(days=1)), f"the last {says}", behind, "in")

    def period(self, at: int, *, sure: bool) -> _Period | None:
        """Return the day, week, month or year that begins at a token."""
        for reading in (self._ago, self._relative, self._iso, self._turned, self._day_of_month, self._weekday):
            found = reading(at)
            if found is not None:
                return found
        return self._month_or_year(at, sure=sure)

    def _days(self, first: date, behind: date, says: str, place: int, lead: str = "") -> _Period:
        return _Period(self.midnight(first), self.midnight(behind), says, place, lead)

    def _ago(self, at: int) -> _Period | None:
        found = self._duration(at)
        if found is None or self.word(found[2]) not in ("ago", "earlier", "back"):
            return None
        seconds, says, behind = found
        moment = self.now - timedelta(seconds=seconds)
        if seconds < 86_400:
            half = timedelta(seconds=seconds / 4)
            return _Period(moment - half, moment + half, f"{says} ago", behind + 1, "")
        return self._days(moment.date(), moment.date() + timedelta(days=1), f"{says} ago", behind + 1)

    def _relative(self, at: int) -> _Period | None:
        word = self.word(at)
        if word == "this" and self.word(at + 1) in ("morning", "afternoon", "evening"):
            return self._days(self.today, self.today + timedelta(days=1), "today", at + 2)
        if word in _RELATIVE:
            day = self.today + timedelta(days=_RELATIVE[word])
            return self._days(day, day + timedelta(days=1), word, at + 1)
        if word == "day" and self.word(at + 1) == "before" and self.word(at + 2) == "yesterday":
            day = self.today - timedelta(days=2)
            return self._days(day, day + timedelta(days=1), "the day before yesterday", at + 3)
        return None

    def _iso(self, at: int) -> _Period | None:
        if not 0 <= at < len(self.tokens) or self.tokens[at].kind != "date":
            return None
        try:
            day = date.fromisoformat(self.tokens[at].text[:10])
        except ValueError:
            return None
        return self._days(day, day + timedelta(days=1), _said(day), at + 1, "on")

    def _turned(self, at: int) -> _Period | None:
        """This, last or next week, month, quarter, year, weekend, Tuesday."""
        word = self.word(at)
        turn = 0 if word in ("this", "current") else -1 if word in _LAST else 1 if word in _NEXT else None
        if turn is None:
            return None
        unit = self.word(at + 1)
        name = {0: "this", -1: "last", 1: "next"}[turn]
        monday = self.today - timedelta(days=self.today.weekday())
        if unit == "week":
            first = monday + timedelta(days=7 * turn)
            return self._days(first, first + timedelta(days=7), f"{name} week", at + 2)
        if unit == "weekend":
            first = monday + timedelta(days=5 + 7 * turn)
            return self._days(first, first + timedelta(days=2), f"{name} weekend", at + 2)
        if unit in _MONTH_UNITS:
            months = _MONTH_UNITS[unit]
            start = self.today.replace(day=1, month=(self.today.month - 1) // months * months + 1)
            first = _months_on(start, turn * months)
            return self._days(first, _months_on(first, months), f"{name} {unit}", at + 2)
        if unit in _WEEKDAYS:
            away = (self.today.weekday() - _WEEKDAYS[unit]) % 7
            day = self.today - timedelta(days=away or 7) if turn < 0 else self.today + timedelta(days=-away % 7 or 7)
            if turn == 0:
                day = monday + timedelta(days=_WEEKDAYS[unit])
            return self._days(day, day + timedelta(days=1), f"{unit.capitalize()} {_said(day)}", at + 2, "on")
        if unit in _MONTHS and turn < 0:
            return self._month(_MONTHS[unit], None, at + 2)
        return None

    def _weekday(self, at: int) -> _Period | None:
        word = self.word(at)
        if word not in _WEEKDAYS:
            return None
        away = (self.today.weekday() - _WEEKDAYS[word]) % 7
        day = self.today + timedelta(days=-away % 7 if self.ahead else -away)
        return self._days(day, day + timedelta(days=1), f"{word.capitalize()} {_said(day)}", at + 1, "on")

    def _day_of_month(self, at: int) -> _Period | None:
        """`1 April`, `April 1st`, `Christmas`, `1st of April 2026`; without a year, the last such day or the next."""
        day, behind = self._ordinal(at), at + 1
        month: int | None
        if self.word(at) in _FEASTS:
            month, day = _FEASTS[self.word(at)]
            eve = self.word(behind) == "eve"
            day -= eve
            behind -= self.word(behind) not in ("day", "eve")
        elif day is not None:
            behind += self.word(behind) == "of"
            month = _MONTHS.get(self.word(behind))
        else:
            month = _MONTHS.get(self.word(at))
            behind += self.word(behind) == "the"
            day = self._ordinal(behind) if month else None
        if month is None or day is None:
            return None
        behind += 1 + (self.word(behind + 1) == ",")
        year = self._year(behind)
        try:
            named = date(year or self.today.year, month, day)
        except ValueError:
            return None
        away = (named - self.today).days
        if not year and (away < 0 if self.ahead else away > _SOON) and (month, day) != (2, 29):
            named = named.replace(year=named.year + (1 if self.ahead else -1))
        place = behind + 1 if year else behind - (self.word(behind - 1) == ",")
        found = self._days(named, named + timedelta(days=1), _said(named), place, "on")
        return msgspec.structs.replace(found, yearless=not year)

    def _ordinal(self, at: int) -> int | None:
        word = self.word(at)
        digits = word[:-2] if word[-2:] in ("st", "nd", "rd", "th") else word
        return int(digits) if digits.isdecimal() and 1 <= int(digits[:4]) <= 31 else None

    def _year(self, at: int) -> int | None:
        word = self.word(at)
        return int(word) if len(word) == 4 and word.isdecimal() and 1900 <= int(word) <= 2200 else None

    def _month_or_year(self, at: int, *, sure: bool) -> _Period | None:
        word = self.word(at)
        if word in _MONTHS:
            year = self._year(at + 1)
            if year or sure or (len(word) > 3 and word not in _SHORT):
                return self._month(_MONTHS[word], year, at + (2 if year else 1))
        year = self._year(at) if sure else None
        if year:
            return self._days(date(year, 1, 1), date(year + 1, 1, 1), str(year), at + 1, "in")
        return None

    def _month(self, month: int, year: int | None, behind: int) -> _Period:
        """A month; without a year, the last one of that name, or the next."""
        away = month - self.today.month
        turn = int(away < 0) if self.ahead else -int(away > 0)
        first = date(year or self.today.year + turn, month, 1)
        found = self._days(first, _months_on(first, 1), f"{first:%B %Y}", behind, "in")
        return msgspec.structs.replace(found, yearless=year is None)


def _months_on(day: date, months: int) -> date:
    number = day.year * 12 + day.month - 1 + months
    year, month = min(max(number // 12, 1), 9_998), number % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def _said(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
