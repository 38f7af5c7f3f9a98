"""Marks around the output of commands, files and programs: it is data, and never an instruction to a model."""

from __future__ import annotations

import re

from doorward import redact
from doorward.gate.result_text import NO_OUTPUT
from doorward.visible import storable

BEGINNING, END = "<data>", "</data>"
_ANY_MARK = re.compile(r"<(\s*+/?\s*+data\b)", re.IGNORECASE)


def marked(text: str) -> str:
    """Put a text between data marks. Secrets are redacted, and marks inside the text are escaped."""
    return f"{BEGINNING}\n{harmless(redact.text(storable(text)))}\n{END}"


def harmless(text: str) -> str:
    """Escape every data mark in a text, so that it can neither open nor close one."""
    return _ANY_MARK.sub(r"< \1", text)


def unmarked(text: str) -> str:
    """Return the text between data marks, empty for the no-output notice. A text without marks is returned as it is."""
    _, mark, rest = text.partition(f"{BEGINNING}\n")
    given = rest.rpartition(f"\n{END}")[0]
    return ("" if given == NO_OUTPUT else given) if mark else text
