"""Whether a message is for the house model, before a prompt is made of it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import UTC

from doorward.agents.house import mood, smalltalk
from doorward.agents.house.conversation import Conversation, strip_address
from doorward.agents.house.plan import Reading
from doorward.agents.house.request import MAX_REQUEST
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.understanding import read
from doorward.agents.models.model import ChatTurn, Prompt

_MAX_WORDS = 5
"""Words that may stand for a request without a verb, such as `git status`."""
_STATES = re.compile(
    r"(?:[\w'-]+[, ]+){1,4}?(?:is|are|was|were|has|have|had|will|would|must|should|can|could|may|might|does|did)\b",
    re.IGNORECASE,
)
"""A verb of a statement behind its first words."""
_VERDICT = re.compile(r"(?:approve|deny)\b", re.IGNORECASE)
_TOLD = re.compile(
    r"(?:i|we|he|she|they|it|there|this|that|these|those|the|my|our|everything|everybody|everyone|nobody)\b",
    re.IGNORECASE,
)


def concerns(text: str, names: Sequence[str] = ()) -> bool:
    """Whether a message asks for something that is known, or is small talk that has a reply."""
    asked = strip_address(text[:MAX_REQUEST], names)
    if smalltalk.find_answer(asked) is not None or (mood.is_order(asked) and not _VERDICT.match(asked)):
        return True
    if len(asked.split()) > _MAX_WORDS or states(asked):
        return False
    prompt = Prompt(instructions="", turns=(ChatTurn(role="user", text=asked),))
    return isinstance(read(RequestContext(Conversation(prompt), asked, time.time(), UTC)), Reading)


def states(text: str, names: Sequence[str] = ()) -> bool:
    """Whether a message only states something, such as `Lunch is at noon.`, and asks for nothing."""
    asked = strip_address(text[:MAX_REQUEST], names)
    return "?" not in asked and (_TOLD.match(asked) is not None or _STATES.match(asked) is not None)
