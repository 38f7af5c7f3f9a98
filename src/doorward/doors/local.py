"""The terminal's door: what `doorward` commands ask, in the same words with and without a running server."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.errors import BadParams
from doorward.model import Credential, Request
from doorward.names import folded
from doorward.registry import Registry

DOOR = "terminal"
NOBODY = ""
"""As `speak_as`: the person at the terminal, and no agent of theirs."""


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One request of the person who owns this home folder, or of somebody who shows a token."""

    command: str = ""
    args: list[tuple[str, str]] | None = None
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
        room, speak_as, args = self.room, self.speak_as, self.args
        if args is not None:
            room, speak_as, args = _own_options(registry, self.command, room, speak_as, args)
        return Request(
            command=self.command,
            credential=Credential(owner=not self.token, token=self.token, speak_as="" if self.token else speak_as),
            door=DOOR,
            room=room,
            params=self.params,
            args=None if args is None else tuple(args),
            ticket=self.ticket,
            dry_run=self.dry_run,
            cache=self.cache,
        )


def parse(body: Any) -> Ask:
    try:
        return msgspec.convert(body, Ask)
    except msgspec.ValidationError as error:
        raise BadParams(f"The request is not as it should be: {error}.") from error


def _own_options(
    registry: Registry, command: str, room: str, speak_as: str, args: list[tuple[str, str]]
) -> tuple[str, str, list[tuple[str, str]]]:
    """People write `--room` and `--as` behind the command too; there they count unless the command has them itself."""
    declared = next((one.arguments for one in registry if folded(one.name) == folded(command)), {})
    kept = []
    for key, value in args:
        if key == "room" and key not in declared:
            room = value
        elif key == "as" and key not in declared:
            speak_as = "" if value == "me" else value
        else:
            kept.append((key, value))
    return room, speak_as, kept
