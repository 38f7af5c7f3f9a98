"""Results of tool calls as a model reads them, marked as data that is never an instruction."""

from __future__ import annotations

import re

from doorward.core import redact
from doorward.core.escape_invisible import to_storable
from doorward.core.model import Outcome
from doorward.gate.result_text import NO_OUTPUT

DATA_START, DATA_END = "<data>", "</data>"
_ANY_MARK = re.compile(r"<(\s*+/?\s*+data\b)", re.IGNORECASE)


def mark_as_data(text: str) -> str:
    """Put a text between data marks. Secrets are redacted, and marks inside the text are escaped."""
    return f"{DATA_START}\n{escape_marks(redact.text(to_storable(text)))}\n{DATA_END}"


def escape_marks(text: str) -> str:
    """Escape every data mark in a text, so that it can neither open nor close one."""
    return _ANY_MARK.sub(r"< \1", text)


def extract_data(text: str) -> str:
    """Return the text between data marks, empty for the no-output notice. A text without marks is returned as it is."""
    _, mark, rest = text.partition(f"{DATA_START}\n")
    given = rest.rpartition(f"\n{DATA_END}")[0]
    return ("" if given == NO_OUTPUT else given) if mark else text


def extract_blocks(text: str) -> str:
    """Return everything that stands between data marks, without the text between the blocks."""
    parts = text.split(f"{DATA_START}\n")[1:]
    return "\n".join(one.partition(f"\n{DATA_END}")[0] for one in parts)


def describe_outcome(outcome: Outcome) -> str:
    """Return the status in Doorward's words, followed by the output between data marks."""
    if outcome.status == "parked":
        return f"{outcome.message} You get the result when a person has decided. Do not make this call again."
    state = f"{outcome.command}: {outcome.status}" + (f" ({outcome.code})" if outcome.status != "done" else "")
    hint = f"\n{outcome.hint}" if outcome.hint and outcome.hint not in outcome.text else ""
    return f"{state}.\n{mark_as_data(outcome.text + hint)}"
