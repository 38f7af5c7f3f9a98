"""A strict option parser for built-ins: unknown options are errors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from doorward.core.command import shorten

_NUMBER = re.compile(r"-[0-9]+")


class UsageError(Exception):
    """Wrong arguments of a built-in; the message says which."""


class BuiltinOptions(msgspec.Struct, frozen=True):
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
            raise UsageError(f"{name} takes a whole number from {least} to {most}; given {shorten(text)}")
        return int(text)


class OptionParser:
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

    def parse(self, args: Sequence[str]) -> BuiltinOptions:
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
                self._parse_long(word, rest, flags, values)
            else:
                self._parse_short(word, rest, flags, values)
        return BuiltinOptions(frozenset(flags), values, tuple(words))

    def _parse_long(self, word: str, rest: list[str], flags: set[str], values: dict[str, str]) -> None:
        name, equals, value = word.partition("=")
        first, takes = self._find(name)
        if not takes:
            if equals:
                raise UsageError(f"option {name} takes no value")
            flags.add(first)
        else:
            values[first] = value if equals else self._take_value(name, rest)

    def _parse_short(self, word: str, rest: list[str], flags: set[str], values: dict[str, str]) -> None:
        for at, letter in enumerate(word[1:], 1):
            first, takes = self._find(f"-{letter}")
            if takes:
                values[first] = word[at + 1 :] or self._take_value(f"-{letter}", rest)
                return
            flags.add(first)

    def _find(self, name: str) -> tuple[str, bool]:
        if name not in self._names:
            raise UsageError(f"unknown option {shorten(name)}")
        return self._names[name]

    @staticmethod
    def _take_value(name: str, rest: list[str]) -> str:
        if not rest:
            raise UsageError(f"option {name} needs a value")
        return rest.pop(0)
