"""Extract the parameters of a command from a request in plain words, and find those that are missing.

Only values from the request are used, never values from a command's examples. A required parameter that the request
does not give stays open, as a placeholder with its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from doorward.backends.shell.catalogue_command import CatalogueCommand
from doorward.catalogue.entry import RESERVED
from doorward.command import Command
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


class Filled(NamedTuple):
    """The parameters of a call, as far as a request gives them."""

    params: dict[str, Any]
    """The parameters that the request gives."""
    missing: list[str]
    """The required parameters that it does not give."""
    said: frozenset[str]
    """The words of the request that are values, and do not tell which command is wanted."""
    line: dict[str, Any]
    """All parameters in order, with `<name>` for each missing one."""


class _Request:
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

    def path(self) -> str | None:
        return self._taken(self._paths) or self._taken(self._quoted)

    def number(self) -> str | None:
        return self._taken(self._numbers)

    def text_for(self, nouns: Iterator[str]) -> str | None:
        return self._taken(self._quoted) or self._taken(self._called) or self._behind(nouns)

    def one_of(self, choices: list[Any]) -> str | None:
        named = [one for one in choices if isinstance(one, str) and one.lower() in words(self._bare)]
        return self._taken(named) if len(named) == 1 else None

    def _behind(self, nouns: Iterator[str]) -> str | None:
        """The word after the noun: `general` in `the room general`."""
        for noun in nouns:
            found = re.search(rf"\b{re.escape(noun)}\s+([A-Za-z][\w.-]*)", self._bare, re.IGNORECASE)
            if found is not None and found[1].lower() not in lexicon().stop and found[1] not in self.given:
                self.given.append(found[1])
                return found[1]
        return None

    def _taken(self, among: list[str]) -> str | None:
        if not among:
            return None
        self.given.append(among[0])
        return among.pop(0)


def filled(command: Command, query: str, stems: Stems, known: frozenset[str]) -> Filled:
    """Extract the parameters of a command from a request; `known` are the stems in the command's name and texts."""
    request = _Request(query)
    required, spoken = needed(command), _spoken_for(command, query, stems)
    asked = stems(query)
    params: dict[str, Any] = {}
    missing: list[str] = []
    for key, spec in _properties(command).items():
        wanted = key in required or (spec.get("type") != "boolean" and not stems(key).isdisjoint(asked))
        if key in spoken and key not in required:
            params[key] = spoken[key]
        elif wanted:
            value = _value(request, key, spec, command, stems, known)
            if value is not None:
                params[key] = value
            elif key in spoken:
                params[key] = spoken[key]
            elif key in required or key in _PATHS:
                missing.append(key)
    line = {
        key: params.get(key, _open(key, spec))
        for key, spec in _properties(command).items()
        if key in params or key in missing
    }
    said = frozenset(word for one in (*request.given, *texts(params)) for word in words(one))
    return Filled(params, missing, said | ({"called", "named"} if request.given else set()), line)


def parameters(command: Command) -> str:
    """The names of the command's parameters, without those that all programs have."""
    return " ".join(_properties(command))


def _properties(command: Command) -> dict[str, Mapping[str, Any]]:
    programs = RESERVED if isinstance(command, CatalogueCommand) else frozenset()
    found = command.schema.get("properties", {})
    return {key: spec for key, spec in found.items() if key not in programs and isinstance(spec, Mapping)}


def texts(params: Mapping[str, Any]) -> Iterator[str]:
    """The values that are strings, including those in lists."""
    for value in params.values():
        yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))


def needed(command: Command) -> frozenset[str]:
    """The required parameters of a command."""
    if isinstance(command, CatalogueCommand):
        return frozenset(one.name for one in command.entry.parameters if one.required)
    return frozenset(command.schema.get("required", ()))


def _spoken_for(command: Command, query: str, stems: Stems) -> dict[str, Any]:
    """The flags and named values of an example, if the request contains all words of that example."""
    asked, text = stems(query), query.lower()
    for example in command.facts.examples:
        if (said := stems(example.says)) and said <= asked:
            return {key: value for key, value in example.params.items() if _is_said(value, text)}
    return {}


def _is_said(value: Any, text: str) -> bool:
    if isinstance(value, bool | int | float):
        return True
    if isinstance(value, list):
        return all(_is_said(one, text) for one in value)
    return isinstance(value, str) and value.lower() in text


def _value(
    request: _Request, key: str, spec: Mapping[str, Any], command: Command, stems: Stems, known: frozenset[str]
) -> Any:
    kind = spec.get("type")
    found: Any
    if isinstance(spec.get("enum"), list):
        found = request.one_of(spec["enum"])
    elif kind in _TYPED:
        found = request.number()
        found = None if found is None else _TYPED[kind](found)
    elif kind not in ("string", "array", None):
        return None
    elif key in _PATHS:
        found = request.path()
    else:
        area = words(command.name.partition("/")[0])
        found = request.text_for(iter([key, *area]))
        if found is not None and stems(found) and stems(found) <= known:
            return None  # a word of the command itself: `room messages`
    return [found] if kind == "array" and found is not None else found


def _open(key: str, spec: Mapping[str, Any]) -> Any:
    return [f"<{key}>"] if spec.get("type") == "array" else f"<{key}>"
