"""Endpoints that take a command's name or only inform: run, explain, commands, me."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from doorward.core.command import Command, Undo, shorten
from doorward.core.errors import BadParams
from doorward.core.model import Request as Asked
from doorward.doors.rest import request_reader
from doorward.doors.rest.bodies import CommandPage, CommandSummary, ExplainRequest, Identity, RunRequest
from doorward.doors.rest.event_streams import StreamEndpoints
from doorward.doors.rest.gate_client import DOOR, GateClient, json_response, outcome_response
from doorward.doors.rest.idempotency import IdempotencyKeys
from doorward.store.command_index import CommandIndex

T = TypeVar("T", bound=msgspec.Struct)
_MSGSPEC_ERROR = re.compile(r"Expected `([^`]+)`(?: of length ([<>])= (\d+))?(?:, got `([^`]+)`)? - at `\$\.(\w+)`")
_KINDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
}


class CommandEndpoints:
    def __init__(
        self, governed: GateClient, streams: StreamEndpoints, once: IdempotencyKeys, index: CommandIndex
    ) -> None:
        self._governed = governed
        self._streams = streams
        self._once = once
        self._index = index
        self._gate = governed.gate

    async def run(self, request: Request) -> Response:
        request_reader.read_query(request, [])
        credential = await self._governed.authenticate(request, "")
        body = await request_reader.read_json_body(request)
        run = parse_body(body, RunRequest)
        if not run.command and not run.ticket:
            raise BadParams("The body must have `command` or `ticket`; neither is given.")
        asked = Asked(
            command=run.command,
            credential=credential,
            door=DOOR,
            room=run.room,
            params=run.params,
            ticket=run.ticket,
            dry_run=run.dry_run,
            cache=run.cache,
        )
        return await self._respond(request, asked, body)

    async def run_command(self, request: Request) -> Response:
        name = str(request.path_params["command"])
        credential = await self._governed.authenticate(request, name)
        query = request_reader.read_query(request, ["room", "ticket", "dryRun", "cache"])
        body = await request_reader.read_json_body(request)
        asked = Asked(
            command=name,
            credential=credential,
            door=DOOR,
            room=query.get("room", ""),
            params=None if query.get("ticket") and not body else request_reader.parse_optional_object(body),
            ticket=query.get("ticket", ""),
            dry_run=_parse_flag(query, "dryRun"),
            cache=_parse_flag(query, "cache"),
        )
        return await self._respond(request, asked, body)

    async def _respond(self, request: Request, asked: Asked, body: bytes) -> Response:
        if (
            request_reader.negotiate_format(request, [request_reader.JSON, request_reader.EVENT_STREAM])
            == request_reader.EVENT_STREAM
        ):
            self._once.refuse_key(request)
            return self._streams.run(asked)
        return await self._once.respond(
            request,
            asked,
            body,
            lambda one, watch: self._governed.run(request, one, watch),
            lambda one: outcome_response(one, whole=True),
        )

    async def explain(self, request: Request) -> Response:
        request_reader.read_query(request, [])
        credential = await self._governed.authenticate(request, "")
        given = parse_body(await request_reader.read_json_body(request), ExplainRequest)
        asked = Asked(command=given.command, credential=credential, door=DOOR, room=given.room)
        return json_response(await self._gate.explain(asked))

    async def me(self, request: Request) -> Response:
        request_reader.read_query(request, [])
        caller = self._gate.caller(await self._governed.authenticate(request, ""))
        rooms = list(caller.rooms) if caller.rooms is not None else None
        return json_response(
            Identity(caller.tenant, caller.id, caller.kind, caller.access.label, caller.on_behalf_of, rooms)
        )

    async def commands(self, request: Request) -> Response:
        """The commands that the gate would let this caller run. Every door lists the same ones."""
        caller = self._gate.caller(await self._governed.authenticate(request, ""))
        query = request_reader.read_query(request, ["room", "search", "limit", "cursor"])
        limit = request_reader.read_integer(query, "limit", 1, 200, default=50)
        start = request_reader.read_integer(query, "cursor", 0, 1_000_000, default=0)
        room = caller.resolve_room(query.get("room", ""))
        if room:
            self._gate.enter(caller, room)
        offered = sorted(self._gate.offered(caller, room), key=lambda one: one.name)
        if query.get("search", "").strip():
            offered = await self._search(query["search"], offered, caller.tenant)
        page = offered[start : start + limit]
        end = start + len(page)
        more = str(end) if page and end < len(offered) else None
        return json_response(CommandPage([_summarize(one) for one in page], len(offered), more))

    async def _search(self, search: str, offered: list[Command], tenant: str) -> list[Command]:
        """The commands that match a search, best first, as help/search finds them."""
        by_name = {one.name: one for one in offered}
        await self._index.ready()
        return [by_name[hit.command] for hit in self._index.hits(search, by_name, len(by_name), tenant, meaning=True)]


def parse_body(body: bytes, kind: type[T]) -> T:
    """Parse a body. Error messages never repeat its values, because one may be a password."""
    given = request_reader.parse_optional_object(body)
    fields = {field.encode_name: field.required for field in msgspec.structs.fields(kind)}
    for name in given:
        if name not in fields:
            raise BadParams(f"Unknown field {shorten(name)}. The body takes {', '.join(fields)}.")
    for name, required in fields.items():
        if required and name not in given:
            raise BadParams(
                f"The body needs `{name}`. It takes {', '.join(fields)}; given {', '.join(given) or 'none'}."
            )
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise BadParams(_explain_misfit(str(error))) from error


def _explain_misfit(told: str) -> str:
    """Rewrite msgspec's error about a field as a sentence in our terms."""
    found = _MSGSPEC_ERROR.match(told)
    if found is None:
        return f"The body is not valid: {told}."
    expected, bound, length, given, field = found.groups()
    valid = " or ".join(_KINDS.get(one, one) for one in expected.split(" | "))
    size = f" of at {'most' if bound == '<' else 'least'} {length} characters" if length else ""
    return f"The field `{field}` must be {valid}{size}" + (f"; given {_KINDS.get(given, given)}." if given else ".")


def _summarize(one: Command) -> CommandSummary:
    facts = one.facts
    return CommandSummary(
        one.name,
        one.wire,
        one.summary,
        one.usage,
        one.category,
        facts.tier.value,
        facts.safety.value,
        one.reads_only,
        facts.effects.names,
        facts.cost,
        isinstance(facts.undo, Undo),
    )


def _parse_flag(query: Mapping[str, str], name: str) -> bool:
    given = query.get(name, "false")
    if given not in ("true", "false"):
        raise BadParams(f"The query parameter {name} must be true or false; given {given[:80]!r}.")
    return given == "true"
