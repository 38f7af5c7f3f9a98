"""Decide whether a found command clearly does what a request asks. Only such a command is suggested.

A search may return near matches, since a person reads the list. A suggestion is one line that a person might run. So
each significant word of the request must occur in the command's texts or be a value for it. A command that changes
something must be asked for by its verb. A command that destroys is suggested only if the request names the target.
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
    """The number of words of the request that occur in its name, literally and as synonyms."""
    withheld: bool
    """Whether it destroys something and the request does not name the target."""


def destroys(command: Command, index: CommandIndex) -> bool:
    """Whether a command destroys something, by its name or by its facts. A command that may only overwrite something,
    such as a copy, does not count."""
    if command.reads_only:
        return False
    taken = index.meant(_TAKES_AWAY)[_TAKES_AWAY]
    by_facts = Effects.DESTROY in command.facts.effects and command.facts.safety is Safety.DANGEROUS
    return by_facts or not taken.isdisjoint(_name(command, index))


def clear(index: CommandIndex, command: Command, hit: Hit, query: str) -> Fit | None:
    """How a command fits the request, or None if it is only a near match."""
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
    """The words of its examples, without parameter values."""
    found: frozenset[str] = frozenset()
    for example in command.facts.examples:
        found |= index.stems(example.says) - index.stems(" ".join(texts(example.params)))
    return found
