"""Whether a message is something that the house model has an answer to, before anybody makes a prompt of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC

from doorward.agents.house import knowledge
from doorward.agents.house.asking import is_told, talk
from doorward.agents.house.matching import matches
from doorward.agents.house.said import said
from doorward.agents.house.seen import Seen, unaddressed
from doorward.agents.house.slots import Slots
from doorward.agents.models.model import Prompt

_FEW = 5
"""Words that may stand for a request without a verb, such as `git status`."""
_NOTHING = Prompt(instructions="", turns=())


def concerns(text: str, names: Sequence[str] = ()) -> bool:
    """Whether a message asks for something that it knows, or says something that it has a reply to."""
    asked = unaddressed(text[: knowledge.LONGEST], names)
    if talk(asked) is not None:
        return True
    one = said(asked, float(int(time.time() // 60) * 60), UTC)
    slots = Slots(one, Seen(_NOTHING), 0.0)
    if matches(slots, changes=True):
        return True
    return len(one.words) <= _FEW and not is_told(one) and bool(matches(slots))
