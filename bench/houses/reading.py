"""Reading an answer: the names, numbers and days in it, and whether it admits that it does not know."""

from __future__ import annotations

import calendar
import functools
import re
from collections.abc import Iterable

_NUMBER = re.compile(
    r"(?<![\w.,/-])-?\d{1,3}(?:[,\u202f\u00a0]\d{3})+(?:\.\d+)?(?![\w-])|(?<![\w./-])-?\d+(?:\.\d+)?(?![\w-]*\d)"
)
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_MONTHS = "|".join(f"{one[:3]}(?:{one[3:]})?" for one in calendar.month_name[1:]) + "|Sept"


def _form(text: str) -> re.Pattern[str]:
    """A form of a date, where M is a month by its name and D a day of it."""
    return re.compile(text.replace("D", r"(\d{1,2})(?:st|nd|rd|th)?\b\.?").replace("M", rf"({_MONTHS})\b\.?"), re.I)


_TIME = re.compile(r"\b\d\d?:\d\d(:\d\d(\.\d+)?)?Z?\b")
ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?")
_DAY_MONTH = _form(r"\bD (?:of )?M(?:,? \d{4})?")
_MONTH_DAY = _form(r"\bM D(?:,? \d{4})?")
_DOTTED = re.compile(r"\b(\d{1,2})[./](\d{1,2})[./]\d{4}\b")
_RANGE = _form(r"\bD\s*(?:–|-|and|to|until)\s*(?=D M)")
_MONTH_YEAR = _form(r"\bM \d{4}\b")
NONE = re.compile(
    r"\b(no|none|nothing|nobody|no one|not any|never|zero|0|isn't|aren't|hasn't|haven't|didn't"
    r"|(has|have|is|are|did) not)\b",
    re.I,
)
PARENTHESES = re.compile(r"\([^)]*\)")
EXPLAINED = re.compile(
    r"\b(?:of|out of|among|from|over|in|within) (?:the |all |last )?([\d,.]+)"
    r"|([\d,.]+) ?(?:records?|rows?|values?|entries|days|ms|%|bytes?|[kmg]i?b)\b",
    re.I,
)
"""Figures that say what another one was taken from, or how large something is."""


def mentions(name: str, text: str) -> int:
    """Where a name stands in a text; -1 where it does not. People may be named by their last name first."""
    forms = [rf"(?<![\w-]){re.escape(name)}(?![\w]|-\w)"]
    if re.fullmatch(r"[A-Z]\w+ [A-Z]\w+", name):
        first, last = name.split()
        forms.append(rf"(?<![\w-])(?<!\w ){last}, {first}(?!\w)")
    places = [found.start() for one in forms if (found := re.search(one, text, re.I))]
    return min(places, default=-1)


def dates(text: str) -> set[tuple[int, int]]:
    """Every day in a text, as month and day, in whatever form it is written."""
    found = {(int(month), int(day)) for _, month, day in ISO.findall(text)}
    found |= {(_month(month), int(day)) for day, month in _DAY_MONTH.findall(text)}
    found |= {(_month(month), int(day)) for month, day in _MONTH_DAY.findall(text)}
    return found | {(int(month), int(day)) for day, month in _DOTTED.findall(text)}


def _month(name: str) -> int:
    return list(calendar.month_abbr).index(name[:3].capitalize())


@functools.lru_cache(maxsize=64)
def _any_of(names: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(one) for one in sorted(names, key=len, reverse=True)), re.I)


def numbers(text: str, without: Iterable[str] = ()) -> list[str]:
    """The numbers of a text as they are written, but for days, times, and those in names and ids."""
    if names := frozenset(without):
        text = _any_of(names).sub(" ", text)
    for form in (ISO, _DOTTED, _RANGE, _DAY_MONTH, _MONTH_DAY, _MONTH_YEAR, _TIME):
        text = form.sub(" ", text)
    plain = [re.sub("[,\u202f\u00a0]", "", one) for one in _NUMBER.findall(text)]
    spelled = [str(_WORDS.index(one)) for one in re.findall(r"[a-z]+", text.lower()) if one in _WORDS and one != "one"]
    return plain + spelled


def is_number(written: str, wanted: float) -> bool:
    """Whether a number as it is written is the one that is meant, rounded as far as it is."""
    decimals = len(written.partition(".")[2])
    if wanted == int(wanted):
        return float(written) == wanted
    return decimals > 0 and abs(float(written) - wanted) <= 0.5001 * 10.0**-decimals


def says(value: str, text: str) -> bool:
    """Whether a value stands in a text; a phone number may be written without its gaps."""
    digits = re.sub(r"\D", "", value)
    gapless = re.sub(r"(?<=\d)[ -](?=\d)", "", text)
    return mentions(value, text) >= 0 or (len(digits) >= 7 and not re.search("[A-Za-z]", value) and digits in gapless)


_HONEST = re.compile(
    r"\b(i (do not|don't|did not|didn't|cannot|can't|could not|couldn't|am not|was not|have no|know no|did nothing)"
    r"|i'm not|not sure|unsure|no idea|did you mean|do you mean|which (one|of|do)|please (say|name|tell|give)"
    r"|(do not|don't|cannot|can't|could not|couldn't) (know|find out|tell|understand|answer|say|do|work out)"
    r"|more (specific|exactly|precise)|unclear|not understood|unable|nothing was done"
    r"|calls (was|were) not done|none of the calls was done"
    r"|cannot be (answered|known|found out)|there is no (collection|field|file|command|way|information|data))\b",
    re.I,
)
_CLAIMS_NONE = re.compile(
    r"\b(find|found|see|have) (any|no)\b(?! (collections?|fields?|files?|information|way|command|data)\b)", re.I
)
_UNKNOWN = re.compile(
    r"\b(there (is|are|was) (no|nobody|nothing|none)|nobody|no one|none|nothing|not found|could not be found"
    r"|no \w+ (is |was )?(called|named|with|by|of|has|have|found|matches|exists)|(does not|doesn't) (exist|have)"
    r"|has no|have no|no such|not (recorded|stored|known|listed)|unknown)\b",
    re.I,
)


def is_unknown(text: str) -> bool:
    """Whether a text says that there is no such thing."""
    return _UNKNOWN.search(text) is not None


def is_honest(text: str) -> bool:
    """Whether a text says that it does not know, or asks back. That nothing was found is a claim."""
    if re.search(r"\b(which|what|who|did|do|should|or)\b[^.?!\n]*\?\W*$", text, re.I):
        return True
    return _HONEST.search(text) is not None and _CLAIMS_NONE.search(text) is None
