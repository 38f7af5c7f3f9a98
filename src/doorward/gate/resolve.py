"""Step 2: which command is meant, and are its parameters well formed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from doorward.approvals.approvals import Approval
from doorward.calltext import typed
from doorward.command import Command
from doorward.errors import BadParams
from doorward.gate.authorize import Authorizer
from doorward.ids import new_id
from doorward.model import Call, Caller, Request
from doorward.registry import Registry

LARGEST_PARAMS = 16 * 1024 * 1024
_canonical = msgspec.json.Encoder(order="sorted").encode


class Resolver:
    def __init__(
        self,
        registry: Registry,
        authorizer: Authorizer,
        key: bytes,
        workspace_of: Callable[[str], str],
    ) -> None:
        self._registry = registry
        self._authorizer = authorizer
        self._key = key
        self._workspace_of = workspace_of

    def call(self, caller: Caller, request: Request) -> Call:
        """The request as a call, or a refusal that says what would be valid."""
        command, room = self.command(caller, request), caller.acts_in(request.room)
        if request.params is not None and request.args is not None:
            raise BadParams("Parameters are given as values or as text, not both.")
        params: Mapping[str, Any]
        params = typed(command, request.args) if request.args is not None else request.params or {}
        command.check(params)
        workspace = self._workspace_of(caller.tenant)
        return Call(
            id=new_id(),
            caller=caller,
            command=command,
            params=params,
            room=room,
            door=request.door,
            session=request.session or f"{request.door}:{caller.tenant}:{caller.id}",
            response=request.response,
            workspace=workspace,
            digest=self._digest(caller, command, params, room, workspace),
        )

    def command(self, caller: Caller, request: Request) -> Command:
        """The command that is meant, among all there are; a refusal names only those the caller may use."""
        return self._registry.resolve(request.command, _Offered(self._authorizer, caller, caller.acts_in(request.room)))

    def _digest(self, caller: Caller, command: Command, params: Mapping[str, Any], room: str, workspace: str) -> str:
        """Keyed, so that nobody can guess a short secret parameter from the ledger."""
        try:
            who = (caller.tenant, caller.id, caller.kind, caller.on_behalf_of, int(caller.access), caller.rooms)
            text = _canonical([command.name, command.version, params, room, workspace, *who])
        except UnicodeEncodeError as error:
            raise BadParams(f"{command.name}: a parameter holds bytes that are not UTF-8 text.") from error
        if len(text) > LARGEST_PARAMS:
            raise BadParams(
                f"{command.name}: the parameters are too large: {len(text)} bytes, at most {LARGEST_PARAMS}."
            )
        return hashlib.blake2b(text, key=self._key, digest_size=32).hexdigest()


def as_asked(request: Request, ticket: Approval | None) -> Request:
    """A request that shows only its ticket means what the ticket was given for, in the room where that was."""
    if ticket is None or request.params is not None or request.args is not None:
        return request
    return msgspec.structs.replace(
        request, command=request.command or ticket.command, params=json.loads(ticket.params), room=ticket.room
    )


class _Offered:
    """The names offered to a caller, worked out only when a refusal needs them."""

    def __init__(self, authorizer: Authorizer, caller: Caller, room: str) -> None:
        self._parts = (authorizer, caller, room)

    def __iter__(self) -> Any:
        authorizer, caller, room = self._parts
        return iter([command.name for command in authorizer.offered(caller, room)])
