"""Numbers, sizes and times in people's words."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from doorward.agents.house.telling.knowledge import tellers
from doorward.agents.house.telling.quoting import name

_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_UNITS = ("kB", "MB", "GB", "TB", "PB")
_MOST_INSIDE = 3
_LARGEST = 1e15


def number(value: float | int) -> str:
    """A number with separators of thousands, and with as many decimals as it has, up to two."""
    if isinstance(value, int) or (value == value and abs(value) < _LARGEST and float(value).is_integer()):
        return f"{int(value):,}"
    if value != value or abs(value) >= _LARGEST:
        return f"{value:g}"
    if abs(value) < 0.01:
        return f"{value:.3g}"
    return f"{value:,.2f}"


def size(count: float | int) -> str:
    """A number of bytes in units that people use."""
    if count < 1000:
        return f"{number(count)} byte{'' if count == 1 else 's'}"
    amount = float(count)
    for unit in _UNITS:
        amount /= 1000
        if amount < 999.95 or unit == _UNITS[-1]:
            return f"{amount:.1f} {unit}".replace(".0 ", " ")
    return ""


def zone_named(name: str) -> tzinfo:
    """A time zone by its name; UTC where there is none of that name."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ValueError, OSError, KeyError):
        return UTC


def when(text: str, zone: tzinfo = UTC) -> str:
    """A time as it is written in results, as `16 November 2026 at 08:00`; anything else as it is."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    if _DAY.fullmatch(text):
        return f"{moment.day} {moment:%B %Y}"
    moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(zone)
    behind = " UTC" if zone is UTC else ""
    return f"{moment.day} {moment:%B %Y} at {moment:%H:%M}{behind}"


def is_time(value: Any) -> bool:
    return isinstance(value, str) and _ISO.fullmatch(value) is not None


def value(field: str, given: Any, zone: tzinfo = UTC) -> str:
    """The value of a field in a sentence."""
    if given is None or given == "":
        return "(none)"
    if isinstance(given, bool):
        return "yes" if given else "no"
    if isinstance(given, int | float):
        return _number_of(field, given)
    if isinstance(given, str):
        return when(given, zone) if is_time(given) or _DAY.fullmatch(given) else name(given)
    if isinstance(given, list):
        inside = [value(field, one, zone) for one in given[:_MOST_INSIDE]]
        return (
            ", ".join([*inside, f"{len(given) - _MOST_INSIDE:,} more"] if len(given) > _MOST_INSIDE else inside)
            or "(none)"
        )
    if isinstance(given, dict):
        inside = [f"{name(str(key))} {value(str(key), one, zone)}" for key, one in list(given.items())[:_MOST_INSIDE]]
        return f"({', '.join(inside)}{', …' if len(given) > _MOST_INSIDE else ''})" if inside else "(none)"
    return name(msgspec.json.encode(given).decode())


def _number_of(field: str, given: float | int) -> str:
    rules = tellers()
    if field in rules.sizes:
        return size(given)
    if field.endswith("Ms"):
        return f"{number(round(given, 1))} ms"
    last = _WORDS.findall(field)
    if field in rules.plain_numbers or (last and last[-1].lower() in rules.plain_numbers):
        return str(given)
    return number(given)


def field_words(field: str) -> str:
    """A field as people say it: `createdAt` is `created`, `durationMs` is `duration`."""
    parts = [one.lower() if not one.isupper() or len(one) == 1 else one for one in _WORDS.findall(field)]
    if len(parts) > 1 and parts[-1] in ("at", "ms"):
        parts = parts[:-1]
    return " ".join(parts) or name(field)


def in_a_row(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
