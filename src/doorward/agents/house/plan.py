"""A plan: calls that are asked for, what came of them given back, and at the end what is to be told.

A plan is a generator. The model keeps nothing between answers: it makes the plan anew from the question, and gives it
the results so far, so that it comes to where it stood.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from doorward.agents.house import smalltalk
from doorward.agents.house.slots import Slots
from doorward.agents.house.telling import Asked, Got
from doorward.agents.models.model import ToolSpec


class Step(msgspec.Struct, frozen=True):
    """One call."""

    command: str
    params: dict[str, Any] = {}
    lookup: bool = False
    """Whether it only finds out what was meant: what was asked for comes after it."""


class Telling(msgspec.Struct, frozen=True):
    """What is to be told of what was got."""

    asked: Asked
    results: tuple[Got, ...]
    note: str = ""
    """A sentence that goes before it."""
    also: tuple[Telling, ...] = ()
    """What else was asked for in the same breath."""


End = Telling | str
Steps = Generator[list[Step], list[Got], End]


class Around(msgspec.Struct, frozen=True):
    """What a plan is made with: what was said, and what may be called."""

    slots: Slots
    tools: Mapping[str, ToolSpec]
    now: float

    def offered(self, *commands: str) -> str:
        """The first of some commands that may be called; empty when none may."""
        return next((one for one in commands if one in self.tools), "")

    def params(self, command: str) -> Mapping[str, Any]:
        """The parameters that a command takes."""
        properties = self.tools[command].schema.get("properties") if command in self.tools else None
        return properties if isinstance(properties, Mapping) else {}


class NotOffered(Exception):
    """What a plan needs may not be called here; the message names the commands."""


class Unknown(Exception):
    """A plan finds out that it does not know how; the message is a sentence for the asker."""


class Settled(Unknown):
    """The same, where it is clear what the request is about: nothing else can be meant by it."""


class Plan(msgspec.Struct, frozen=True):
    name: str
    asked: Asked
    steps: Steps
    score: float = 1.0
    reason: str = ""
    changes: bool = False
    guessed: bool = False
    """Whether it is only near to what was said, and not what that means."""


def advanced(plan: Plan, results: Sequence[Got]) -> list[Step] | End:
    """What a plan wants next, or what is to be told, given what came of its calls so far."""
    used = 0
    told: list[Got] = []
    """What is told where the results are others than the plan wanted: all but what was only looked up."""
    try:
        wanted = next(plan.steps)
        while used < len(results):
            batch = list(results[used : used + len(wanted)])
            if not _fits(batch[0], wanted[0]):
                break
            used += len(batch)
            told += [] if wanted[0].lookup else batch
            if any(one.status != "done" for one in batch):
                return Telling(plan.asked, tuple(batch))
            wanted = plan.steps.send(batch)
    except StopIteration as end:
        value: End = end.value
        return value
    except NotOffered as error:
        return smalltalk.not_offered(str(error))
    except Unknown as error:
        return str(error)
    if used < len(results):
        return Telling(plan.asked, (*told, *results[used:]))
    return wanted


def _fits(got: Got, step: Step) -> bool:
    """Whether a result is that of a call; one that was made under another name of the same command counts."""
    spelt = {step.command, step.command.replace("/", "_")}
    return got.command in spelt or got.command.replace("/", "_") in spelt


def items(got: Got) -> list[Any]:
    """The items of a result, if it has any."""
    value = got.value
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        return list(value["items"])
    return list(value) if isinstance(value, list) else []
