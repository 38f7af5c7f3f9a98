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
    """Read a whole file in pages. Raises Unknown if it is too large or no text."""
    parts: list[str] = []
    offset, limit = 1, _FIRST_PAGE
    while True:
        (result,) = yield [read_step(context, path, offset=offset, limit=limit)]
        value = result.value if isinstance(result.value, dict) else {}
        content, size = value.get("content"), value.get("size")
        if not isinstance(content, str) or not isinstance(size, int) or value.get("encoding") == "base64":
            raise Unknown(
                f"I do not know how to read {sentences.name(path)}: its lines are too long, or it is no text."
            )
        if size > _MAX_BYTES:
            raise Unknown(f"I do not know: {sentences.name(path)} has {sentences.size(size)}, too much to read here.")
        parts.append(content)
        following = value.get("nextOffset")
        if not isinstance(following, int):
            return "".join(parts)
        offset = following
        limit = max(1, int(_PAGE_BYTES * offset / max(1, sum(len(one.encode()) for one in parts))))


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
