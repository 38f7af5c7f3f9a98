"""Sentences about results: quotations, numbers, sizes, times, and what became of a call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

import msgspec

from doorward.agents import tool_results
from doorward.agents.house.results import ToolResult
from doorward.agents.house.words import name_words
from doorward.core.escape_invisible import escape_invisible

_MAX_LINE = 300
_MAX_LINES = 60
_MAX_MESSAGE = 600
_MAX_PARAMS = 4
_MAX_INSIDE = 3
_MAX_SHOWN = 20
_LARGEST = 1e15
_MARKS = str.maketrans("“”", "''")
_ONE_WORD = re.compile(r"[\w@.+/-]{1,80}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_UNITS = ("kB", "MB", "GB", "TB", "PB")
_SIZE_FIELDS = frozenset(("size", "bytes", "bytesBefore", "bytesAfter"))
_YEARS = frozenset(("built", "founded", "born", "vintage", "since"))
_PLAIN_NUMBERS = frozenset(
    ("id", "year", "port", "version", "line", "position", "seq", "pid", "number", "phone", "code")
)


def quote(text: str, most: int = _MAX_LINES) -> str:
    """Return text of somebody else, marked as such on every line."""
    lines = escape_invisible(tool_results.escape_marks(text)).rstrip().splitlines() or ["(nothing)"]
    shown = [f"> {line[:_MAX_LINE]}" for line in lines[:most]]
    more = [f"({len(lines) - most:,} more lines)"] if len(lines) > most else []
    return "\n".join([*shown, *more])


def one_line(text: str, most: int = _MAX_LINE) -> str:
    line = escape_invisible(tool_results.escape_marks(" ".join(text[: most * 4].split())), lines=False)
    return line if len(line) <= most else f"{line[:most]}…"


def name(text: str, most: int = 120) -> str:
    """Return a name or value for a sentence, in quotation marks if it could be taken for several words of it."""
    line = one_line(text, most)
    return line if _ONE_WORD.fullmatch(line) else f"“{line.translate(_MARKS)}”"


def number(value: float | int) -> str:
    """Return a number with separators of thousands and at most two decimals."""
    if isinstance(value, int) or (value == value and abs(value) < _LARGEST and float(value).is_integer()):
        return f"{int(value):,}"
    if value != value or abs(value) >= _LARGEST:
        return f"{value:g}"
    return f"{value:.3g}" if abs(value) < 0.01 else f"{value:,.2f}"


def counted(count: int, one: str, many: str) -> str:
    return f"{number(count)} {one if count == 1 else many}"


def size(count: float | int) -> str:
    """Return a number of bytes in units that people use."""
    if count < 1000:
        return f"{number(count)} byte{'' if count == 1 else 's'}"
    amount = float(count)
    for unit in _UNITS:
        amount /= 1000
        if amount < 999.95 or unit == _UNITS[-1]:
            return f"{amount:.1f} {unit}".replace(".0 ", " ")
    return ""


def when(text: str, zone: tzinfo = UTC) -> str:
    """Return an ISO time as `16 November 2026 at 08:00`; any other text as it is."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    if _DAY.fullmatch(text):
        return f"{moment.day} {moment:%B %Y}"
    moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(zone)
    return f"{moment.day} {moment:%B %Y} at {moment:%H:%M}{' UTC' if zone is UTC else ''}"


def value(field: str, given: Any, zone: tzinfo = UTC) -> str:
    """Return the value of a field for a sentence."""
    if given is None or given == "":
        return "(none)"
    if isinstance(given, bool):
        return "yes" if given else "no"
    if isinstance(given, int | float):
        return _number_of(field, given)
    if isinstance(given, str):
        return when(given, zone) if _TIME.fullmatch(given) or _DAY.fullmatch(given) else name(given)
    if isinstance(given, list):
        inside = [value(field, one, zone) for one in given[:_MAX_INSIDE]]
        more = [f"{len(given) - _MAX_INSIDE:,} more"] if len(given) > _MAX_INSIDE else []
        return ", ".join([*inside, *more]) or "(none)"
    if isinstance(given, dict):
        inside = [f"{name(str(key))} {value(str(key), one, zone)}" for key, one in list(given.items())[:_MAX_INSIDE]]
        return f"({', '.join(inside)}{', …' if len(given) > _MAX_INSIDE else ''})" if inside else "(none)"
    return name(msgspec.json.encode(given).decode())


def _number_of(field: str, given: float | int) -> str:
    if field in _SIZE_FIELDS:
        return size(given)
    if field.endswith("Ms"):
        return f"{number(round(given, 1))} ms"
    words = name_words(field)
    is_year = bool(_YEARS & set(words)) and 1900 <= given <= 2100
    plain = "year" in words or is_year or (bool(words) and words[-1] in _PLAIN_NUMBERS)
    return str(given) if plain else number(given)


def field_words(field: str) -> str:
    """Return a field as people say it: `createdAt` is `created`, `durationMs` is `duration`."""
    parts = list(name_words(field))
    if len(parts) > 1 and parts[-1] in ("at", "ms"):
        parts = parts[:-1]
    return " ".join(parts) or name(field)


