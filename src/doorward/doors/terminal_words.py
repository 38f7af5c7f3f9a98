"""Completion words for the shell, served over the owner's socket.

The words are exactly the commands that the gate would let the caller run. Nothing runs and nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from doorward.backends.context import Services
from doorward.backends.session.builtins.builtin import KNOWN
from doorward.backends.shell.catalogue_command import CatalogueCommand
from doorward.command import Command
from doorward.doors.typable import PATH, Option, Word
from doorward.gate.gate import Gate
from doorward.model import Credential


class Words:
    def __init__(self, gate: Gate, services: Services) -> None:
        self._gate = gate
        self._services = services
        self.routes = [Route(PATH, self._told, methods=["GET"])]

    async def _told(self, request: Request) -> Response:
        caller = self._gate.caller(Credential(owner=True))
        room = caller.acts_in(request.query_params.get("room", ""))
        if room:
            self._gate.enter(caller, room)
        found = words(self._gate.offered(caller, room), self._services.sessions.builtins)
        return Response(msgspec.json.encode(found), media_type="application/json")


def words(offered: Iterable[Command], builtins: Mapping[str, str]) -> list[Word]:
    """Built-ins, then programs, then all other commands: the order in which the shell looks up a word."""
    by_name = {command.name: command for command in offered}
    found = {
        word: Word(word, name, by_name[name].summary, list(_of_builtin(word)))
        for word, name in sorted(builtins.items())
        if name in by_name
    }
    for command in by_name.values():
        if isinstance(command, CatalogueCommand) and command.entry.name not in found:
            word = command.entry.name
            found[word] = Word(word, command.name, command.summary, list(_of_program(command)))
    hidden = set(builtins.values())
    for command in by_name.values():
        if command.name not in hidden and not command.unlisted:
            found[command.name] = Word(command.name, command.name, command.summary, list(_of_command(command)))
    return list(found.values())


def _of_builtin(word: str) -> Iterator[Option]:
    known = KNOWN.get(word)
    for spelt, about in known.options.items() if known is not None else ():
        for spelling in spelt.split():
            if spelling.startswith("-"):
                yield Option(spelling, about)


def _of_program(command: CatalogueCommand) -> Iterator[Option]:
    for one in command.entry.options:
        if one.long:
            takes = "=" if one.spelled == "equals" and one.type != "flag" else ""
            yield Option(f"{one.long}{takes}", one.help, list(one.choices))
        if one.short:
            yield Option(one.short, one.help, list(one.choices))


def _of_command(command: Command) -> Iterator[Option]:
    for name, spec in command.schema["properties"].items():
        about = spec if isinstance(spec, dict) else {}
        choices = [str(one) for one in about.get("enum", ()) if isinstance(one, str)]
        yield Option(f"--{name}=", str(about.get("description", "")), choices)
