"""Lengths of time: `30 days`, `two weeks`, `an hour`, `24h`."""

from __future__ import annotations

from functools import cache

from doorward.agents.house.entities.knowledge import dates
from doorward.agents.house.entities.line import Line
from doorward.agents.house.entities.numbers import figures, number_at
from doorward.agents.house.entities.phrases import Phrases

Length = tuple[float, str]
"""How many, and of which unit in the singular."""


@cache
def _vague() -> Phrases[float]:
    lengths = dates().vague_lengths
    return Phrases(
        {**lengths, **{f"a {phrase}": number for phrase, number in lengths.items()}, "half an": 0.5, "half a": 0.5}
    )


def duration_at(line: Line, i: int) -> tuple[Length, int] | None:
    """The length of time that begins at a token, and where it ends."""
    vague = _vague().at(line.tokens, i)
    if vague is not None:
        name = unit(line, vague[1], digits=False)
        return ((vague[0], name), vague[1] + 1) if name else None
    if line.shape(i) == "number":
        read = figures(line.lower(i))
        if read is not None and read[1] and unit_named(read[1], digits=True):
            return (float(read[0]), unit_named(read[1], digits=True)), i + 1
    if line.lower(i) in ("a", "an", "one", "the", "another"):
        name = unit(line, i + 1, digits=False)
        return ((1.0, name), i + 2) if name else None
    number = number_at(line, i)
    if number is None:
        return None
    at = number[1] + 1 if line.lower(number[1]) in ("whole", "full", "more", "-") else number[1]
    name = unit(line, at, digits=line.shape(i) == "number")
    return ((float(number[0]), name), at + 1) if name else None


def unit(line: Line, i: int, *, digits: bool) -> str:
    """The unit of time at a token, in the singular; nothing when there is none."""
    return unit_named(line.lower(i), digits=digits)


def unit_named(word: str, *, digits: bool) -> str:
    when = dates()
    if word not in when.units or (word in when.only_behind_digits and not digits):
        return ""
    seconds = when.units[word]
    return next(name for name, length in when.units.items() if length == seconds)


def seconds(length: Length) -> float:
    return min(length[0], 1e6) * dates().units[length[1]]


def said(length: Length) -> str:
    amount, name = length
    return name if amount == 1 else f"{amount:g} {name}s"
