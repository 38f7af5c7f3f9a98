"""Which of the ways to read a message is meant: the first that comes to an end with what it found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from doorward.agents.house import taught
from doorward.agents.house.asking import is_told, talk
from doorward.agents.house.entities.knowledge import vocabulary
from doorward.agents.house.likening import leaves_out, likened
from doorward.agents.house.plan import Plan
from doorward.agents.house.said import said
from doorward.agents.house.trying import tried
from doorward.agents.house.wording import worded
from doorward.agents.house.wording.unwrapping import unwrapped

if TYPE_CHECKING:
    from doorward.agents.house.understanding import Mind

_BESIDE = ("told not to", "told not to, first", "what is not so", "told what happened")
"""Guards that speak only of the part of a message in which they stand, where nothing is changed."""

_ASKED = ("how to", "what is not so", "told what happened")
"""Guards that do not speak against looking something up for an answer."""
_FEW = 2
_HAPPENED = ("told what happened",)
"""What may be said beside a request for a change."""


def chosen(mind: Mind, text: str) -> Plan | str:
    """The plan for a message in the wording that is understood, or what is said instead."""
    one = said(text, mind.now, mind.zone)
    whole, found = one.reading, worded(text)
    if (talk(text) is not None and not _asks_too(text)) or taught.plan(mind.around(one)) is not None:
        return mind.read(text)
    if not whole.english or not text.strip() or not found.readings:
        return mind.read(text)
    # Whatever in the whole message speaks against a change, no other wording of it makes one.
    only_looks = bool(whole.held_back or whole.changes_nothing) or not found.calm
    told = is_told(one) and not (found.order is not None and found.order.beside)
    near = likened(mind, text) if whole.held_back in ("", *_lenient(_ASKED)) and not told else None
    if near is not None and near.sure:
        ways = _ways(mind, found.whole, found.readings, only_looks=True)
        others = iter(()) if whole.held_back else ways
        return near.plan if isinstance(near.plan, str) or near.plan.changes else tried(near.plan, others)
    plain = _plain_change(mind, text)
    if plain is not None:
        return plain
    if whole.held_back and (whole.held_back not in _lenient() or whole.of("path", "quoted")):
        return mind.read(text)
    ways = chain(
        _ways(mind, found.whole, found.readings, only_looks=only_looks), (near.plan,) if near is not None else ()
    )
    sentence = ""
    for made in ways:
        if isinstance(made, Plan):
            return made if made.changes else tried(made, ways)
        if made.startswith("@"):
            return made
        sentence = sentence or made
    return mind.read(text) if whole.held_back or not sentence else sentence


def _asks_too(text: str) -> bool:
    """Whether more was said than what there is a ready reply to: `Thank you. How many of them are open?`"""
    rest = unwrapped(text).request
    return rest != text.strip() and len(rest.split()) > _FEW and talk(rest) is None and rest[-1:] == text.strip()[-1:]


def _plain_change(mind: Mind, text: str) -> Plan | None:
    """The change that a part of a message plainly asks for, where nothing said beside it speaks against that."""
    part = worded(text).order
    if part is None or not part.request:
        return None
    beside = said(part.beside, mind.now, mind.zone).reading if part.beside.strip() else None
    if beside is not None and beside.held_back not in ("", *_lenient(_HAPPENED)):
        return None
    made = mind.read(part.request)
    if not isinstance(made, Plan) or not made.changes:
        return None
    one = said(part.request, mind.now, mind.zone).reading
    # To take something back is what a `no` asks for.
    return made if not one.held_back and (made.name == "undo" or not one.changes_nothing) else None


def _ways(mind: Mind, whole: str, readings: Sequence[str], *, only_looks: bool) -> Iterator[Plan | str]:
    """What is made of each reading, one after the other, as far as they are needed."""
    for reading in readings:
        if leaves_out(mind, whole, said(reading, mind.now, mind.zone)):
            continue
        made = mind.read(reading)
        if not (isinstance(made, Plan) and made.changes and only_looks):
            yield made


def _lenient(names: Sequence[str] = _BESIDE) -> frozenset[str]:
    return frozenset(one.why for one in vocabulary().guards if one.name in names)
