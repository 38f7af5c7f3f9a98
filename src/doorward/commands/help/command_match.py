"""Decides whether a command clearly does what a request asks, and extracts its parameters from the request.

Only values from the request are used, never values from a command's examples. A required parameter that the request
does not give stays open, as a placeholder with its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from doorward.commands.catalogue.entry import RESERVED
from doorward.commands.programs.catalogue_command import CatalogueCommand
from doorward.core.classification import Effects, Safety
from doorward.core.command import Command
from doorward.store.command_index import CommandIndex, SearchHit
from doorward.store.command_texts import lexicon, words

_QUOTED = re.compile(r"\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)|`([^`]+)`|“([^”]+)”")
_PATH = re.compile(r"(?<![\w.-])(?:~?/?[\w*.-]+/[\w*./-]*|\.?[\w*-]+(?:\.[A-Za-z]\w{0,9})+|\*\.\w+)(?![\w])")
_NUMBER = re.compile(r"(?<![\w.,-])\d{1,9}(?![\w.,])")
_CALLED = re.compile(r"\b(?:called|named|with the (?:id|name)|id)\s+([\w.-]*\w)", re.IGNORECASE)
_PATHS = frozenset(
    ("path", "paths", "file", "files", "folder", "folders", "source", "sources", "target", "destination", "archive")
)
_TYPED = {"integer": int, "number": int}
Stems = Callable[[str], frozenset[str]]


class FilledParams(NamedTuple):
    """The parameters of a call, as far as a request gives them."""

    params: dict[str, Any]
    """The parameters that the request gives."""
    missing: list[str]
    """The required parameters that it does not give."""
    said: frozenset[str]
    """The words of the request that are values, and do not tell which command is wanted."""
    line: dict[str, Any]
    """All parameters in order, with `<name>` for each missing one."""


class _RequestValues:
    """The possible values in a request. Each is used once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.given: list[str] = []
        self._quoted = [next(filter(None, one)) for one in _QUOTED.findall(text)]
        bare = _QUOTED.sub(" ", text)
        self._paths = _PATH.findall(bare)
        self._called = _CALLED.findall(bare)
        self._numbers = _NUMBER.findall(bare)
        self._bare = bare

    def take_path(self) -> str | None:
        return self._take(self._paths) or self._take(self._quoted)

    def take_number(self) -> str | None:
        return self._take(self._numbers)

    def take_text(self, nouns: Iterator[str]) -> str | None:
        return self._take(self._quoted) or self._take(self._called) or self._word_after(nouns)

    def take_choice(self, choices: list[Any]) -> str | None:
        named = [one for one in choices if isinstance(one, str) and one.lower() in words(self._bare)]
        return self._take(named) if len(named) == 1 else None

    def _word_after(self, nouns: Iterator[str]) -> str | None:
        """The word after the noun: `general` in `the room general`."""
        for noun in nouns:
            found = re.search(rf"\b{re.escape(noun)}\s+([A-Za-z][\w.-]*)", self._bare, re.IGNORECASE)
            if found is not None and found[1].lower() not in lexicon().stop and found[1] not in self.given:
                self.given.append(found[1])
                return found[1]
        return None

    def _take(self, among: list[str]) -> str | None:
        if not among:
            return None
        self.given.append(among[0])
        return among.pop(0)


def fill_params(command: Command, query: str, stems: Stems, known: frozenset[str]) -> FilledParams:
    """Extract the parameters of a command from a request; `known` are the stems in the command's name and texts."""
    request = _RequestValues(query)
    required, spoken = required_params(command), _params_from_example(command, query, stems)
    asked = stems(query)
    params: dict[str, Any] = {}
    missing: list[str] = []
    for key, spec in _properties(command).items():
        wanted = key in required or (spec.get("type") != "boolean" and not stems(key).isdisjoint(asked))
        if key in spoken and key not in required:
            params[key] = spoken[key]
        elif wanted:
            value = _extract_value(request, key, spec, command, stems, known)
            if value is not None:
                params[key] = value
            elif key in spoken:
                params[key] = spoken[key]
            elif key in required or key in _PATHS:
                missing.append(key)
    line = {
        key: params.get(key, _placeholder(key, spec))
        for key, spec in _properties(command).items()
        if key in params or key in missing
    }
    said = frozenset(word for one in (*request.given, *string_values(params)) for word in words(one))
    return FilledParams(params, missing, said | ({"called", "named"} if request.given else set()), line)


def parameter_names(command: Command) -> str:
    """The names of the command's parameters, without those that all programs have."""
    return " ".join(_properties(command))


