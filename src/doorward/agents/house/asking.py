"""How something is said: as a request, as small talk, or as a statement that asks for nothing."""

from __future__ import annotations

import re

from doorward.agents.house import knowledge
from doorward.agents.house.said import Said

_STATEMENT = knowledge.form("asking: statement")
_ASKS = knowledge.form("asking: asks")


_BEGINS = knowledge.form("asking: begins")


def is_told(one: Said) -> bool:
    """Whether a request is none: it tells something, and asks for nothing."""
    text = one.text
    if (
        "?" in one.whole
        or _BEGINS.match(one.whole.strip())
        or (_ASKS.match(text) and not re.match(r"what is in .{1,60} (?:must|should)\b", text, re.IGNORECASE))
    ):
        return False
    return _STATEMENT.match(text) is not None


def talk(text: str) -> str | None:
    """The reply to what needs no call: its text, or `@` and what is to be said."""
    for reply in knowledge.smalltalk().replies:
        if any(knowledge.compiled(pattern).search(text) for pattern in reply.patterns):
            return reply.text or f"@{reply.say}"
    return None
