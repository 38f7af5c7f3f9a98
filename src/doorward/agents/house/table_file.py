"""The text of a CSV or log file: which file a request means, and its content, read in pages."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Generator

from doorward.agents.house import sentences
from doorward.agents.house.file_names import FileNames
from doorward.agents.house.file_query import read_step
from doorward.agents.house.plan import Step, Unknown
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.word_claims import WordClaims

_FIRST_PAGE = 200
"""Lines of the first call, which tells how long the lines are."""
_PAGE_BYTES = 20_000
"""Bytes of the other calls; a longer result is cut."""
_MAX_BYTES = 200_000


def choose_file(
    context: RequestContext, names: FileNames, claims: WordClaims, suffixes: tuple[str, ...], noun: str
) -> tuple[str, float]:
    """Return the one file with these endings that a request means, and how surely."""
    named = names.files or names.choices
    fitting = [one for one in named or context.conversation.files if one.lower().endswith(suffixes)]
    if len(names.files) > 1:
        return "", 0.0
    if named:
        return (fitting[0], 1.1) if len(fitting) == 1 else ("", 0.0)
    inside = [one for one in fitting if names.folder in ("", ".") or one.startswith(f"{names.folder}/")]
    folder_says_it = noun == "log_file" and names.folder.rpartition("/")[2] in ("log", "logs")
    if len(inside) == 1 and (claims.claim(noun) or folder_says_it):
        return inside[0], 0.9 if context.offered("debug/logs") and noun == "log_file" else 1.0
    return "", 0.0


def read_text(context: RequestContext, path: str) -> Generator[list[Step], list[ToolResult], str]:
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
    delimiter = max(",;\t|", key=text.partition("\n")[0].count)
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(one.strip() for one in row)]
    columns, *others = [[one.strip() for one in row] for row in rows] or [[]]
    return columns, [dict(zip(columns, row, strict=False)) for row in others]


def number_of(text: str) -> float | None:
    """Return the number in a cell such as `1,250.00` or `€ 12`."""
    plain = re.sub(r"[\s€$£]|(?<=\d),(?=\d{3}\b)", "", text)
    return float(plain) if re.fullmatch(r"[+-]?\d+(?:\.\d+)?", plain) else None
