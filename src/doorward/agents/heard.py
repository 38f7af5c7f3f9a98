"""Parse the calls in a model's answer, and tell the model about calls that cannot be parsed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doorward.agents.answering import Answer
from doorward.agents.calls.native import native
from doorward.agents.calls.reading import read_aside
from doorward.agents.calls.wanted import Reading, Wanted
from doorward.agents.models.model import Turn
from doorward.command import Command

_MOST_FAULTS = 20
_INTENT = re.compile(
    r"\b(?:i['\u2019]?ll|i will|i am going to|i['\u2019]?m going to|let me|i can|i would|i['\u2019]?d|running|executing"
    r"|i (?:have )?(?:run|ran|executed|called|used)|using the|call(?:ing)? the|use the)\b",
    re.IGNORECASE,
)


async def heard(got: Answer) -> tuple[Reading, list[tuple[str, str]]]:
    """Parse the calls of an answer: its native tool calls or, without those, the calls written in its text.

    Also returns the unreadable calls, each as the provider's call id (may be empty) and the reason.
    """
    if not got.asked:
        reading = await read_aside(got.text)
        return reading, [("", fault) for fault in reading.faults]
    calls: list[Wanted] = []
    faults: list[tuple[str, str]] = []
    for asked in got.asked:
        found = native(asked)
        if isinstance(found, str):
            faults.append((asked.id, found))
        else:
            calls.append(found)
    return Reading(calls=tuple(calls), prose=got.text.strip()), faults


def told_of(faults: Sequence[tuple[str, str]]) -> list[Turn]:
    """Report unreadable calls to the model."""
    told = [Turn(role="result", text=fault, answers=id) for id, fault in faults[:_MOST_FAULTS]]
    if len(faults) > _MOST_FAULTS:
        left = len(faults) - _MOST_FAULTS
        told.append(Turn(role="result", text=f"{left} more calls in this answer cannot be read."))
    return told


def only_talks(text: str, offered: Sequence[Command]) -> bool:
    """Whether an answer without a call announces or claims that it runs a command, by name."""
    if not _INTENT.search(text):
        return False
    words = set(re.findall(r"[A-Za-z][\w/.-]*\w", text))
    return any("/" in one.name and (one.name in words or one.wire in words) for one in offered)


def correction(hidden_from: str) -> str:
    """Tell a model that it mentioned a command without calling it. `hidden_from` names who did not see the answer."""
    return (
        f"Nothing was run: your answer mentions a command but contains no call, and {hidden_from} did not see it. Call "
        "the tool, or write the call on a line of its own: EXECUTE: command --name=value. If no command is needed, "
        "answer without mentioning one."
    )
