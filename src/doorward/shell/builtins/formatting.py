"""Text formatting for built-ins: columns, tables, sizes and times."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from doorward.core.escape_invisible import escape_invisible

_UNITS = "BKMGTP"
_HALF_A_YEAR = 15_778_476
_GAP = "  "
_NARROWEST = 16
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z")
_WIDEST_CELLS = (48, 40, 32, 24, 20)
"""Maximum cell widths on a screen; the first with which a table fits is used. Ids and times are shorter."""
_WIDEST = 200
"""Maximum width of a column, because one long cell would pad every other line with as many blanks."""


def format_size(size: int) -> str:
    """Format a size with a unit: 512, 1.5K, 20M."""
    amount, unit = float(size), 0
    while amount >= 1_000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1_024, unit + 1
    if not unit:
        return str(size)
    return f"{amount:.1f}{_UNITS[unit]}" if amount < 9.95 else f"{amount:.0f}{_UNITS[unit]}"


def format_time(iso: str, now: float) -> str:
    """Format a time as ls does: recent times with the hour, older ones with the year."""
    if not iso:
        return "-"
    at = datetime.fromisoformat(iso).astimezone(UTC)
    recent = abs(now - at.timestamp()) < _HALF_A_YEAR
    return f"{at:%b} {at.day:>2} {at:%H:%M}" if recent else f"{at:%b} {at.day:>2}  {at:%Y}"


def escape_name(name: str) -> str:
    """Escape invisible characters and line ends of a name."""
    return escape_invisible(name, lines=False)


def text_width(text: str) -> int:
    """The width of a text in screen columns."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else not unicodedata.combining(one) for one in text)


def pad(text: str, columns: int) -> str:
    return text + " " * (columns - text_width(text))


def format_columns(names: Sequence[str], columns: int) -> str:
    """Arrange names in as many columns as fit on the screen; one per line when there is no screen."""
    if not names:
        return ""
    if not columns:
        return "".join(f"{name}\n" for name in names)
    widths = [text_width(name) for name in names]
    fitting = (columns + len(_GAP)) // (min(widths) + len(_GAP)) if max(widths) <= columns else 1
    for beside in range(max(1, min(fitting, len(names))), 0, -1):
        rows = -(-len(names) // beside)
        parts = [widths[at : at + rows] for at in range(0, len(names), rows)]
        if sum(max(part) for part in parts) + len(_GAP) * (len(parts) - 1) <= columns:
            break
    wide = [max(part) for part in parts]
    lines = []
    for row in range(rows):
        cells = [pad(name, wide[at]) for at, name in enumerate(names[row::rows])]
        lines.append(_GAP.join(cells).rstrip() + "\n")
    return "".join(lines)


def format_table(rows: Sequence[Mapping[str, Any]], fields: Sequence[str] = (), *, columns: int = 0) -> str:
    """Format objects as a table with a header line.

    On a screen, long cells are truncated with an ellipsis. When the table still does not fit, each object becomes a
    block with one line per field.
    """
    names = list(fields) or list(dict.fromkeys(name for row in rows for name in row))
    if not names or not rows:
        return ""
    lines = [[escape_name(name) for name in names]] + [
        [_format_cell(row.get(name), columns) for name in names] for row in rows
    ]
    widths = [max(text_width(line[at]) for line in lines) for at in range(len(names))]
    room = columns - len(_GAP) * (len(names) - 1)
    widest = next((one for one in _WIDEST_CELLS if sum(min(one, each) for each in widths) <= room), 0)
    if columns and not widest:
        return _format_blocks(lines, columns)
    wide = [min(widest if columns else _WIDEST, one) for one in widths]
    if columns:
        lines = [[_truncate(cell, wide[at]) for at, cell in enumerate(line)] for line in lines]
    whole = [_GAP.join(pad(cell, wide[at]) for at, cell in enumerate(line)).rstrip() for line in lines]
    return "\n".join(whole) + "\n"


def wrap_text(text: str, columns: int, indent: int) -> str:
    """Wrap a text between words to lines of at most `columns`; all lines but the first are indented."""
    room = max(columns - indent, _NARROWEST)
    lines, line = [], ""
    for word in text.split():
        if line and text_width(line) + 1 + text_width(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return f"\n{' ' * indent}".join([*lines, line])


def _format_blocks(lines: Sequence[Sequence[str]], columns: int) -> str:
    """Format each object as a block, without its empty fields."""
    head, *rest = lines
    widest = max(map(text_width, head))
    room = max(columns - widest - len(_GAP), _NARROWEST)
    blocks = []
    for line in rest:
        fields = [(name, cell) for name, cell in zip(head, line, strict=True) if cell]
        blocks.append("".join(f"{pad(name, widest)}{_GAP}{_truncate(cell, room)}\n" for name, cell in fields))
    return "\n".join(blocks)


def format_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _format_cell(value: Any, columns: int) -> str:
    """Format a cell. Times are readable on a screen and unchanged in a pipe, where a program may parse them."""
    if value is None:
        return ""
    if columns and isinstance(value, str) and (time := _TIME.fullmatch(value)):
        return f"{time[1]} {time[2]}"
    return escape_name(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _truncate(text: str, widest: int) -> str:
    while text_width(text) > widest:
        text = f"{text[: min(len(text) - 2, widest - 1)]}…"
    return text
