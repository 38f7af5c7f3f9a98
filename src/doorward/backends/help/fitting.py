"""Whether a command that was found clearly does what somebody wants: only then is it suggested.

A search may give what is near, since a person looks at its list. A suggestion is one line that somebody might run. So
each telling word of the request must stand in the command's own words or be a value for it, and what changes something
must be asked for by its verb. What destroys is suggested only where the request also names what.
"""

from __future__ import annotations

from typing import NamedTuple

from doorward.backends.help.filling import Filled, filled, parameters, texts
from doorward.command import Command
from doorward.facts import Effects, Safety
from doorward.store.command_index import CommandIndex, Hit
from doorward.store.command_texts import words

_TAKES_AWAY = "delete"


class Fit(NamedTuple):
    command: Command
    hit: Hit
    filled: Filled
    named: tuple[int, int]
    """How many words of the request stand in its name, as they are and in words that mean the like."""
    withheld: bool
    """Whether it destroys and nobody said what."""


def destroys(command: Command, index: CommandIndex) -> bool:
    """Whether it takes something away: by its facts, and not where it may only go over something, such as a copy; or by
    its name."""
    if command.reads_only:
        return False
    taken = index.meant(_TAKES_AWAY)[_TAKES_AWAY]
    by_facts = Effects.DESTROY in command.facts.effects and command.facts.safety is Safety.DANGEROUS
    return by_facts or not taken.isdisjoint(_name(command, index))


def clear(index: CommandIndex, command: Command, hit: Hit, query: str) -> Fit | None:
    """How a command fits, or None where it is only near."""
    asked = index.meant(query)
    if not asked:
        return None
    name = _name(command, index)
    about = name | index.stems(command.summary)
    known = about | _said(command, index)
    made = filled(command, query, index.stems, known)
    known |= index.stems(parameters(command))
    telling = {word: stems for word, stems in asked.items() if word not in made.said}
    if not telling or any(stems.isdisjoint(known) for stems in telling.values()):
        return None
    verb = next(iter(telling.values()))
    if verb.isdisjoint(about if command.reads_only else name):
        return None
    if len(asked) == 1 and not index.stems(command.name.rpartition("/")[2].replace("_", " ")) <= verb:
        return None
    direct = sum(not index.stems(word).isdisjoint(name) for word in telling)
    alike = sum(not stems.isdisjoint(name) for stems in telling.values())
    return Fit(command, hit, made, (direct, alike), destroys(command, index) and bool(made.missing))


def _name(command: Command, index: CommandIndex) -> frozenset[str]:
    return index.stems(" ".join(words(f"{command.name} {command.wire}")))


def _said(command: Command, index: CommandIndex) -> frozenset[str]:
    """The words of its examples, without those that are somebody's values."""
    found: frozenset[str] = frozenset()
    for example in command.facts.examples:
        found |= index.stems(example.says) - index.stems(" ".join(texts(example.params)))
    return found
