"""The examples: each thing that can be asked for, in the wording that is planned from, with how people say it.

All of it is data, in `knowledge/phrasings`. `means` is the canonical wording, `says` are examples with slots such as
`{path}` or `{room}`, and `also` are words that people put in beside them and that change nothing.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import msgspec

from doorward.agents.house import knowledge


class Frame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that can be asked for."""

    means: str
    """The canonical wording. A part between square brackets is left out where its slot was not said."""
    says: tuple[str, ...]
    also: str = ""
    """Words that belong to it without being needed."""
    changes: bool = False
    """Whether it changes something; then every word of an example must be there, in just that form."""
    follows: bool = False
    """Whether it only makes sense behind another request."""


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How single words are compared."""

    small: str
    """Words that say nothing about what is wanted."""
    light: str
    """Small words that an example of a change must have in common with a request."""
    links: str
    """Words before a slot that tell what its role is, such as `to` and `from`."""
    kinds: str
    """Words that name a kind of files, though nothing of files is said."""
    lately: str
    """Stretches of time that are so vague that an example without one is like it all the same."""
    no_records: str
    """Words that name no records, no field and no value of them."""
    verbs: str
    """Verbs that ask for a change: only another of them means the same there."""
    records: str
    """Words that mostly name records, and no field or value of them."""
    folders: str
    """What folders are often called."""
    sharp: str
    """Words that turn the meaning round or make another question of it: they are never overlooked."""
    same: tuple[str, ...]
    """Words and turns of phrase that mean the same, each row with bars between."""


class _Area(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    frames: tuple[Frame, ...]


_WORDS = "words.json"


@cache
def frames() -> tuple[Frame, ...]:
    """Every frame of every area, each area in a file of its own."""
    folder = resources.files(knowledge.__package__).joinpath("knowledge", "phrasings")
    files = sorted((one for one in folder.iterdir() if one.name.endswith(".json")), key=lambda one: one.name)
    return tuple(
        frame
        for one in files
        if one.name != _WORDS
        for frame in msgspec.json.decode(one.read_bytes(), type=_Area).frames
    )


@cache
def words() -> Words:
    folder = resources.files(knowledge.__package__).joinpath("knowledge", "phrasings")
    return msgspec.json.decode(folder.joinpath(_WORDS).read_bytes(), type=Words)
