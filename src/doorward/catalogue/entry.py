"""One program of the catalogue, and everything that it can be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from doorward.facts import Effects, Safety, Tier

Type = Literal["path", "text", "integer", "number", "choice", "flag"]
Spelled = Literal["equals", "separate", "attached"]

ARGUMENTS = "arguments"
FOLDER = "folder"
INPUT = "input"
RESERVED = frozenset({ARGUMENTS, FOLDER, INPUT})
"""The parameters that commands of the catalogue have beside those that an entry declares."""


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """An option (`short` or `long` is set) or an argument that has its meaning by its place."""

    name: str
    help: str
    type: Type
    many: bool = False
    """Whether it is a list: an option given repeatedly, or an argument of one or more words."""
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    pattern: str = ""
    default: Any = None
    dash: bool = False
    """Whether the value of this option may begin with a dash."""
    short: str = ""
    long: str = ""
    spelled: Spelled = "separate"
    after_dashes: bool = False
    """Whether this argument stands behind `--`, where nothing can be taken for an option."""

    @property
    def is_option(self) -> bool:
        return bool(self.short or self.long)

    @property
    def spelling(self) -> str:
        return self.long or self.short or f"<{self.name}>"


class Sample(msgspec.Struct, frozen=True):
    says: str
    params: Mapping[str, Any]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    program: str
    prefix: tuple[str, ...]
    """Words that always come first, such as the subcommand of a program that has some."""
    summary: str
    description: str
    category: str
    options: tuple[Parameter, ...]
    arguments: tuple[Parameter, ...]
    options_last: bool
    input: bool
    """Whether it reads a text from its standard input."""
    exit_codes: tuple[int, ...]
    """The exit codes that are no failure."""
    tier: Tier
    effects: Effects
    safety: Safety
    cost: float
    network: bool
    memory_bytes: int | None
    timeout_seconds: float | None
    examples: tuple[Sample, ...]
    aliases: tuple[str, ...]
    related: tuple[str, ...]
    version: str
    """A hash of all of this as it was written, by which a changed definition is known."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.options + self.arguments

    @property
    def writes(self) -> bool:
        return bool(self.effects & (Effects.WRITE | Effects.DESTROY))
