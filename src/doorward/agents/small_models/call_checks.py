"""Checks of the calls of small models before they run, and what they are told."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doorward.agents.calls.parsed import ParsedCall
from doorward.core.names import normalise

NO_COMMANDS = "No command fits. Answer that you cannot do it, or try other words."
REPEATED = (
    "It was not made again: you made this same call before, and its result is above. Answer with that result now, or "
    "say that you do not know."
)
UNUSED_RESULT = (
    "Your answer was not sent: the last result is not empty. Use it: answer the request with what it says, or make the "
    "next call that the request needs."
)
_UNKNOWN_ID = (
    "It was not made: no result holds this id. Look up the id of the record first, with a query for it, and then make "
    "the change with that id."
)
_RECORD_CHANGES = frozenset(map(normalise, ("data/update", "data/delete")))


def check_id(call: ParsedCall, texts: Sequence[str]) -> str:
    """Refuse to change a record whose id is in none of the texts: a small model guesses ids."""
    given = dict(call.args) if call.args is not None else call.params or {}
    id = given.get("id")
    if normalise(call.name) not in _RECORD_CHANGES or id is None:
        return ""
    pattern = re.compile(rf"(?<![\w-]){re.escape(str(id))}(?![\w-])")
    return "" if any(pattern.search(text) for text in texts) else _UNKNOWN_ID
