"""The words that can be typed in the shell, in the form in which the house tells them to it."""

from __future__ import annotations

import msgspec

PATH = "/api/shell/words"


class Option(msgspec.Struct, frozen=True):
    spelling: str
    """As it is typed; one that ends with `=` goes on with its value."""
    help: str = ""
    choices: list[str] = []


class Word(msgspec.Struct, frozen=True):
    """A word that a command can begin with."""

    word: str
    command: str
    summary: str
    options: list[Option] = []
