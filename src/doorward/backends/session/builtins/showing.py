"""How built-ins show lists: names in columns, tables, sizes and times as people read them."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from doorward.visible import visible

_UNITS = "BKMGTP"
_HALF_A_YEAR = 15_778_476
_GAP = "  "


def human(size: int) -> str:
    """A size with a unit: 512, 1.5K, 20M."""
    amount, unit = float(size), 0
    while amount >= 1_000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1_024, unit + 1
    if not unit:
        return str(size)
    return f"{amount:.1f}{_UNITS[unit]}" if amount < 9.95 else f"{amount:.0f}{_UNITS[unit]}"


def when(iso: str, now: float) -> str:
    """A time as lists of files show it: the hour of what is recent, the year of what is not."""
    if not iso:
        return "-"
    at = datetime.fromisoformat(iso).astimezone(UTC)
    recent = abs(now - at.timestamp()) < _HALF_A_YEAR
    return f"{at:%b} {at.day:>2} {at:%H:%M}" if recent else f"{at:%b} {at.day:>2}  {at:%Y}"


def shown(name: str) -> str:
    """A name that hides nothing and stays on its line."""
    return visible(name, lines=False)


def width(text: str) -> int:
    """How many columns of a screen a text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else not unicodedata.combining(one) for one in text)


def padded(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))


def in_columns(names: Sequence[str], columns: int) -> str:
    """Names down the columns of a screen, as many columns as fit; one a line where there is no screen."""
    if not names:
        return ""
    if not columns:
        return "".join(f"{name}\n" for name in names)
    widths = [width(name) for name in names]
    for rows in range(1, len(names) + 1):
        parts = [widths[at : at + rows] for at in range(0, len(names), rows)]
        if sum(max(part) for part in parts) + len(_GAP) * (len(parts) - 1) <= columns or rows == len(names):
            break
    wide = [max(part) for part in parts]
    lines = []
    for row in range(rows):
        cells = [padded(name, wide[at]) for at, name in enumerate(names[row::rows])]
        lines.append(_GAP.join(cells).rstrip() + "\n")
    return "".join(lines)


def table(rows: Sequence[Mapping[str, Any]], fields: Sequence[str] = (), *, widest: int = 0) -> str:
    """Objects as a table: a head, and a line for each. Cells wider than `widest` are cut with an ellipsis."""
    names = list(fields) or list(dict.fromkeys(name for row in rows for name in row))
    if not names or not rows:
        return ""
    lines = [[shown(name) for name in names]] + [[_cell(row.get(name), widest) for name in names] for row in rows]
    wide = [max(width(line[at]) for line in lines) for at in range(len(names))]
    whole = [_GAP.join(padded(cell, wide[at]) for at, cell in enumerate(line)).rstrip() for line in lines]
    return "\n".join(whole) + "\n"


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _cell(value: Any, widest: int) -> str:
    if value is None:
        return ""
    text = shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if not widest or len(text) <= widest else f"{text[: widest - 1]}…"
