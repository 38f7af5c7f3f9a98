"""A CSV or log file as a table: its rows, read page by page and within bounds."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Generator
from datetime import UTC, datetime, tzinfo

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.file_query import read_step
from doorward.agents.house.plan import Step, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult

_FIRST_PAGE = 200
"""Lines of the first call, which tells how long the lines are."""
_PAGE_BYTES = 20_000
"""Bytes of the other calls; a longer result is cut."""
_MAX_BYTES = 200_000
_FORMATS = (",", ";", "\t", "|")
LEVELS = {
    "critical": ("CRITICAL", "FATAL"),
    "error": ("ERROR", "ERR", "SEVERE"),
    "warning": ("WARNING", "WARN"),
    "info": ("INFO",),
    "debug": ("DEBUG", "TRACE"),
}
_LEVEL = re.compile(rf"\b({'|'.join(word for words in LEVELS.values() for word in words)})\b")
_LEVEL_OF = {word: level for level, words in LEVELS.items() for word in words}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")

Text = Generator[list[Step], list[ToolResult], str]


class LogLine(msgspec.Struct, frozen=True):
    text: str
    level: str
    """A key of `LEVELS`; empty if the line names none."""
    at: datetime | None


def read_text(context: RequestContext, path: str) -> Text:
    """Read a whole file: its first lines, then the others in pages at once. Raises Unknown if that cannot be done."""
    (first,) = yield [read_step(context, path, offset=1, limit=_FIRST_PAGE)]
    value = first.value if isinstance(first.value, dict) else {}
    size, lines, following = value.get("size"), value.get("lines"), value.get("nextOffset")
    if isinstance(size, int) and size > _MAX_BYTES:
        raise Unknown(f"I do not know: {sentences.name(path)} has {sentences.size(size)}, too much to read here.")
    results = [first]
    if isinstance(following, int) and isinstance(lines, int) and isinstance(size, int):
        page = max(1, _PAGE_BYTES * lines // max(1, size))
        results += yield [read_step(context, path, offset=one, limit=page) for one in range(following, lines + 1, page)]
    contents = [one.value.get("content") if isinstance(one.value, dict) else None for one in results]
    pages = [one for one in contents if isinstance(one, str)]
    if not isinstance(lines, int) or len(pages) < len(results):
        raise Unknown(f"I do not know how to read {sentences.name(path)}: its lines are too long, or it is no text.")
    return "".join(pages)


def parse_csv(text: str) -> tuple[list[str], list[dict[str, str]]]:
    """Return the columns and the rows of a CSV file."""
    head = text.partition("\n")[0]
    delimiter = max(_FORMATS, key=head.count)
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(one.strip() for one in row)]
    if not rows:
        return [], []
    columns = [one.strip() for one in rows[0]]
    return columns, [dict(zip(columns, (one.strip() for one in row), strict=False)) for row in rows[1:]]


def parse_log(text: str, zone: tzinfo = UTC) -> list[LogLine]:
    """Return the lines of a log, with the level and the time that each names."""
    lines = []
    for one in text.splitlines():
        if not one.strip():
            continue
        level, moment = _LEVEL.search(one), _MOMENT.search(one)
        at = None
        if moment:
            try:
                at = datetime.fromisoformat(moment[0].replace(",", "."))
            except ValueError:
                at = None
        lines.append(
            LogLine(one, _LEVEL_OF[level[1]] if level else "", at.replace(tzinfo=at.tzinfo or zone) if at else None)
        )
    return lines


def number_of(text: str) -> float | None:
    """Return the number in a cell such as `1,250.00` or `€ 12`."""
    plain = re.sub(r"[\s€$£]|(?<=\d),(?=\d{3}\b)", "", text)
    return float(plain) if re.fullmatch(r"[+-]?\d+(?:\.\d+)?", plain) else None
