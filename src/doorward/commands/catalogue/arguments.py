"""Turns parameters or typed words into a program's argument list. No shell reads it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from doorward.commands.catalogue.entry import CatalogueEntry, CatalogueParameter
from doorward.core.command import shorten
from doorward.core.errors import BadParams
from doorward.sandbox.safefs import normalize_path
from doorward.sandbox.view import strip_workspace


def normalize_folder(path: str) -> str:
    """The normalized path of a folder to start in; refuses paths outside the workspace."""
    return normalize_path(strip_workspace(path) or ".")


def program_path(path: str, folder: str) -> str:
    """The path to pass to a program that starts in `folder`; refuses paths outside the workspace.

    `..` is resolved by name. Symlinks are left to the sandbox, in which nothing outside the workspace is visible.
    """
    if (inside := strip_workspace(path)) != path:
        whole = normalize_path(inside)
    else:
        whole = normalize_path(path if folder == "." or not path or path.startswith("/") else f"{folder}/{path}")
    shown = whole if folder == "." else posixpath.relpath(whole, folder)
    # Some programs treat a path that ends with a slash as a folder.
    return f"{shown}/" if path.endswith("/") and not shown.endswith("/") else shown


MAX_ARGUMENT_BYTES = 100_000
MAX_ARGV_BYTES = 500_000
"""In bytes; the kernel's own limits are slightly higher."""


def build_argv(entry: CatalogueEntry, params: Mapping[str, Any], folder: str) -> tuple[str, ...]:
    """Build the argument list from valid parameters; refuse values that the program could misread."""
    options = [word for one in entry.options for word in _option_words(entry, one, params, folder)]
    before = [
        word for one in entry.arguments if not one.after_dashes for word in _argument_words(entry, one, params, folder)
    ]
    behind = [
        word for one in entry.arguments if one.after_dashes for word in _argument_words(entry, one, params, folder)
    ]
    words = [*entry.prefix, *(before + options if entry.options_last else options + before)]
    if any(one.after_dashes for one in entry.arguments):
        words += ["--", *behind]
    size = sum(len(word.encode()) + 1 for word in words)
    if size > MAX_ARGV_BYTES:
        raise BadParams(f"shell/{entry.name}: the arguments have {size} bytes; the maximum is {MAX_ARGV_BYTES}.")
    return (entry.program, *words)


def _given_values(one: CatalogueParameter, params: Mapping[str, Any]) -> list[Any]:
    if one.name not in params:
        return [] if one.default is None else [one.default]
    value = params[one.name]
    if one.many:
        return list(value)
    return [] if value is False else [value]


def _option_words(
    entry: CatalogueEntry, one: CatalogueParameter, params: Mapping[str, Any], folder: str
) -> Iterator[str]:
    for value in _given_values(one, params):
        if one.type == "flag":
            yield one.spelling
            continue
        text = _render_value(entry, one, value, folder, may_dash=one.dash or one.type in ("integer", "number"))
        match one.spelled:
            case "equals":
                yield f"{one.spelling}={text}"
            case "attached":
                yield f"{one.spelling}{text}"
            case "separate":
                yield one.spelling
                yield text


def _argument_words(
    entry: CatalogueEntry, one: CatalogueParameter, params: Mapping[str, Any], folder: str
) -> Iterator[str]:
    for value in _given_values(one, params):
        yield _render_value(entry, one, value, folder, may_dash=one.after_dashes)


def _render_value(entry: CatalogueEntry, one: CatalogueParameter, value: Any, folder: str, *, may_dash: bool) -> str:
    text = _as_text(one, value)
    if "\x00" in text:
        raise BadParams(f"shell/{entry.name}: {one.spelling} contains a NUL byte, which no argument may.")
    if len(text.encode()) > MAX_ARGUMENT_BYTES:
        raise BadParams(
            f"shell/{entry.name}: {one.spelling} has {len(text.encode())} bytes; the maximum is {MAX_ARGUMENT_BYTES}."
        )
    if text.startswith("-") and not may_dash:
        hint = f"; give ./{text[:60]} for a file of that name" if one.type == "path" else ""
        raise BadParams(
            f"shell/{entry.name}: {one.spelling} begins with a dash, so {entry.program} could read it as an option"
            f"{hint}; given {shorten(text)}."
        )
    if one.type != "path":
        return text
    try:
        path = program_path(text, folder)
    except BadParams as error:
        raise BadParams(f"shell/{entry.name}: {one.spelling}: {error.message}") from error
    return f"./{path}" if path.startswith("-") else path


def _as_text(one: CatalogueParameter, value: Any) -> str:
    if one.type == "integer":
        return str(int(value))
    return value if isinstance(value, str) else str(value)


_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})")


