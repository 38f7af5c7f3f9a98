"""Whether a message is something that the house model has an answer to, before anybody makes a prompt of it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import UTC

from doorward.agents.house import knowledge
from doorward.agents.house.asking import is_told, talk
from doorward.agents.house.matching import matches
from doorward.agents.house.said import Said, said
from doorward.agents.house.seen import Seen, unaddressed
from doorward.agents.house.slots import Slots
from doorward.agents.models.model import Prompt

_FEW = 5
"""Words that may stand for a request without a verb, such as `git status`."""
_STATES = re.compile(
    r"(?:[\w'-]+[, ]+){1,4}?(?:is|are|was|were|has|have|had|will|would|must|should|can|could|may|might|does|did)\b",
    re.IGNORECASE,
)
"""A verb of a statement behind its first words."""
_NOTHING = Prompt(instructions="", turns=())


def concerns(text: str, names: Sequence[str] = ()) -> bool:
    """Whether a message asks for something that it knows, or says something that it has a reply to."""
    asked = unaddressed(text[: knowledge.LONGEST], names)
    if talk(asked) is not None:
        return True
    one = _said_now(asked)
    slots = Slots(one, Seen(_NOTHING), 0.0)
    if matches(slots, changes=True):
        return True
    return len(one.words) <= _FEW and not is_told(one) and bool(matches(slots))


def states(text: str, names: Sequence[str] = ()) -> bool:
    """Whether a message only states something, such as `Lunch is at noon.`, and asks for nothing."""
    one = _said_now(unaddressed(text[: knowledge.LONGEST], names))
    return is_told(one) or _STATES.match(one.text) is not None


def _said_now(text: str) -> Said:
    return said(text, float(int(time.time() // 60) * 60), UTC)
