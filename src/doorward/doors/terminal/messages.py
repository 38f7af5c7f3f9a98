"""Messages between the `doorward` command and the server: requests and completion words."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.commands.help.shell_line import asks_for_help
from doorward.core.argtext import parse_args
from doorward.core.command import Command
from doorward.core.errors import BadParams, UnknownCommand
from doorward.core.model import Credential, Request
from doorward.core.registry import Registry
from doorward.rooms.people import LOCAL
from doorward.rooms.rooms import Rooms

SHELL_WORDS_PATH = "/api/shell/words"
ROOM_OF_FOLDER_PATH = "/api/folder/room"


class ShellOption(msgspec.Struct, frozen=True):
    spelling: str
    """As it is typed. One that ends with `=` is followed by its value."""
    help: str = ""
    choices: list[str] = []


class ShellWord(msgspec.Struct, frozen=True):
    """A word that a command can begin with."""

    word: str
    command: str
    summary: str
    options: list[ShellOption] = []


DOOR = "terminal"
_BUILTINS = "sh/"
HELP_COMMAND = f"{_BUILTINS}help"
"""The built-in of the session shell that prints the help of a command."""
NO_AGENT = ""
"""Value of `speak_as` for the person at the terminal, rather than one of their agents."""


class TerminalRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A request of the owner of this home folder, or of the holder of a token."""

    command: str = ""
    words: list[str] | None = None
    """The words typed after the command: `--key=value`, or a program's arguments."""
    params: dict[str, Any] | None = None
    room: str = ""
    folder: str = ""
    """The person's current folder, unless they named a room. The room that works there takes the place of `room`."""
    speak_as: str = NO_AGENT
    token: str = ""
    ticket: str = ""
    dry_run: bool = False
    cache: bool = False
    stream: bool = False
    """Whether to stream notices as lines before the outcome."""

    def to_gate_request(self, registry: Registry, rooms: Rooms) -> Request:
        """The request for the gate. Only this door may claim to be the owner: the system guards its socket."""
        named, speak_as, params, args = None, self.speak_as, self.params, None
        if self.words is not None:
            command = _find_command(registry, self.command)
            if command is not None and asks_for_help(command, self.words):
                return self._help_request(command)
            named, speak_as, words = _take_door_options(command, speak_as, self.words)
            if command is not None and command.words and not _are_all_named(command, words):
                params = {**(params or {}), **_split_program_words(command, words)}
            else:
                args = parse_args(words) if command is not None else ()
        return Request(
            command=self.command,
            credential=Credential(owner=not self.token, token=self.token, speak_as="" if self.token else speak_as),
            door=DOOR,
            room=named if named is not None else self._find_room(rooms),
            params=params,
            args=args,
            ticket=self.ticket,
            dry_run=self.dry_run,
            cache=self.cache,
        )

    def _find_room(self, rooms: Rooms) -> str:
        return (rooms.find_by_folder(LOCAL, self.folder) if self.folder else "") or self.room

    def _help_request(self, command: Command) -> Request:
        """The request for the help of a command. The owner reads all help, whatever the room's recipe allows."""
        return Request(
            command=HELP_COMMAND,
            credential=Credential(owner=not self.token, token=self.token),
            door=DOOR,
            room=self.room if self.token else "",
            params={"args": [command.name.removeprefix(_BUILTINS)]},
        )


def parse_request(body: Any) -> TerminalRequest:
    try:
        return msgspec.convert(body, TerminalRequest)
    except msgspec.ValidationError as error:
        raise BadParams(f"The request is not valid: {error}.") from error


def _find_command(registry: Registry, name: str) -> Command | None:
    """The command, or None. The gate reports unknown commands."""
    try:
        return registry.resolve(name, ())
    except UnknownCommand:
        return None


def _take_door_options(command: Command | None, speak_as: str, words: list[str]) -> tuple[str | None, str, list[str]]:
    """Take `--room` and `--as` from the words after the command, unless the command declares them itself."""
    declared = command.arguments if command is not None else {}
    room, kept = None, []
    for word in words:
        key, _, value = word.removeprefix("--").partition("=")
        if word.startswith("--room=") and key not in declared:
            room = value
        elif word.startswith("--as=") and key not in declared:
            if not value:  # it would mean the person, who may do more than an agent
                raise BadParams("--as is empty. Give the name of an agent, or `me` for yourself.")
            speak_as = "" if value == "me" else value
        else:
            kept.append(word)
    return room, speak_as, kept


def _split_program_words(command: Command, words: list[str]) -> dict[str, Any]:
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


def _are_all_named(command: Command, words: list[str]) -> bool:
    """Whether all words are the command's own named parameters rather than a program's arguments."""
    return all(word.startswith("--") and word[2:].partition("=")[0] in command.arguments for word in words)
