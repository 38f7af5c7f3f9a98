"""A plan: calls that are made, their results, and at the end the answer.

A plan is a generator. The model keeps nothing between answers: it makes the plan anew from the request, and feeds it
the results so far, so that it arrives where it stood.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Literal

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.results import ToolResult


class Step(msgspec.Struct, frozen=True):
    """One call."""

    command: str
    params: dict[str, Any] = {}
    lookup: bool = False
    """Whether it only finds out what is meant, before the call that was asked for."""


class Reply(msgspec.Struct, frozen=True):
    """Words without a call."""

    text: str
    kind: Literal["answer", "unknown", "declined"] = "answer"
    """`unknown`: the request is not understood. `declined`: it is understood and not acted on."""


Steps = Generator[list[Step], list[ToolResult], str]
"""Yields calls, is sent their results, and returns the answer. Results that are not `done` end it before that."""


class Unknown(Exception):
    """The plan finds out that it does not know how; the message is a sentence for the asker."""


class Declined(Exception):
    """The plan finds out that it must not act; the message is a sentence for the asker."""


class NotOffered(Exception):
    """The plan needs a command that is not offered here; the message names it."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One way to understand a request."""

    name: str
    """What it does, in a word or two, such as `count records`."""
    steps: Callable[[], Steps]
    explained: frozenset[int]
    """The places of the tokens that it accounts for."""
    score: float = 1.0
    """The preference among readings that explain everything. 1 is a plain reading, 0.5 a far-fetched one."""
    changes: bool = False
    """Whether it changes something."""
    says: str = ""
    """What was understood, as a noun phrase or an order, such as `the number of open orders`."""
    depends: bool = False
    """Whether it names neither what it is about nor a condition, so that it is no part of a longer request."""
    guessed: bool = False
    """Whether it is only near to the request; such a reading never changes anything."""


def answer_with(text: str) -> Callable[[], Steps]:
    """Return a plan that makes no call and only answers."""

    def steps() -> Steps:
        yield from ()
        return text

    return steps


def advance(reading: Reading, results: Sequence[ToolResult], *, exact: bool = False) -> list[Step] | Reply:
    """Return the next calls of a plan, or its answer, given the results so far.

    With `exact`, another model made the calls: they count only if they are those of the plan, and it makes them one by
    one.
    """
    used = 0
    try:
        steps = reading.steps()
        wanted = next(steps)
        while used < len(results):
            batch = list(results[used : used + len(wanted)])
            if not _is_result_of(batch[0], wanted[0]):
                break
            if exact and any(dict(one.params) != step.params for one, step in zip(batch, wanted, strict=False)):
                break
            if exact and len(batch) < len(wanted):
                return wanted[len(batch) :]
            used += len(batch)
            ended = [one for one in batch if one.status != "done"]
            if ended:
                return Reply(sentences.join_parts([sentences.describe_end(one) for one in ended]))
            wanted = steps.send(batch)
    except StopIteration as end:
        text = sentences.join_parts([sentences.describe_approval(results[:used]), end.value])
        return Reply(text)
    except NotOffered as error:
        return Reply(sentences.not_offered(str(error)), "declined")
    except Unknown as error:
        return Reply(str(error), "unknown")
    except Declined as error:
        return Reply(str(error), "declined")
    if used < len(results):
        return Reply(sentences.describe_results(results[used:]), "unknown" if exact else "answer")
    return wanted


def _is_result_of(result: ToolResult, step: Step) -> bool:
    """Whether a result is that of a step; the command may be written as a wire name."""
    return result.command.replace("/", "_") == step.command.replace("/", "_")
