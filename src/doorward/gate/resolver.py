"""Step 2: find the command and validate its parameters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from doorward.core import redact
from doorward.core.argtext import convert_args
from doorward.core.command import Command, FindAliased
from doorward.core.errors import BadParams, Refused, UnknownCommand
from doorward.core.ids import new_id
from doorward.core.model import Call, Caller, Request, UnavailableCommand
from doorward.core.registry import Registry
from doorward.gate.approval import Approval
from doorward.gate.authorizer import Authorizer
from doorward.rooms.people import LOCAL
from doorward.sandbox.view import strip_workspace

LARGEST_PARAMS = 16 * 1024 * 1024
_canonical = msgspec.json.Encoder(order="sorted").encode


class Resolver:
    def __init__(
        self,
        registry: Registry,
        authorizer: Authorizer,
        key: bytes,
        place_of: Callable[[Caller, str, str, Command], tuple[str, str]],
        absent: Callable[[str], UnavailableCommand | None] = lambda _: None,
    ) -> None:
        """`place_of` gives the folder and the draft that a call works in, by caller, room, session and command.

        `absent` explains why a known command is not available at the moment.
        """
        self._registry = registry
        self._authorizer = authorizer
        self._key = key
        self._place_of = place_of
        self._absent = absent

    def call(self, caller: Caller, request: Request, ticket: Approval | None = None) -> Call:
        """The request as a valid call. Raises a refusal that says what would be valid."""
        if ticket is not None and request.params is None and request.args is None:
            request = self._as_approved(caller, request, ticket)
        command, room = self.command(caller, request), caller.resolve_room(request.room)
        if request.params is not None and request.args is not None:
            raise BadParams("Parameters were given both as values and as text. Give one of them.")
        params: Mapping[str, Any]
        params = convert_args(command, request.args) if request.args is not None else request.params or {}
        command.check(params)
        if command.find_aliased is not None:
            command, params = self._meant(caller, room, command, command.find_aliased, params)
        params = _with_relative_path(command, params)
        command.parts_of(params)  # parts that cannot be read are refused before anything decides about them
        session = request.session or f"{request.door}:{caller.tenant}:{caller.id}"
        workspace, draft = self._place_of(caller, room, session, command)
        return Call(
            id=new_id(),
            caller=caller,
            command=command,
            params=params,
            room=room,
            door=request.door,
            session=session,
            response=request.response,
            workspace=workspace,
            digest=self._digest(caller, command, params, room, workspace),
            draft=draft,
            keeper_call=request.keeper_call,
            known_secrets=self._collect_secrets(command, params, request, ticket),
        )

    def command(self, caller: Caller, request: Request) -> Command:
        """The command that the request names. A refusal suggests only commands that the caller may use."""
        room, private = caller.resolve_room(request.room), caller.tenant == LOCAL
        try:
            return self._registry.resolve(request.command, _Offered(self._authorizer, caller, room), private=private)
        except UnknownCommand:
            absent = self.absent(caller, room, request.command)
            if absent is None:
                raise
            raise UnknownCommand(absent.message, hint=absent.hint, retry_after=absent.retry_after) from None

    def named(self, caller: Caller | None, request: Request, refusal: Refused) -> Request:
        """The refused request under the canonical name of its command, where the refusal names the command anyway."""
        if caller is None or not isinstance(refusal, BadParams):
            return request
        try:
            return msgspec.structs.replace(request, command=self.command(caller, request).name)
        except (UnknownCommand, UnicodeEncodeError):
            return request

    @staticmethod
    def _collect_secrets(
        command: Command, params: Mapping[str, Any], request: Request, ticket: Approval | None
    ) -> tuple[str, ...]:
        """The secrets that no record may show: those of the request, and those redacted when it was parked."""
        known_secrets = request.known_secrets
        if command.find_secrets is not None:
            known_secrets += command.secrets_in(params)
        if ticket is not None:
            recorded = json.loads(ticket.redacted)
            if redact.params(params, command.secret, known_secrets) != recorded:
                known_secrets += tuple(redact.find_redacted(params, recorded))
        return known_secrets

    def _as_approved(self, caller: Caller, request: Request, ticket: Approval) -> Request:
        """The approved request, for a request that carries only the ticket."""
        named = request.command
        if not named or self.command(caller, request).find_aliased is not None:
            named = ticket.command
        return msgspec.structs.replace(request, command=named, params=json.loads(ticket.params), room=ticket.room)

    def absent(self, caller: Caller, room: str, name: str) -> UnavailableCommand | None:
        """Why a command is not available now, for callers who could run it otherwise."""
        found = self._absent(name) if caller.tenant == LOCAL else None
        if found is None or not self._authorizer.might_run(caller, room, found.name, found.tier):
            return None
        return found

    def _meant(
        self, caller: Caller, room: str, command: Command, meant: FindAliased, params: Mapping[str, Any]
    ) -> tuple[Command, Mapping[str, Any]]:
        """The command that an alias command stands for, if the caller may use the alias."""
        policy = self._authorizer.policy(caller, room) if room else None
        allowed = self._authorizer.rule(caller, room, command).allowed
        if not allowed or (policy is not None and not policy.check_params(command, params).allowed):
            return command, params  # refused later, under its own name
        found = meant(self._registry, params)
        if found is None:
            return command, params
        command, params = self._registry[found[0]], found[1]
        command.check(params)
        return command, params

    def _digest(self, caller: Caller, command: Command, params: Mapping[str, Any], room: str, workspace: str) -> str:
        """A keyed hash, so that nobody can guess a short secret parameter from the ledger."""
        try:
            rooms = None if caller.persona else caller.rooms  # a persona's rooms change when members come and go
            who = (caller.tenant, caller.id, caller.kind, caller.on_behalf_of, int(caller.access), rooms)
            thought = ("keeper",) if caller.keeper else ()  # an approval for the keeper is for nobody else
            text = _canonical([command.name, command.version, params, room, workspace, *who, *thought])
        except UnicodeEncodeError as error:
            raise BadParams(f"{command.name}: a parameter holds bytes that are not UTF-8 text.") from error
        if len(text) > LARGEST_PARAMS:
            raise BadParams(f"{command.name}: the parameters have {len(text)} bytes; the limit is {LARGEST_PARAMS}.")
        return hashlib.blake2b(text, key=self._key, digest_size=32).hexdigest()


def _with_relative_path(command: Command, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give a path one spelling before anything decides about it: relative to the workspace."""
    path = params.get(command.path_parameter) if command.path_parameter else None
    if path is None or (relative := strip_workspace(path)) == path:
        return params
    return {**params, command.path_parameter: relative}


class _Offered:
    """The names offered to a caller, computed only when a refusal needs them."""

    def __init__(self, authorizer: Authorizer, caller: Caller, room: str) -> None:
        self._parts = (authorizer, caller, room)

    def __iter__(self) -> Any:
        authorizer, caller, room = self._parts
        return iter([command.name for command in authorizer.offered(caller, room)])
