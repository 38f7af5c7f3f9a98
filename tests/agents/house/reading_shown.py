"""Readings in short, for tables of what a request holds."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from doorward.agents.house import entities

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 16, 15, 0, tzinfo=ZONE).timestamp()


def read(text: str, *names: str) -> entities.Reading:
    return entities.read(text, NOW, ZONE, names=names)


def found(text: str) -> str:
    return "; ".join(shown(one) for one in read(text).found)


def shown(entity: entities.Entity) -> str:
    """A find on one line. A field in brackets is one that no word such as `with` introduced."""
    value = entity.value
    match value:
        case entities.Span():
            text = f"{entity.kind} {_clock(value.since)}..{_clock(value.until)} {value.about}"
        case entities.Compare():
            text = f"{entity.kind} {value.op} {value.amount:.0f} {value.about}"
        case entities.Limit():
            by = f" by {value.by} {_way(value.descending)}" if value.by else ""
            text = f"limit {value.n} {value.end}".rstrip() + by
        case entities.Kind():
            text = f"kind {' '.join(value.globs)}"
        case entities.Comparison():
            field = value.field if value.introduced or not value.field else f"({value.field})"
            given = "" if value.value is None else f" {value.value!r}"
            text = f"compare {field or '-'} {value.op}{given}{'' if value.also else ' instead'}"
        case entities.Group():
            text = f"group {value.field}"
        case entities.Order():
            text = f"order {value.field or '-'} {_way(value.descending)}" + (f" of {value.of}" if value.of else "")
        case entities.Measure():
            text = f"measure {value.fn} {value.field}"
        case _:
            text = f"{entity.kind} {value!r}"
    return text.rstrip()


def _way(descending: bool) -> str:
    return "down" if descending else "up"


def _clock(seconds: float | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, ZONE).strftime("%Y-%m-%d %H:%M")
