"""Whether an answer says what it must: numbers, names and sizes, in whatever words they stand."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bench.questions.facts import Fact, Size

_NUMBER = re.compile(r"(?<![\w.])-?\d{1,3}(?:[,\u202f]\d{3})+(?:\.\d+)?(?![\w])|(?<![\w.])-?\d+(?:\.\d+)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(T[\d:.]+Z?)?|\d\d?:\d\d(:\d\d(\.\d+)?)?")
"""Full of numbers that count nothing."""
_SIZE = re.compile(r"(\d+(?:[.,]\d+)*)\s*(bytes?|[kmg]i?b?)\b", re.IGNORECASE)
_UNITS = {"k": 1, "m": 2, "g": 3}
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NOTHING = re.compile(r"\b(no|none|nothing|nobody|zero|0|not any|empty)\b", re.IGNORECASE)
_NEAR = 0.06
"""Megabytes are counted by thousands or by 1,024, and rounded."""


def missing(figure: str, facts: Mapping[str, Fact], answer: str) -> str:
    """What of a figure the answer does not say; empty when it says it. Bars stand between ways to be right."""
    wanted = figure.split("|") if "$" in figure else [figure]
    return "" if any(_says(_fact(one, facts), answer) for one in wanted) else f"{figure} = {_shown(wanted, facts)}"


def _fact(name: str, facts: Mapping[str, Fact]) -> Fact:
    return facts[name[1:]] if name.startswith("$") else name


def _shown(wanted: list[str], facts: Mapping[str, Fact]) -> str:
    return " or ".join(str(_fact(one, facts)) for one in wanted)


def _says(fact: Fact, answer: str) -> bool:
    if isinstance(fact, Size):
        return _says_size(fact.bytes, answer)
    if isinstance(fact, str):
        return any(_says_word(one, answer) for one in fact.split("|"))
    if isinstance(fact, list):
        return all(_says(one, answer) for one in fact) if fact else _NOTHING.search(answer) is not None
    return _says_number(float(fact), answer)


def _says_word(word: str, answer: str) -> bool:
    left = r"(?<!\w)" if word[:1].isalnum() else ""
    right = r"(?!\w)" if word[-1:].isalnum() else ""
    return re.search(f"{left}{re.escape(word)}{right}", answer, re.IGNORECASE) is not None


def _says_number(wanted: float, answer: str) -> bool:
    if wanted == 0 and _NOTHING.search(answer):
        return True
    if wanted == int(wanted) and 0 <= wanted < len(_WORDS) and _says_word(_WORDS[int(wanted)], answer):
        return True
    return any(_is(found, wanted) for found in _NUMBER.findall(_TIME.sub(" ", answer)))


def _is(found: str, wanted: float) -> bool:
    """Whether a number as it is written is the one that is meant, rounded as far as it is."""
    plain = re.sub("[,\u202f]", "", found)
    decimals = len(plain.partition(".")[2])
    if wanted == int(wanted):
        return float(plain) == wanted
    return decimals > 0 and abs(float(plain) - wanted) <= 0.5001 * 10.0**-decimals


def _says_size(wanted: int, answer: str) -> bool:
    if _says_number(float(wanted), answer):
        return True
    for digits, unit in _SIZE.findall(answer):
        try:
            number = float(digits.replace(",", ""))
        except ValueError:
            continue
        power = _UNITS.get(unit[0].lower(), 0)
        if any(abs(number * base**power - wanted) <= _NEAR * wanted for base in (1_000, 1_024)):
            return True
    return False
