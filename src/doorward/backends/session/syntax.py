"""What a text of the session shell consists of, and how each part is written.

Whatever `written` makes of a script, the parser reads as the same script again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

Sign = Literal["<", "<<<", ">", ">>", "2>", "2>>", "2>&1", "1>&2", "&>", "&>>"]
Joint = Literal["&&", "||"]


class Text(msgspec.Struct, frozen=True):
    text: str
    quoted: bool
    """Quoted text means itself; in other text `*`, `?`, `[` and a leading `~` stand for something."""


class Variable(msgspec.Struct, frozen=True):
    name: str
    """Its name, or `?` for the exit code of what ran before."""
    otherwise: Word | None
    """What stands for it where it is not set, or empty."""
    quoted: bool


class Output(msgspec.Struct, frozen=True):
    """`$(…)`: what a script prints."""

    script: Script
    quoted: bool


Part = Text | Variable | Output


class Word(msgspec.Struct, frozen=True):
    parts: tuple[Part, ...]

    @property
    def bare(self) -> str | None:
        """The word as it stands, where nothing in it is quoted or stands for something else; else None."""
        if len(self.parts) == 1 and isinstance(one := self.parts[0], Text) and not one.quoted:
            return one.text
        return None


class Redirect(msgspec.Struct, frozen=True):
    sign: Sign
    target: Word | None
    """A file, or the text behind `<<<`; None where one stream joins the other."""


class Stage(msgspec.Struct, frozen=True):
    """One command with its words; or variables that are set."""

    words: tuple[Word, ...]
    sets: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Pipeline(msgspec.Struct, frozen=True):
    stages: tuple[Stage, ...]


class Chain(msgspec.Struct, frozen=True):
    """Pipelines that depend on each other: `a && b || c`."""

    first: Pipeline
    rest: tuple[tuple[Joint, Pipeline], ...] = ()


class Line(msgspec.Struct, frozen=True):
    """What stands between two line ends, or at least begins there."""

    chains: tuple[Chain, ...]

    @property
    def stages(self) -> Iterator[Stage]:
        """Every stage in it, but for those in `$(…)`."""
        for chain in self.chains:
            for pipeline in (chain.first, *(one for _, one in chain.rest)):
                yield from pipeline.stages


class Script(msgspec.Struct, frozen=True):
    lines: tuple[Line, ...]


def written(node: Script | Line | Chain | Pipeline | Stage | Redirect | Word) -> str:
    """A part of a script as text."""
    match node:
        case Script(lines=lines):
            return "\n".join(map(written, lines))
        case Line(chains=chains):
            return "; ".join(map(written, chains))
        case Chain(first=first, rest=rest):
            return " ".join([written(first), *(f"{joint} {written(one)}" for joint, one in rest)])
        case Pipeline(stages=stages):
            return " | ".join(map(written, stages))
        case Stage(words=words, sets=sets, redirects=redirects):
            set_ = [f"{name}={written(value)}" for name, value in sets]
            return " ".join([*set_, *map(written, words), *map(written, redirects)])
        case Redirect(sign=sign, target=target):
            return sign if target is None else f"{sign} {written(target)}"
        case Word(parts=parts):
            return "".join(map(_part, parts))


def _part(part: Part) -> str:
    match part:
        case Text(text=text, quoted=False):
            return text
        case Text(text=text):
            return "'" + text.replace("'", "'\\''") + "'"
        case Variable(name=name, otherwise=otherwise):
            inside = f"${{{name}}}" if otherwise is None else f"${{{name}:-{written(otherwise)}}}"
        case Output(script=script):
            inside = f"$({written(script)})"
    return f'"{inside}"' if part.quoted else inside
