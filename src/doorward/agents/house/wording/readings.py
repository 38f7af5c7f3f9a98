"""The ways in which a message may be read, the likeliest first."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from doorward.agents.house.wording.knowledge import early, pattern, rules, wordings
from doorward.agents.house.wording.masking import Masked
from doorward.agents.house.wording.mending import mended
from doorward.agents.house.wording.referring import counted
from doorward.agents.house.wording.turning import turned
from doorward.agents.house.wording.unwrapping import bare, ordered, unwrapped, wishes

_MOST = 6
_LONGEST = 1_200
"""Characters of a message that is looked at so closely; longer ones are no requests in passing."""


class Ordered(msgspec.Struct, frozen=True):
    """A part of a message that may ask for a change, freed of nothing but courtesy, and what was said beside it."""

    request: str
    beside: str


class Worded(msgspec.Struct, frozen=True):
    mended: str
    """The message with its mistakes mended."""
    readings: tuple[str, ...]
    """What may be asked for, the likeliest first. The message itself is the last of them."""
    whole: str
    """The whole of it in the order and the verbs that are known: whatever a reading lacks of this, it leaves out."""
    calm: bool
    """Whether nothing beside the request speaks against changing something."""
    order: Ordered | None = None
    """What is plainly asked to be done, if something is."""


@lru_cache(maxsize=64)
def worded(text: str) -> Worded:
    if len(text) > _LONGEST or "\n" in text.strip():
        return Worded(text, (text,), text, True)
    right = mended(text)
    masked = Masked(right)
    masked.text = _turned(masked.text)
    found = unwrapped(masked.text)
    told = wishes(found.request) or wishes(masked.text)
    ways = [masked.text, found.request] if found.narrows else [found.request]
    ways = [*told, *ways] if found.told else [*ways, *told]
    named = [] if found.narrows else counted(found.request, found.beside)
    ways = [*named, *ways, bare(masked.text), masked.text]
    made: list[str] = []
    for way in ways:
        made += (
            [masked.back(reworded(way)), masked.back(way)] if way is not masked.text else [masked.back(reworded(way))]
        )
    calm = pattern(wordings().stops).search(found.beside) is None
    plain = ordered(masked.text)
    order = None
    if plain is not None and pattern(wordings().stops).search(plain[1]) is None:
        order = Ordered(masked.back(reworded(plain[0])), masked.back(plain[1]))
    readings = dict.fromkeys(one.strip(" ,;:") for one in (*made, right) if one.strip(" ,;:?.!"))
    ones = (*list(readings)[:_MOST], *((text,) if not readings else ()))
    return Worded(right, ones, masked.back(masked.text), calm, order)


def _turned(text: str) -> str:
    """A message in which what narrows the request stands behind it: `in May, how many …` as `how many … in May`."""
    text = turned(text)
    for rule, means in early():
        text = rule.sub(means, text)
    found = pattern(wordings().fronted).match(text)
    if found is None:
        return text
    narrows = found["a"][0].lower() + found["a"][1:]
    return f"{found['b']} {narrows}{found['c']}"


def reworded(text: str) -> str:
    """A request in the words that are known for it."""
    for rule, means in rules():
        text = rule.sub(means, text)
    return " ".join(text.split())
