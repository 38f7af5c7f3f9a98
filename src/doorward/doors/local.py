"""The terminal's door: what `doorward` commands ask, in the same words with and without a running server."""

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
"""As `speak_as`: the person at the terminal, and no agent of theirs."""


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One request of the person who owns this home folder, or of somebody who shows a token."""

    command: str = ""
    words: list[str] | None = None
    """What was typed behind the command: `--key=value`, or the words of a program, as the command takes them."""
    params: dict[str, Any] | None = None
    room: str = ""
    speak_as: str = NOBODY
    token: str = ""
    ticket: str = ""
    dry_run: bool = False
    cache: bool = False
    stream: bool = False
    """Whether the answer tells what goes on, line by line, before it ends with the outcome."""

    def request(self, registry: Registry) -> Request:
        """As the gate takes it. Only this door, which the operating system guards, vouches for the owner."""
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
        raise BadParams(f"The request is not as it should be: {error}.") from error


def _meant(registry: Registry, name: str) -> Command | None:
    """The command, as far as the terminal must know it; whether there is one is for the gate to say."""
    try:
        return registry.resolve(name, ())
    except UnknownCommand:
        return None


def _own_options(command: Command | None, room: str, speak_as: str, words: list[str]) -> tuple[str, str, list[str]]:
    """People write `--room` and `--as` behind the command too; there they count unless the command has them itself."""
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
    """The words of a program, and what stands among them by name but is meant for Doorward, up to a `--`."""
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
    """Whether these are the command's own parameters by name, rather than the words of its program."""
    return all(word.startswith("--") and word[2:].partition("=")[0] in command.arguments for word in words)
