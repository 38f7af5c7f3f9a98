"""What is known about wordings: mistakes, short forms, courtesy, and other words for the same. All of it is data."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import TypeVar

import msgspec

from doorward.agents.house import knowledge
from doorward.agents.house.wording.masking import compiled

_T = TypeVar("_T")
_PART = re.compile(r"\{(\w+)\}")


class Spellings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    abbreviations: dict[str, str]
    """Short forms and what they stand for; an empty one says nothing."""
    misspellings: dict[str, str]
    """Mistakes that are more than one letter off, or that stand in short words."""
    common: str
    """Words that people write, which are right and may be meant by a mistake."""
    kept: str
    """Words that are right as well, though nothing is mended towards them."""


class Wordings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    parts: dict[str, str]
    """Pieces of patterns, by the name that stands for them between braces."""
    openings: tuple[str, ...]
    """What stands before a request and asks for nothing itself."""
    closings: tuple[str, ...]
    """What stands behind one."""
    breaks: tuple[str, ...]
    """Where something else begins: the part behind is looked at by itself."""
    asides: tuple[str, ...]
    """Parts of a message that hold no request, whatever they say."""
    tags: tuple[str, ...]
    """Parts that only ask to do what the part before says."""
    embedded: tuple[str, ...]
    """How somebody tells of a wish: what it is stands in the group `wish`."""
    orders: tuple[str, ...]
    """Courtesy before a request that takes nothing from it: whoever says this wants it done."""
    ordered: str
    """The same behind one."""
    places: str
    """How a part begins that narrows the request, and is no talk beside it."""
    fronted: str
    """What narrows a request and stands before it (`a`), so that it can be put behind it (`b`)."""
    early: tuple[tuple[str, str], ...]
    """Other verbs and turns for the same, put into the known ones before the request is looked for in a message."""
    stops: str
    """Talk beside a request that speaks against changing anything."""
    rules: tuple[tuple[str, str], ...]
    """Other words for the same, first to last, each with what it means."""


class Turns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How what ought to be is said."""

    looks: dict[str, str]
    """Verbs that look, with the participles that stand for each."""
    changes: dict[str, str]
    """The same of verbs that change something."""
    names: dict[str, str]
    """Verbs with the nouns that stand for each, such as `removal`."""
    ought: str
    """What stands before a participle and asks for it."""
    wished: str
    """What is said of something that is wished for."""
    front: str
    """What narrows a request and stands before it."""
    made: str
    """How something begins that is to be made, and not shown."""
    doubt: str
    """What speaks against taking it for a change that is asked for."""
    others: str
    """What a change is not said of plainly."""


@cache
def turns() -> Turns:
    return _loaded("turns.json", Turns)


@cache
def spellings() -> Spellings:
    return _loaded("spellings.json", Spellings)


@cache
def wordings() -> Wordings:
    return _loaded("wordings.json", Wordings)


def _loaded(name: str, type: type[_T]) -> _T:
    text = resources.files(knowledge.__package__).joinpath("knowledge", name).read_bytes()
    return msgspec.json.decode(text, type=type)


def pattern(text: str) -> re.Pattern[str]:
    """A pattern with its parts in the place of their names."""
    parts = wordings().parts
    for _ in range(4):
        text = _PART.sub(lambda found: f"(?:{parts[found[1]]})" if found[1] in parts else found[0], text)
    return compiled(text)


@cache
def patterns(which: str) -> tuple[re.Pattern[str], ...]:
    return tuple(pattern(one) for one in getattr(wordings(), which))


@cache
def early() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((pattern(one), means) for one, means in wordings().early)


@cache
def rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((pattern(one), means) for one, means in wordings().rules)
