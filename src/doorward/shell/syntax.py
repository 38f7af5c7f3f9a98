"""The syntax tree of a session shell script, and its conversion back to text.

The parser reads the text that `written` returns as the same script again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

RedirectOperator = Literal["<", "<<<", ">", ">>", "2>", "2>>", "2>&1", "1>&2", "&>", "&>>"]
ChainOperator = Literal["&&", "||"]


class Text(msgspec.Struct, frozen=True):
    text: str
    quoted: bool
    """Quoted text is literal; in unquoted text `*`, `?`, `[` and a leading `~` are special."""


class Variable(msgspec.Struct, frozen=True):
    name: str
    """Its name, or `?` for the last exit code."""
    otherwise: Word | None
    """The default value, used when it is not set or empty."""
    quoted: bool


class CommandSubstitution(msgspec.Struct, frozen=True):
    """`$(…)`: the output of a script."""

    script: Script
    quoted: bool


Part = Text | Variable | CommandSubstitution


class Word(msgspec.Struct, frozen=True):
    parts: tuple[Part, ...]

    @property
    def bare(self) -> str | None:
        """The text of a word without quotes and expansions; None for other words."""
        if len(self.parts) == 1 and isinstance(one := self.parts[0], Text) and not one.quoted:
            return one.text
        return None


class Redirect(msgspec.Struct, frozen=True):
    sign: RedirectOperator
    target: Word | None
    """A file, or the text after `<<<`; None when one stream joins the other."""


class Stage(msgspec.Struct, frozen=True):
    """One command with its words, or variable assignments."""

    words: tuple[Word, ...]
    sets: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Pipeline(msgspec.Struct, frozen=True):
    stages: tuple[Stage, ...]


class Chain(msgspec.Struct, frozen=True):
    """Pipelines that depend on each other: `a && b || c`."""

    first: Pipeline
    rest: tuple[tuple[ChainOperator, Pipeline], ...] = ()


class Line(msgspec.Struct, frozen=True):
    """One line of a script; a chain in it may continue on further lines."""

    chains: tuple[Chain, ...]

    @property
    def stages(self) -> Iterator[Stage]:
        """All stages of the line, except those in `$(…)`."""
        for chain in self.chains:
            for pipeline in (chain.first, *(one for _, one in chain.rest)):
                yield from pipeline.stages


class Script(msgspec.Struct, frozen=True):
    lines: tuple[Line, ...]


def render(node: Script | Line | Chain | Pipeline | Stage | Redirect | Word) -> str:
    """Render a part of a script as text."""
    match node:
        case Script(lines=lines):
            return "\n".join(map(render, lines))
        case Line(chains=chains):
            return "; ".join(map(render, chains))
        case Chain(first=first, rest=rest):
            return " ".join([render(first), *(f"{joint} {render(one)}" for joint, one in rest)])
        case Pipeline(stages=stages):
            return " | ".join(map(render, stages))
        case Stage(words=words, sets=sets, redirects=redirects):
            set_ = [f"{name}={render(value)}" for name, value in sets]
            return " ".join([*set_, *map(render, words), *map(render, redirects)])
        case Redirect(sign=sign, target=target):
            return sign if target is None else f"{sign} {render(target)}"
        case Word(parts=parts):
            return "".join(map(_render_part, parts))


def _render_part(part: Part) -> str:
    match part:
        case Text(text=text, quoted=False):
            return text
        case Text(text=text):
            return "'" + text.replace("'", "'\\''") + "'"
        case Variable(name=name, otherwise=otherwise):
            inside = f"${{{name}}}" if otherwise is None else f"${{{name}:-{render(otherwise)}}}"
        case CommandSubstitution(script=script):
            inside = f"$({render(script)})"
    return f'"{inside}"' if part.quoted else inside
