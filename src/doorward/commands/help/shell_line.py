"""Calls as lines for the session shell. The shell parses a line back to the same call."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doorward.commands.catalogue.entry import ARGUMENTS_PARAMETER, FOLDER_PARAMETER, INPUT_PARAMETER, CatalogueParameter
from doorward.commands.programs.catalogue_command import CatalogueCommand
from doorward.core.command import Command

_WORKSPACE = "/workspace"
_encode = msgspec.json.Encoder().encode


def format_line(command: Command, params: Mapping[str, Any]) -> str:
    """Write a call as a line, such as `shell/find . -name '*.py'`."""
    if isinstance(command, CatalogueCommand):
        return _format_program(command, params)
    return " ".join([command.name, *(_format_option(key, value) for key, value in params.items())])


def asks_for_help(command: Command, words: Sequence[str]) -> bool:
    """Whether the words after a command ask for its help: `--help`, or `-h` alone unless that is an option of it."""
    if isinstance(command, CatalogueCommand):
        options = {spelling for one in command.entry.options for spelling in (one.short, one.long)}
    else:
        options = {f"--{name}" for name in command.arguments}
    before = list(words[: words.index("--")] if "--" in words else words)
    return ("--help" in before and "--help" not in options) or (before == ["-h"] and "-h" not in options)


def _format_option(key: str, value: Any) -> str:
    if value is True:
        return f"--{key}"
    return f"--{key}={shlex.quote(value if isinstance(value, str) else _encode(value).decode())}"


def _format_program(command: CatalogueCommand, params: Mapping[str, Any]) -> str:
    """Write the call of a program, which takes words: options in their own spelling, and the rest unchanged."""
    if ARGUMENTS_PARAMETER in params:
        words = [shlex.quote(str(one)) for one in params[ARGUMENTS_PARAMETER]]
    else:
        options = {one.name: one for one in command.entry.options}
        behind = {one.name for one in command.entry.arguments if one.after_dashes}
        words = []
        for key, value in params.items():
            if key in options:
                words += _format_program_option(options[key], value)
            elif key not in (FOLDER_PARAMETER, INPUT_PARAMETER, *behind):
                words += [shlex.quote(str(one)) for one in _as_list(value)]
        last = [shlex.quote(str(one)) for key in params if key in behind for one in _as_list(params[key])]
        words += ["--", *last] if last else []
    if params.get(INPUT_PARAMETER):
        words += ["<<<", shlex.quote(params[INPUT_PARAMETER].removesuffix("\n"))]  # the shell appends a line break
    typed = " ".join([command.name, *words])
    folder = params.get(FOLDER_PARAMETER, ".")
    return typed if folder == "." else f"cd {shlex.quote(f'{_WORKSPACE}/{folder}')} && {typed}"


def _format_program_option(option: CatalogueParameter, value: Any) -> list[str]:
    spelt = option.long or option.short
    if option.type == "flag":
        return [spelt] if value else []
    if spelt.startswith("--"):
        return [f"{spelt}={shlex.quote(str(one))}" for one in _as_list(value)]
    return [part for one in _as_list(value) for part in (spelt, shlex.quote(str(one)))]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
