"""Prints results as tables on a terminal."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from doorward.core.escape_invisible import escape_invisible

_LONGEST_CELL = 200
_LONGEST_NAME = 20
_LONGEST_ID = 20
_LONGEST_WORD = 12
"""Minimum width of a column with longer words; those are folded."""
_EMPTY_VALUES: tuple[Any, ...] = (None, "", [], {})


def show_table(value: Any) -> None:
    console = Console(highlight=False)
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        _print_rows(console, value["items"])
        rest = {key: one for key, one in value.items() if key != "items" and one not in (None, "", [], {})}
        if rest:
            _print_fields(console, rest)
    elif isinstance(value, dict):
        _print_fields(console, value)
    else:
        console.print(Text(_format_cell(value, whole=True)))


def _print_rows(console: Console, items: list[Any]) -> None:
    if not items:
        console.print(Text("Nothing found.", style="dim"))
        return
    if not all(isinstance(item, dict) for item in items):
        for item in items:
            console.print(Text(_format_cell(item)))
        return
    columns = list(dict.fromkeys(key for item in items for key in item))
    if _least_width(columns, items) > console.width:
        for item in items:
            console.print(_make_field_table({key: one for key, one in item.items() if one not in _EMPTY_VALUES}))
            console.print()
    else:
        console.print(_make_table(columns, items))
    console.print(Text(f"{len(items)} item{'' if len(items) == 1 else 's'}", style="dim"))


def _make_table(columns: list[str], items: list[dict[str, Any]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        words = {len(_format_cell(item.get(column)).split()) for item in items}
        longest = max((len(_format_cell(item.get(column))) for item in items), default=0)
        # An id is easier to copy in one piece.
        whole = column == columns[0] and words == {1} and longest <= _LONGEST_ID
        table.add_column(Text(escape_invisible(column)), overflow="fold", no_wrap=whole)
    for item in items:
        table.add_row(*(Text(_format_cell(item.get(column))) for column in columns))
    return table


def _least_width(columns: list[str], items: list[dict[str, Any]]) -> int:
    """Return the least width at which the table is readable, with most words unbroken."""
    widths = [2 * (len(columns) - 1)]
    for column in columns:
        words = (len(word) for item in items for word in _format_cell(item.get(column)).split())
        widths.append(max(len(column), min(max(words, default=0), _LONGEST_WORD)))
    return sum(widths)


def _print_fields(console: Console, fields: dict[str, Any]) -> None:
    """Print names and values. A word too long for a line, such as a token, is printed below, unbroken for copying."""
    words = {key: value for key, value in fields.items() if _is_long_word(value, console.width - _LONGEST_NAME)}
    console.print(_make_field_table({key: value for key, value in fields.items() if key not in words}))
    for key, word in words.items():
        console.print(Text(f"{escape_invisible(key)}:", style="bold"))
        console.print(Text(escape_invisible(word)), soft_wrap=True)


def _is_long_word(value: Any, longest: int) -> bool:
    return isinstance(value, str) and len(value) > longest and len(value.split()) == 1


def _make_field_table(fields: dict[str, Any]) -> Table:
    """Return a table of names and values; a nested object becomes a nested table."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for key, value in fields.items():
        table.add_row(Text(escape_invisible(key)), _render_value(value))
    return table


def _render_value(value: Any) -> Table | Text:
    if isinstance(value, dict) and value:
        return _make_field_table(value)
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        columns = dict.fromkeys(key for one in value for key in one)
        return _make_table([key for key in columns if any(one.get(key) not in _EMPTY_VALUES for one in value)], value)
    return Text(_format_cell(value, whole=True).rstrip("\n"))


def _format_cell(value: Any, *, whole: bool = False) -> str:
    if value is None or value in ([], (), {}):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        value = ", ".join(value)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = escape_invisible(text, lines=whole)
    return text if whole or len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}…"
