"""One plan after another: the first that comes to an end with what it found is the one that was meant.

Whether a word is a value of some record shows only when the records were looked at. So a plan that finds out that it
does not know a word gives way to the next one, and what was looked up once is not looked up again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import TypeGuard

import msgspec

from doorward.agents.house.plan import End, NotOffered, Plan, Settled, Step, Steps, Unknown
from doorward.agents.house.telling import Got

_MOST = 3
"""Plans that are tried when the first does not know a word."""


def tried(first: Plan, others: Iterator[Plan | str | None], *, settles: bool = False) -> Plan:
    """One plan after the other, until one does not find out that it does not know something. None of them changes.

    Where it `settles`, one that knows what the request is about is the last, though it does not know all of it.
    """

    def steps() -> Steps:
        got: dict[bytes, Got] = {}
        failed: Exception | None = None
        said = ""
        for plan in chain((first,), islice((one for one in others if _looks(one)), _MOST)):
            try:
                wanted = next(plan.steps)
                while True:
                    new = [step for step in wanted if _key(step) not in got]
                    results = (yield new) if new else []
                    got.update(zip(map(_key, new), results, strict=False))
                    wanted = plan.steps.send([got[_key(step)] for step in wanted])
            except StopIteration as stop:
                end: End = stop.value
                if not isinstance(end, str):
                    return end
                said = said or end
            except (Unknown, NotOffered) as error:
                failed = failed or error
                if settles and isinstance(error, Settled):
                    break
        if said or failed is None:
            return said
        raise failed

    return Plan(first.name, first.asked, steps(), first.score, first.reason, first.changes)


def _looks(made: Plan | str | None) -> TypeGuard[Plan]:
    return isinstance(made, Plan) and not made.changes


def _key(step: Step) -> bytes:
    return msgspec.json.encode((step.command, step.params), order="deterministic")
