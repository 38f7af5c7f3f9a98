"""Turn parameters into a program's argument list. No shell reads it, so every value is passed as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doorward.catalogue.entry import Entry, Parameter
from doorward.catalogue.paths import inside
from doorward.command import shortened
from doorward.errors import BadParams

LONGEST_WORD = 100_000
LONGEST_ARGV = 500_000
"""In bytes; the kernel's own limits are slightly higher."""


def argv(entry: Entry, params: Mapping[str, Any], folder: str) -> tuple[str, ...]:
    """Build the argument list from valid parameters; refuse values that the program could misread."""
    options = [word for one in entry.options for word in _option_words(entry, one, params, folder)]
    before = [word for one in entry.arguments if not one.after_dashes for word in _words(entry, one, params, folder)]
    behind = [word for one in entry.arguments if one.after_dashes for word in _words(entry, one, params, folder)]
    words = [*entry.prefix, *(before + options if entry.options_last else options + before)]
    if any(one.after_dashes for one in entry.arguments):
        words += ["--", *behind]
    size = sum(len(word.encode()) + 1 for word in words)
    if size > LONGEST_ARGV:
        raise BadParams(f"shell/{entry.name}: the arguments have {size} bytes; the maximum is {LONGEST_ARGV}.")
    return (entry.program, *words)


def _given(one: Parameter, params: Mapping[str, Any]) -> list[Any]:
    if one.name not in params:
        return [] if one.default is None else [one.default]
    value = params[one.name]
    if one.many:
        return list(value)
    return [] if value is False else [value]


def _option_words(entry: Entry, one: Parameter, params: Mapping[str, Any], folder: str) -> Iterator[str]:
    for value in _given(one, params):
        if one.type == "flag":
            yield one.spelling
            continue
        text = _text(entry, one, value, folder, may_dash=one.dash or one.type in ("integer", "number"))
        match one.spelled:
            case "equals":
                yield f"{one.spelling}={text}"
            case "attached":
                yield f"{one.spelling}{text}"
            case "separate":
                yield one.spelling
                yield text


def _words(entry: Entry, one: Parameter, params: Mapping[str, Any], folder: str) -> Iterator[str]:
    for value in _given(one, params):
        yield _text(entry, one, value, folder, may_dash=one.after_dashes)


def _text(entry: Entry, one: Parameter, value: Any, folder: str, *, may_dash: bool) -> str:
    text = _plain(one, value)
    if "\x00" in text:
        raise BadParams(f"shell/{entry.name}: {one.spelling} contains a NUL byte, which no argument may.")
    if len(text.encode()) > LONGEST_WORD:
        raise BadParams(
            f"shell/{entry.name}: {one.spelling} has {len(text.encode())} bytes; the maximum is {LONGEST_WORD}."
        )
    if text.startswith("-") and not may_dash:
        hint = f"; give ./{text[:60]} for a file of that name" if one.type == "path" else ""
        raise BadParams(
            f"shell/{entry.name}: {one.spelling} begins with a dash, so {entry.program} could read it as an option"
            f"{hint}; given {shortened(text)}."
        )
    if one.type != "path":
        return text
    try:
        path = inside(text, folder)
    except BadParams as error:
        raise BadParams(f"shell/{entry.name}: {one.spelling}: {error.message}") from error
    return f"./{path}" if path.startswith("-") else path


def _plain(one: Parameter, value: Any) -> str:
    if one.type == "integer":
        return str(int(value))
    return value if isinstance(value, str) else str(value)