def parse_arguments(entry: CatalogueEntry, words: Sequence[str]) -> dict[str, Any]:
    """Parse words into parameters."""
    return _ArgumentParser(entry).parse(list(words))


class _GivenOption(NamedTuple):
    option: CatalogueParameter
    value: str | None


class _ArgumentParser:
    def __init__(self, entry: CatalogueEntry) -> None:
        self._entry = entry
        self._options = {spelling: one for one in entry.options for spelling in (one.short, one.long) if spelling}
        self._params: dict[str, Any] = {}

    def parse(self, words: list[str]) -> dict[str, Any]:
        before: list[str] = []
        behind: list[str] | None = None
        while words:
            word = words.pop(0)
            if word == "--":
                behind = words
                break
            if word.startswith("-") and word != "-":
                for spelt in self._split_options(word):
                    self._set_option(spelt, words)
            else:
                before.append(word)
        self._assign_arguments(before, behind)
        return self._params

    def _split_options(self, word: str) -> list[_GivenOption]:
        """The options in one word: a long option, possibly with `=value`, or a cluster of short options."""
        option = self._options.get(word)
        if option is not None:
            return [_GivenOption(option, None)]
        name, equals, value = word.partition("=")
        option = self._options.get(name) if equals else None
        if option is not None and name == option.long:
            if option.type == "flag":
                raise self._error(f"the option {name} takes no value; given {shorten(word)}")
            return [_GivenOption(option, value)]
        if word.startswith("--"):
            raise self._unknown_option(name)
        return self._split_cluster(word)

    def _split_cluster(self, word: str) -> list[_GivenOption]:
        """`-la` is -l and -a; `-n5` is -n with the value 5."""
        found: list[_GivenOption] = []
        for place in range(1, len(word)):
            option = self._options.get(f"-{word[place]}")
            if option is None or option.short != f"-{word[place]}":
                raise self._unknown_option(word if place == 1 else f"-{word[place]}", word)
            if option.type != "flag":
                rest = word[place + 1 :]
                return [*found, _GivenOption(option, rest or None)]
            found.append(_GivenOption(option, None))
        return found

    def _set_option(self, spelt: _GivenOption, words: list[str]) -> None:
        option, text = spelt
        value: Any = True
        if option.type != "flag":
            if text is None:
                if not words:
                    raise self._error(f"the option {option.spelling} needs a value, but is the last word")
                text = words.pop(0)
            value = self._parse_value(option, text)
        if option.many:
            self._params.setdefault(option.name, []).append(value)
        elif option.name in self._params:
            raise self._error(f"the option {option.spelling} is given twice")
        else:
            self._params[option.name] = value

    def _assign_arguments(self, before: list[str], behind: list[str] | None) -> None:
        arguments = self._entry.arguments
        if behind is None or all(one.after_dashes for one in arguments):
            self._assign_words(arguments, [*before, *(behind or [])])
        elif not any(one.after_dashes for one in arguments):
            # The program does not get the `--`, and a value that begins with a dash is refused later.
            self._assign_words(arguments, [*before, *behind])
        else:
            self._assign_words(tuple(one for one in arguments if not one.after_dashes), before)
            self._assign_words(tuple(one for one in arguments if one.after_dashes), behind)

    def _assign_words(self, arguments: tuple[CatalogueParameter, ...], words: list[str]) -> None:
        """Assign words to arguments: required ones first; a list takes all that the others leave."""
        for place, one in enumerate(arguments):
            needed = sum(later.required for later in arguments[place + 1 :])
            free = max(0, len(words) - needed)
            count = free if one.many else min(1, free)
            if one.required and not count:
                count = min(1, len(words))
            taken, words = words[:count], words[count:]
            if taken:
                values = [self._parse_value(one, text) for text in taken]
                self._params[one.name] = values if one.many else values[0]
        if words:
            most = ", ".join(one.spelling for one in arguments) or "none"
            raise self._error(f"{shorten(words[0])} is one argument too many; valid: {most}")

    def _parse_value(self, one: CatalogueParameter, text: str) -> Any:
        if one.type == "integer":
            if not _INTEGER.fullmatch(text):
                raise self._error(f"{one.spelling} must be a whole number; given {shorten(text)}")
            return int(text)
        if one.type == "number":
            if not _NUMBER.fullmatch(text):
                raise self._error(f"{one.spelling} must be a number; given {shorten(text)}")
            return float(text) if "." in text else int(text)
        return text

    def _unknown_option(self, option: str, word: str = "") -> BadParams:
        inside = f" in {shorten(word)}" if word and word != option else ""
        valid = ", ".join(sorted(self._options)) or "none"
        return self._error(f"there is no option {shorten(option)}{inside}; valid: {valid}")

    def _error(self, why: str) -> BadParams:
        return BadParams(f"shell/{self._entry.name}: {why}.")
