"""One program of the catalogue, with its options and arguments."""

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
"""The parameters that every catalogue command has in addition to those of its entry."""


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """An option (`short` or `long` is set) or a positional argument."""

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
    """Whether this argument comes after `--`, where nothing is read as an option."""

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
    """Words that always come first, such as a subcommand."""
    summary: str
    description: str
    category: str
    options: tuple[Parameter, ...]
    arguments: tuple[Parameter, ...]
    options_last: bool
    input: bool
    """Whether the program reads standard input."""
    exit_codes: tuple[int, ...]
    """The exit codes that count as success."""
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
    """A hash of the entry's source, used to detect changed definitions."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.options + self.arguments

    @property
    def writes(self) -> bool:
        return bool(self.effects & (Effects.WRITE | Effects.DESTROY))
