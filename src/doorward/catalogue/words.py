"""Parse the typed arguments of a program strictly into the parameters of its entry.

Only declared options exist, and long options cannot be abbreviated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from doorward.catalogue.entry import Entry, Parameter
from doorward.command import shortened
from doorward.errors import BadParams

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})")


def read(entry: Entry, words: Sequence[str]) -> dict[str, Any]:
    """Parse words into parameters."""
    return _Reader(entry).read(list(words))


class _Spelt(NamedTuple):
    option: Parameter
    value: str | None


class _Reader:
    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._options = {spelling: one for one in entry.options for spelling in (one.short, one.long) if spelling}
        self._params: dict[str, Any] = {}

    def read(self, words: list[str]) -> dict[str, Any]:
        before: list[str] = []
        behind: list[str] | None = None
        while words:
            word = words.pop(0)
            if word == "--":
                behind = words
                break
            if word.startswith("-") and word != "-":
                for spelt in self._spelt(word):
                    self._take(spelt, words)
            else:
                before.append(word)
        self._place(before, behind)
        return self._params

    def _spelt(self, word: str) -> list[_Spelt]:
        """The options in one word: a long option, possibly with `=value`, or a cluster of short options."""
        option = self._options.get(word)
        if option is not None:
            return [_Spelt(option, None)]
        name, equals, value = word.partition("=")
        option = self._options.get(name) if equals else None
        if option is not None and name == option.long:
            if option.type == "flag":
                raise self._refused(f"the option {name} takes no value; given {shortened(word)}")
            return [_Spelt(option, value)]
        if word.startswith("--"):
            raise self._unknown(name)
        return self._cluster(word)

    def _cluster(self, word: str) -> list[_Spelt]:
        """`-la` is -l and -a; `-n5` is -n with the value 5."""
        found: list[_Spelt] = []
        for place in range(1, len(word)):
            option = self._options.get(f"-{word[place]}")
            if option is None or option.short != f"-{word[place]}":
                raise self._unknown(word if place == 1 else f"-{word[place]}", word)
            if option.type != "flag":
                rest = word[place + 1 :]
                return [*found, _Spelt(option, rest or None)]
            found.append(_Spelt(option, None))
        return found

    def _take(self, spelt: _Spelt, words: list[str]) -> None:
        option, text = spelt
        value: Any = True
        if option.type != "flag":
            if text is None:
                if not words:
                    raise self._refused(f"the option {option.spelling} needs a value, but is the last word")
                text = words.pop(0)
            value = self._value(option, text)
        if option.many:
            self._params.setdefault(option.name, []).append(value)
        elif option.name in self._params:
            raise self._refused(f"the option {option.spelling} is given twice")
        else:
            self._params[option.name] = value

    def _place(self, before: list[str], behind: list[str] | None) -> None:
        arguments = self._entry.arguments
        if behind is None or all(one.after_dashes for one in arguments):
            self._fill(arguments, [*before, *(behind or [])])
        elif not any(one.after_dashes for one in arguments):
            # The program does not get the `--`, and a value that begins with a dash is refused later.
            self._fill(arguments, [*before, *behind])
        else:
            self._fill(tuple(one for one in arguments if not one.after_dashes), before)
            self._fill(tuple(one for one in arguments if one.after_dashes), behind)

    def _fill(self, arguments: tuple[Parameter, ...], words: list[str]) -> None:
        """Assign words to arguments: required ones first; a list takes all that the others leave."""
        for place, one in enumerate(arguments):
            needed = sum(later.required for later in arguments[place + 1 :])
            free = max(0, len(words) - needed)
            count = free if one.many else min(1, free)
            if one.required and not count:
                count = min(1, len(words))
            taken, words = words[:count], words[count:]
            if taken:
                values = [self._value(one, text) for text in taken]
                self._params[one.name] = values if one.many else values[0]
        if words:
            most = ", ".join(one.spelling for one in arguments) or "none"
            raise self._refused(f"{shortened(words[0])} is one argument too many; valid: {most}")

    def _value(self, one: Parameter, text: str) -> Any:
        if one.type == "integer":
            if not _INTEGER.fullmatch(text):
                raise self._refused(f"{one.spelling} must be a whole number; given {shortened(text)}")
            return int(text)
        if one.type == "number":
            if not _NUMBER.fullmatch(text):
                raise self._refused(f"{one.spelling} must be a number; given {shortened(text)}")
            return float(text) if "." in text else int(text)
        return text

    def _unknown(self, option: str, word: str = "") -> BadParams:
        inside = f" in {shortened(word)}" if word and word != option else ""
        valid = ", ".join(sorted(self._options)) or "none"
        return self._refused(f"there is no option {shortened(option)}{inside}; valid: {valid}")

    def _refused(self, why: str) -> BadParams:
        return BadParams(f"shell/{self._entry.name}: {why}.")