def _properties(command: Command) -> dict[str, Mapping[str, Any]]:
    programs = RESERVED if isinstance(command, CatalogueCommand) else frozenset()
    found = command.schema.get("properties", {})
    return {key: spec for key, spec in found.items() if key not in programs and isinstance(spec, Mapping)}


def string_values(params: Mapping[str, Any]) -> Iterator[str]:
    """The values that are strings, including those in lists."""
    for value in params.values():
        yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))


def required_params(command: Command) -> frozenset[str]:
    """The required parameters of a command."""
    if isinstance(command, CatalogueCommand):
        return frozenset(one.name for one in command.entry.parameters if one.required)
    return frozenset(command.schema.get("required", ()))


def _params_from_example(command: Command, query: str, stems: Stems) -> dict[str, Any]:
    """The flags and named values of an example, if the request contains all words of that example."""
    asked, text = stems(query), query.lower()
    for example in command.facts.examples:
        if (said := stems(example.says)) and said <= asked:
            return {key: value for key, value in example.params.items() if _occurs_in(value, text)}
    return {}


def _occurs_in(value: Any, text: str) -> bool:
    if isinstance(value, bool | int | float):
        return True
    if isinstance(value, list):
        return all(_occurs_in(one, text) for one in value)
    return isinstance(value, str) and value.lower() in text


def _extract_value(
    request: _RequestValues, key: str, spec: Mapping[str, Any], command: Command, stems: Stems, known: frozenset[str]
) -> Any:
    kind = spec.get("type")
    found: Any
    if isinstance(spec.get("enum"), list):
        found = request.take_choice(spec["enum"])
    elif kind in _TYPED:
        found = request.take_number()
        found = None if found is None else _TYPED[kind](found)
    elif kind not in ("string", "array", None):
        return None
    elif key in _PATHS:
        found = request.take_path()
    else:
        area = words(command.name.partition("/")[0])
        found = request.take_text(iter([key, *area]))
        if found is not None and stems(found) and stems(found) <= known:
            return None  # a word of the command itself: `room messages`
    return [found] if kind == "array" and found is not None else found


def _placeholder(key: str, spec: Mapping[str, Any]) -> Any:
    return [f"<{key}>"] if spec.get("type") == "array" else f"<{key}>"


_DELETE_WORD = "delete"


class CommandMatch(NamedTuple):
    command: Command
    hit: SearchHit
    filled: FilledParams
    named: tuple[int, int]
    """The number of words of the request that occur in its name, literally and as synonyms."""
    withheld: bool
    """Whether it destroys something and the request does not name the target."""


def is_destructive(command: Command, index: CommandIndex) -> bool:
    """Whether a command destroys something, by its name or by its facts. A command that may only overwrite something,
    such as a copy, does not count."""
    if command.reads_only:
        return False
    taken = index.query_terms(_DELETE_WORD)[_DELETE_WORD]
    by_facts = Effects.DESTROY in command.facts.effects and command.facts.safety is Safety.DANGEROUS
    return by_facts or not taken.isdisjoint(_name_stems(command, index))


def match_command(index: CommandIndex, command: Command, hit: SearchHit, query: str) -> CommandMatch | None:
    """How a command fits the request, or None if it is only a near match."""
    asked = index.query_terms(query)
    if not asked:
        return None
    name = _name_stems(command, index)
    about = name | index.stems(command.summary)
    known = about | _example_stems(command, index)
    made = fill_params(command, query, index.stems, known)
    known |= index.stems(parameter_names(command))
    telling = {word: stems for word, stems in asked.items() if word not in made.said}
    if not telling or any(stems.isdisjoint(known) for stems in telling.values()):
        return None
    verb = next(iter(telling.values()))
    if verb.isdisjoint(about if command.reads_only else name):
        return None
    if len(asked) == 1 and not index.stems(command.name.rpartition("/")[2].replace("_", " ")) <= verb:
        return None
    direct = sum(not index.stems(word).isdisjoint(name) for word in telling)
    alike = sum(not stems.isdisjoint(name) for stems in telling.values())
    return CommandMatch(command, hit, made, (direct, alike), is_destructive(command, index) and bool(made.missing))


def _name_stems(command: Command, index: CommandIndex) -> frozenset[str]:
    return index.stems(" ".join(words(f"{command.name} {command.wire}")))


def _example_stems(command: Command, index: CommandIndex) -> frozenset[str]:
    """The words of its examples, without parameter values."""
    found: frozenset[str] = frozenset()
    for example in command.facts.examples:
        found |= index.stems(example.says) - index.stems(" ".join(string_values(example.params)))
    return found
