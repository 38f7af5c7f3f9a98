"""Requests of the `doorward` CLI, in the same form with and without a running server."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.calltext import read_args
from doorward.command import Command
from doorward.errors import BadParams, UnknownCommand
from doorward.model import Credential, Request
from doorward.registry import Registry

DOOR = "terminal"
NOBODY = ""
"""Value of `speak_as` for the person at the terminal, rather than one of their agents."""


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A request of the owner of this home folder, or of the holder of a token."""

    command: str = ""
    words: list[str] | None = None
    """The words typed after the command: `--key=value`, or a program's arguments."""
    params: dict[str, Any] | None = None
    room: str = ""
    speak_as: str = NOBODY
    token: str = ""
    ticket: str = ""
    dry_run: bool = False
    cache: bool = False
    stream: bool = False
    """Whether to stream notices as lines before the outcome."""

    def request(self, registry: Registry) -> Request:
        """The request for the gate. Only this door may claim to be the owner: the system guards its socket."""
        room, speak_as, params, args = self.room, self.speak_as, self.params, None
        if self.words is not None:
            command = _meant(registry, self.command)
            room, speak_as, words = _own_options(command, room, speak_as, self.words)
            if command is not None and command.words and not _all_named(command, words):
                params = {**(params or {}), **_beside(command, words)}
            else:
                args = read_args(words) if command is not None else ()
        return Request(
            command=self.command,
            credential=Credential(owner=not self.token, token=self.token, speak_as="" if self.token else speak_as),
            door=DOOR,
            room=room,
            params=params,
            args=args,
            ticket=self.ticket,
            dry_run=self.dry_run,
            cache=self.cache,
        )


def parse(body: Any) -> Ask:
    try:
        return msgspec.convert(body, Ask)
    except msgspec.ValidationError as error:
        raise BadParams(f"The request is not valid: {error}.") from error


def _meant(registry: Registry, name: str) -> Command | None:
    """The command, or None. The gate reports unknown commands."""
    try:
        return registry.resolve(name, ())
    except UnknownCommand:
        return None


def _own_options(command: Command | None, room: str, speak_as: str, words: list[str]) -> tuple[str, str, list[str]]:
    """Take `--room` and `--as` from the words after the command, unless the command declares them itself."""
    declared = command.arguments if command is not None else {}
    kept = []
    for word in words:
        key, _, value = word.removeprefix("--").partition("=")
        if word.startswith("--room=") and key not in declared:
            room = value
        elif word.startswith("--as=") and key not in declared:
            speak_as = "" if value == "me" else value
        else:
            kept.append(word)
    return room, speak_as, kept


def _beside(command: Command, words: list[str]) -> dict[str, Any]:
    """A program's arguments, with Doorward's own named options (before a `--`) taken out of them."""
    end = words.index("--") if "--" in words else len(words)
    named, rest = {}, []
    for word in words[:end]:
        key, given, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and given and key in command.beside_words:
            named[key] = value
        else:
            rest.append(word)
    return {**named, command.words: rest + words[end:]}


def _all_named(command: Command, words: list[str]) -> bool:
    """Whether all words are the command's own named parameters rather than a program's arguments."""
    return all(word.startswith("--") and word[2:].partition("=")[0] in command.arguments for word in words)
