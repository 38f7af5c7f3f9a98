"""Marking what is information and no instruction: what commands, files and programs gave."""

from __future__ import annotations

import re

from doorward import redact
from doorward.gate.present import NO_OUTPUT
from doorward.visible import storable

BEGINNING, END = "<data>", "</data>"
_ANY_MARK = re.compile(r"<(\s*+/?\s*+data\b)", re.IGNORECASE)


def marked(text: str) -> str:
    """A text between marks, without secrets, and unable to end its marks itself."""
    return f"{BEGINNING}\n{harmless(redact.text(storable(text)))}\n{END}"


def harmless(text: str) -> str:
    """A text that can neither begin nor end such marks."""
    return _ANY_MARK.sub(r"< \1", text)


def unmarked(text: str) -> str:
    """What stands between the marks, which is nothing where that says so; a text without marks is given as it is."""
    _, mark, rest = text.partition(f"{BEGINNING}\n")
    given = rest.rpartition(f"\n{END}")[0]
    return ("" if given == NO_OUTPUT else given) if mark else text
