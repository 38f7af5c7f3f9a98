"""Shell completion words, as the server sends them to the shell."""

from __future__ import annotations

import msgspec

PATH = "/api/shell/words"


class Option(msgspec.Struct, frozen=True):
    spelling: str
    """As it is typed. One that ends with `=` is followed by its value."""
    help: str = ""
    choices: list[str] = []


class Word(msgspec.Struct, frozen=True):
    """A word that a command can begin with."""

    word: str
    command: str
    summary: str
    options: list[Option] = []