def in_a_row(names: Sequence[str], last: str = "and") -> str:
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else "".join(names)


def bullets(lines: Sequence[str], most: int = _MAX_SHOWN, total: int | None = None) -> str:
    """Return lines as a list; `total` is how many there are in all, if more than are given."""
    shown = [f"- {line}" for line in lines[:most]]
    more = max(total or 0, len(lines)) - len(shown)
    return "\n".join([*shown, *([f"({more:,} more not shown)"] if more > 0 else [])])


def describe_record(record: Any, first: Sequence[str] = (), leave: Sequence[str] = ()) -> str:
    """Return a record on one line: the fields named `first`, then the others that hold something."""
    if not isinstance(record, dict):
        return value("", record)
    order = [*(one for one in first if one in record), *(one for one in record if one not in first)]
    parts = [
        f"{field_words(one)} {value(one, record[one])}"
        for one in order
        if one not in leave and record[one] not in (None, "", [], {})
    ]
    return ", ".join(parts) or "(empty)"


def join_parts(parts: Sequence[str]) -> str:
    """Put sentences side by side, and lists on lines of their own."""
    text = ""
    for part in parts:
        if part:
            text += part if not text else f"\n\n{part}" if "\n" in part or "\n" in text else f" {part}"
    return text


def describe_end(result: ToolResult) -> str:
    """Describe a call that was refused, failed or waits, and why."""
    message = one_line(result.message, _MAX_MESSAGE) or "no reason was given"
    command = name(result.command)
    if result.status == "parked":
        ticket = f" Its ticket is {name(result.ticket)}." if result.ticket else ""
        return f"{_call(result)} waits for a person's approval; nothing has changed yet.{ticket}"
    if result.status == "failed":
        return f"{command} failed: {message}"
    if result.status == "refused":
        return f"I was not allowed to run {command}: {message}"
    return f"I did not run {command}: {message}"


def _call(result: ToolResult) -> str:
    given = [
        f"{key} {value(key, one)}"
        for key, one in list(result.params.items())[:_MAX_PARAMS]
        if one not in (None, "", [], {})
    ]
    return f"{name(result.command)} with {', '.join(given)}" if given else name(result.command)


_CHANGES = {
    "file/write": "I wrote {path}: it has {bytesAfter} now. It can be taken back with file/undo.",
    "file/edit": "I changed {path} in {replaced}: it has {bytesAfter} now. It can be taken back with file/undo.",
    "file/delete": "I deleted {path}, which had {bytesBefore}. It can be taken back with file/undo.",
    "file/undo": "I took it back: {path} is as it was before.",
    "undo": "I took back what {command} had done.",
    "room/say": "I said it.",
    "room/create": "I made the room {room}.",
    "data/create": "I added the record {id} to {collection}. It can be taken back with undo.",
    "data/update": "I changed the record {id} of {collection}. It can be taken back with undo.",
    "data/delete": "I deleted the record {id} of {collection}. It can be taken back with undo.",
}
_COUNTED = {"bytesAfter": ("byte", "bytes"), "bytesBefore": ("byte", "bytes"), "replaced": ("place", "places")}


def describe_change(result: ToolResult) -> str:
    """Describe what a call has changed; empty if its result does not say it."""
    values = {**result.params, **(result.value if isinstance(result.value, dict) else {})}
    said = {
        key: counted(one, *_COUNTED[key]) if key in _COUNTED and isinstance(one, int) else name(str(one))
        for key, one in values.items()
        if one is not None
    }
    try:
        return _CHANGES.get(result.command, "").format(**said)
    except KeyError:
        return ""


def describe_approval(results: Sequence[ToolResult]) -> str:
    return "A person agreed, and it is done." if any(one.approved for one in results) else ""


def describe_results(results: Sequence[ToolResult]) -> str:
    """Describe results that no plan asked for, such as those of calls that a person has approved meanwhile."""
    return join_parts([describe_approval(results), *(describe_result(one) for one in results)])


def describe_result(result: ToolResult) -> str:
    """Describe any result by its form."""
    if result.status != "done":
        return describe_end(result)
    changed = describe_change(result)
    if changed:
        return changed
    if result.value is None:
        return f"It gave:\n{quote(result.text)}" if result.text.strip() else f"{name(result.command)} gave nothing."
    if isinstance(result.value, dict) and "items" not in result.value:
        lines = [f"{field_words(key)}: {value(key, one)}" for key, one in result.value.items()]
        return f"{name(result.command)} gave:\n{bullets(lines)}"
    if isinstance(result.value, dict | list):
        items = result.items
        count = result.total if result.total is not None else len(items)
        head = f"There {'is' if count == 1 else 'are'} {counted(count, 'record', 'records')}"
        return f"{head}:\n{bullets([describe_record(one) for one in items], total=count)}" if items else f"{head}."
    return f"It gave {value('', result.value)}."


def not_offered(commands: str) -> str:
    return (
        f"That needs {commands}, which I am not offered here: the recipe of the room or the access that I act with "
        "leaves it out."
    )
