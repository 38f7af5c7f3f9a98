"""A request that is like an example of how people say something becomes the plan for what that means.

The guards hold for what was really said: an example never makes a change of a sentence that asks for none, and what
stands beside a request in the same message may speak against it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from doorward.agents.house import knowledge
from doorward.agents.house.entities import Comparison, Reading, stem
from doorward.agents.house.entities.knowledge import vocabulary
from doorward.agents.house.phrasing import Found, found
from doorward.agents.house.phrasing.items import of_said, sharp
from doorward.agents.house.plan import Plan
from doorward.agents.house.said import Said, said
from doorward.agents.house.wording import Worded, worded
from doorward.agents.house.wording.masking import Masked

if TYPE_CHECKING:
    from doorward.agents.house.understanding import Mind

_SURE = 0.86
"""From here on an example is nearer than any other way to read a request."""
_PART = 0.05
"""What it costs that an example is like a part of the message only."""
_NARROW = {"span": "time", "age": "time", "size": "size", "path": "path", "glob": "path", "command": "path"}
_NARROW |= {"quoted": "quoted", "id": "id", "kind": "kind"}
"""What narrows a request, wherever it stands, and what it may become in other words."""
_ORDERS = knowledge.words("likening: orders")
_LOOKS = knowledge.words("likening: looks")
_ASKS_ABOUT = knowledge.form("likening: asks about")
_ONES = knowledge.form("likening: ones")
_WORD = re.compile(r"[a-z]+")
_HAPPENED, _POSSIBLE = "told what happened", "possible"
_NAMED = re.compile(r"^\S*[/.]\S+(?= )")
_HARMLESS = knowledge.form("likening: harmless")
"""A `no` that is not said to what is asked for: what is no longer needed, what has nothing in it."""
_UNDO = "undo that"
"""To take something back is also what somebody asks for who says no, or tells what happened; a question is not."""


class Likened(msgspec.Struct, frozen=True):
    plan: Plan | str
    sure: bool


class _Way(msgspec.Struct, frozen=True):
    """One way to read a message."""

    text: str
    cost: float = 0.0
    may_change: bool = False


def likened(mind: Mind, text: str) -> Likened | None:
    """The plan of the nearest example; None where none is near, or where what it means cannot be planned."""
    near = nearest(mind, text)
    if near is not None and not near.means:
        return Likened(mind.unknown(said(text, mind.now, mind.zone)), near.score >= _SURE)
    made = mind.read(near.means) if near is not None else None
    if near is None or made is None or (isinstance(made, str) and not made.startswith("@")):
        return None
    if isinstance(made, Plan) and made.changes is not near.frame.changes:
        return None
    return Likened(made, near.score >= _SURE)


def nearest(mind: Mind, text: str) -> Found | None:
    """The example that is nearest to one of the ways in which a message may be read."""
    best: Found | None = None
    follows = bool(mind.seen.earlier)
    for way in _ways(mind, text):
        one = said(way.text, mind.now, mind.zone)
        near = found(one, mind.tools, follows=follows, but=lambda each: each.frame.changes and _only_asks(text, each))
        if (
            near is not None
            and not near.frame.changes
            and (_speaks_of_a_change(one, near) or _is_of_another_state(one, near, mind))
        ):
            continue
        if near is None or (near.frame.changes and not way.may_change and near.means != _UNDO):
            continue
        near = msgspec.structs.replace(near, score=near.score - way.cost)
        if best is None or near.score > best.score:
            best = near
    return best


def _only_asks(text: str, near: Found) -> bool:
    """Whether a message looks, wonders or waits for something where no example of the change does."""
    if near.means == _UNDO and _ASKS_ABOUT.match(text.strip()):
        return True
    known = " ".join(near.frame.says).lower().split()
    return any(word in _LOOKS and word not in known for word in _WORD.findall(Masked(text).text.lower()))


def _speaks_of_a_change(one: Said, near: Found) -> bool:
    """Whether a request has a verb that changes something and the example has it not: then it wants no look."""
    known = near.says.lower().split()
    if one.words and one.words[0].lower in _ORDERS and one.words[0].lower != known[0]:
        return True
    return any(word.lower in _ORDERS and word.lower not in known for word in one.words)


def _is_of_another_state(one: Said, near: Found, mind: Mind) -> bool:
    """Whether a request speaks of how things are, such as `denied`, where the example speaks of them otherwise."""
    own = _states(one)
    if not own:
        return False
    theirs = _states(said(f"{near.says} {near.means}", mind.now, mind.zone))
    return any(key in theirs and not conditions <= theirs[key] for key, conditions in own.items())


def _states(one: Said) -> dict[tuple[str, str], set[str]]:
    """What is said about how things of the house are: by collection and field, its values."""
    found: dict[tuple[str, str], set[str]] = {}
    for value in knowledge.things().values:
        if value.collection and one.places(knowledge.phrases(value.words)):
            found.setdefault((value.collection, value.field), set()).add(str(value.condition))
    return found


def _ways(mind: Mind, text: str) -> Iterator[_Way]:
    """The message whole, then what is left of it without the talk around it."""
    whole, known = said(text, mind.now, mind.zone).reading, worded(text)
    asks = "?" in Masked(text).text
    calm = whole if asks else said(_HARMLESS.sub("", text), mind.now, mind.zone).reading
    free = known.calm and (_is_free(calm) or _plainly_ordered(mind, known))
    for one in dict.fromkeys((text, known.mended, known.whole)):
        yield _Way(one, may_change=free)
    order = known.order
    if order is not None and order.request and not whole.held_back:
        beside = said(order.beside, mind.now, mind.zone).reading.held_back if order.beside.strip() else ""
        asked = said(_HARMLESS.sub("", order.request), mind.now, mind.zone).reading
        happened = _whys(_HAPPENED)
        yield _Way(
            order.request,
            _PART if order.beside.strip() else 0.0,
            may_change=_is_free(asked) and beside in {"", *happened},
        )
    if len(known.mended.split()) > _FEW:
        for reading in known.readings:
            part = said(reading, mind.now, mind.zone)
            if 3 * len(reading) > len(text) and not leaves_out(mind, known.whole, part, words=True):
                yield _Way(reading, _PART)


def _plainly_ordered(mind: Mind, known: Worded) -> bool:
    """Whether one part of a message asks plainly for a change, and the others only say what it is to be.

    `drafts/a.md should be called drafts/b.md, please rename it`: by itself a `should` asks for nothing.
    """
    order = known.order
    if (
        order is None
        or not order.beside.strip()
        or "?" in Masked(known.mended).text
        or not _is_free(said(_HARMLESS.sub("", order.request), mind.now, mind.zone).reading)
    ):
        return False
    beside = said(_HARMLESS.sub("", _NAMED.sub("this", order.beside)), mind.now, mind.zone).reading
    return {beside.held_back, beside.changes_nothing} <= {"", *_whys(_HAPPENED, _POSSIBLE)}


def _whys(*names: str) -> set[str]:
    return {one.why for one in vocabulary().guards if one.name in names}


def leaves_out(mind: Mind, whole: str, part: Said, *, words: bool = False) -> bool:
    """Whether a reading lacks what was said beside it and narrows it: a time, a name of a file, an id.

    With `words`, also those that turn the meaning, such as `each` and `not`.
    """
    whole_items = of_said(said(whole, mind.now, mind.zone), mind.tools)
    part_items = of_said(part, mind.tools)
    if Counter(_NARROW[item.kind] for item in whole_items if item.kind in _NARROW) - Counter(
        _NARROW[item.kind] for item in part_items if item.kind in _NARROW
    ):
        return True
    there = {each.stem for each in part.words}
    if any(stem(word) not in there for word in _conditions(said(whole, mind.now, mind.zone))):
        return True
    keys = {key for item in part_items for key in item.keys}
    return words and any(item.keys & sharp() and not item.keys & keys for item in whole_items)


def _conditions(one: Said) -> list[str]:
    """The words that say which are meant, wherever they stand: `the status is paid`, `the open ones`."""
    compared = [each.value for each in one.all("compare") if isinstance(each.value, Comparison)]
    values = [each.value for each in compared if each.field and isinstance(each.value, str)]
    words = [word for value in values for word in value.lower().split()]
    return words + [found["which"].lower() for found in _ONES.finditer(one.text)]


def _is_free(reading: Reading) -> bool:
    """Whether nothing in it speaks against a change."""
    return not reading.held_back and not reading.changes_nothing


_FEW = 4
"""Words that are a request and nothing around it."""
