"""A strict option parser for built-ins: unknown options are errors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from doorward.command import shortened

_NUMBER = re.compile(r"-[0-9]+")


class Usage(Exception):
    """Wrong arguments of a built-in; the message says which."""


class Options(msgspec.Struct, frozen=True):
    """Parsed arguments: options by the first of their names, and the other words in order."""

    flags: frozenset[str] = frozenset()
    values: Mapping[str, str] = {}
    words: Sequence[str] = ()

    def __contains__(self, name: str) -> bool:
        return name in self.flags or name in self.values

    def number(self, name: str, default: int, *, least: int = 0, most: int = 1_000_000) -> int:
        """An option's value as a whole number within bounds."""
        text = self.values.get(name)
        if text is None:
            return default
        if not re.fullmatch(r"[0-9]{1,12}", text) or not least <= int(text) <= most:
            raise Usage(f"{name} takes a whole number from {least} to {most}; given {shortened(text)}")
        return int(text)


class Grammar:
    """The declared options. Each is declared as it is typed, with its help: `-n --lines N` takes a value."""

    def __init__(self, declared: Mapping[str, str], number: str = "") -> None:
        """`number` is the option that a bare `-20` stands for."""
        self.declared = declared
        self._number = number
        self._names: dict[str, tuple[str, bool]] = {}
        for spelt in declared:
            names = [one for one in spelt.split() if one.startswith("-")]
            takes = not spelt.split()[-1].startswith("-")
            self._names.update((name, (names[0], takes)) for name in names)

    def read(self, args: Sequence[str]) -> Options:
        flags: set[str] = set()
        values: dict[str, str] = {}
        words: list[str] = []
        rest = list(args)
        while rest:
            word = rest.pop(0)
            if word == "--":
                words += rest
                break
            if not word.startswith("-") or word == "-":
                words.append(word)
            elif self._number and _NUMBER.fullmatch(word):
                values[self._number] = word[1:]
            elif word in self._names or word.startswith("--"):
                self._long(word, rest, flags, values)
            else:
                self._short(word, rest, flags, values)
        return Options(frozenset(flags), values, tuple(words))

    def _long(self, word: str, rest: list[str], flags: set[str], values: dict[str, str]) -> None:
        name, equals, value = word.partition("=")
        first, takes = self._known(name)
        if not takes:
            if equals:
                raise Usage(f"option {name} takes no value")
            flags.add(first)
        else:
            values[first] = value if equals else self._next(name, rest)

    def _short(self, word: str, rest: list[str], flags: set[str], values: dict[str, str]) -> None:
        for at, letter in enumerate(word[1:], 1):
            first, takes = self._known(f"-{letter}")
            if takes:
                values[first] = word[at + 1 :] or self._next(f"-{letter}", rest)
                return
            flags.add(first)

    def _known(self, name: str) -> tuple[str, bool]:
        if name not in self._names:
            raise Usage(f"unknown option {shortened(name)}")
        return self._names[name]

    @staticmethod
    def _next(name: str, rest: list[str]) -> str:
        if not rest:
            raise Usage(f"option {name} needs a value")
        return rest.pop(0)
