"""Which files were asked for, in words, so that every answer says what it is about."""

from __future__ import annotations

from doorward.agents.house.filing import Wanted
from doorward.agents.house.plan import Around
from doorward.agents.house.telling.figures import size as told_size
from doorward.agents.house.telling.quoting import name

_SIZES = {"gt": "over {}", "gte": "of at least {}", "lt": "under {}", "lte": "of at most {}"}
_SIZES |= {"eq": "of {}", "ne": "of another size than {}"}


def one_of(kind: str) -> str:
    """One file of a kind that is called by many."""
    return kind[:-1] if kind.endswith("s") else kind


def when(around: Around) -> str:
    span, age = around.slots.span(), around.slots.age()
    return span.says if span is not None else age.says if age is not None else ""


def conditions(around: Around, which: Wanted) -> str:
    """What is said of files besides their kind and their age."""
    parts: list[str] = []
    if which.globs and not around.slots.kinds():
        parts.append(f"called {' or '.join(name(one) for one in which.globs)}")
    if which.size is not None:
        parts.append(_SIZES[which.size.op].format(told_size(int(which.size.amount))))
    if around.slots.span() is not None:
        parts.append("changed")
    return " ".join(parts)
