"""The words of others, marked so that nothing in them is taken for the house's own, or for a call."""

from __future__ import annotations

import re

from doorward.agents import tool_results
from doorward.core.escape_invisible import escape_invisible

_LONGEST = 300
_MOST_LINES = 60
_MARKS = str.maketrans("“”", "''")
_ONE_WORD = re.compile(r"[\w@.+/-]{1,80}")


def quoted(text: str, most: int = _MOST_LINES) -> str:
    """What somebody else wrote, marked as such on every line."""
    lines = escape_invisible(tool_results.escape_marks(text)).rstrip().splitlines() or ["(nothing)"]
    shown = [f"> {line[:_LONGEST]}" for line in lines[:most]]
    more = [f"({len(lines) - most:,} more lines)"] if len(lines) > most else []
    return "\n".join([*shown, *more])


def one_line(text: str, most: int = _LONGEST) -> str:
    """A text on one line and not too long."""
    line = escape_invisible(tool_results.escape_marks(" ".join(text[: most * 4].split())), lines=False)
    return line if len(line) <= most else f"{line[:most]}…"


def name(text: str, most: int = 120) -> str:
    """A name or value in a sentence, in quotation marks where it could be taken for several words of it."""
    line = one_line(text, most)
    return line if _ONE_WORD.fullmatch(line) else f"“{line.translate(_MARKS)}”"
