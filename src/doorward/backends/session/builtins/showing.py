"""How built-ins show lists: names in columns, tables, sizes and times as people read them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from doorward.visible import visible

_UNITS = "BKMGTP"
_HALF_A_YEAR = 15_778_476
_GAP = "  "
_NARROWEST = 16
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z")
_WIDEST_CELLS = (48, 40, 32, 24, 20)
"""How wide the widest cell may be on a screen: the first with which a table fits. Ids and times are shorter."""
_WIDEST = 200
"""Columns of a table are at most so wide: one long cell would fill every other line with as many blanks."""


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
    fitting = (columns + len(_GAP)) // (min(widths) + len(_GAP)) if max(widths) <= columns else 1
    for beside in range(max(1, min(fitting, len(names))), 0, -1):
        rows = -(-len(names) // beside)
        parts = [widths[at : at + rows] for at in range(0, len(names), rows)]
        if sum(max(part) for part in parts) + len(_GAP) * (len(parts) - 1) <= columns:
            break
    wide = [max(part) for part in parts]
    lines = []
    for row in range(rows):
        cells = [padded(name, wide[at]) for at, name in enumerate(names[row::rows])]
        lines.append(_GAP.join(cells).rstrip() + "\n")
    return "".join(lines)


def table(rows: Sequence[Mapping[str, Any]], fields: Sequence[str] = (), *, columns: int = 0) -> str:
    """Objects as a table: a head, and a line for each.

    On a screen of so many columns long cells are cut with an ellipsis. Where that does not make it fit, each object
    stands by itself, with a line for each of its fields.
    """
    names = list(fields) or list(dict.fromkeys(name for row in rows for name in row))
    if not names or not rows:
        return ""
    lines = [[shown(name) for name in names]] + [[_cell(row.get(name), columns) for name in names] for row in rows]
    widths = [max(width(line[at]) for line in lines) for at in range(len(names))]
    room = columns - len(_GAP) * (len(names) - 1)
    widest = next((one for one in _WIDEST_CELLS if sum(min(one, each) for each in widths) <= room), 0)
    if columns and not widest:
        return _one_by_one(lines, columns)
    wide = [min(widest if columns else _WIDEST, one) for one in widths]
    if columns:
        lines = [[_cut(cell, wide[at]) for at, cell in enumerate(line)] for line in lines]
    whole = [_GAP.join(padded(cell, wide[at]) for at, cell in enumerate(line)).rstrip() for line in lines]
    return "\n".join(whole) + "\n"


def wrapped(text: str, columns: int, indent: int) -> str:
    """A text on lines of at most so many columns, broken between words; all but the first are indented."""
    room = max(columns - indent, _NARROWEST)
    lines, line = [], ""
    for word in text.split():
        if line and width(line) + 1 + width(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return f"\n{' ' * indent}".join([*lines, line])


def _one_by_one(lines: Sequence[Sequence[str]], columns: int) -> str:
    """Each object as a block; fields that it does not have are left out."""
    head, *rest = lines
    widest = max(map(width, head))
    room = max(columns - widest - len(_GAP), _NARROWEST)
    blocks = []
    for line in rest:
        fields = [(name, cell) for name, cell in zip(head, line, strict=True) if cell]
        blocks.append("".join(f"{padded(name, widest)}{_GAP}{_cut(cell, room)}\n" for name, cell in fields))
    return "\n".join(blocks)


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _cell(value: Any, columns: int) -> str:
    """On a screen times are as people read them; where a program may read them, as they are."""
    if value is None:
        return ""
    if columns and isinstance(value, str) and (time := _TIME.fullmatch(value)):
        return f"{time[1]} {time[2]}"
    return shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _cut(text: str, widest: int) -> str:
    while width(text) > widest:
        text = f"{text[: min(len(text) - 2, widest - 1)]}…"
    return text
