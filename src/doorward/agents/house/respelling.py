"""A request once more, when the names of the house's collections and fields are known: they are mistyped as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC

import msgspec

from doorward.agents.house.fields import Table, parts, singular
from doorward.agents.house.plan import Around
from doorward.agents.house.said import said
from doorward.agents.house.slots import Slots
from doorward.agents.house.wording.mending import corrected, is_right


def respelled(around: Around, tables: Sequence[Table]) -> Around:
    """What a plan is made with, where a word that is none is read as the name that it is near to."""
    one = around.slots.said
    names = frozenset(_names(tables))
    text, moved = one.text, 0
    for word in one.words:
        right = word.lower if is_right(word.lower) else corrected(word.lower, names)
        if word.shape == "word" and right != word.lower:
            text = f"{text[: word.start + moved]}{right}{text[word.end + moved :]}"
            moved += len(right) - (word.end - word.start)
    if text == one.text:
        return around
    slots = around.slots
    again = Slots(said(text, slots.now, UTC), slots.seen, slots.now, slots.caught)
    return msgspec.structs.replace(around, slots=again)


def _names(tables: Iterable[Table]) -> Iterable[str]:
    for table in tables:
        last = table.name.rpartition(".")[2].lower()
        yield from (last, singular(last))
        for field in table.fields:
            yield from (part for part in parts(field) if len(part) > 3)
