"""Endpoints that take a command's name or only inform: run, explain, commands, me."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from doorward.command import Command, Undo, shortened
from doorward.doors.rest import reading
from doorward.doors.rest.bodies import Explain, Me, Offer, Offers, Run
from doorward.doors.rest.governed import DOOR, Governed, answered, as_json
from doorward.doors.rest.once import Once
from doorward.doors.rest.streams import Streams
from doorward.errors import BadParams
from doorward.model import Request as Asked
from doorward.store.command_index import CommandIndex

T = TypeVar("T", bound=msgspec.Struct)
_MISFIT = re.compile(r"Expected `([^`]+)`(?: of length ([<>])= (\d+))?(?:, got `([^`]+)`)? - at `\$\.(\w+)`")
_KINDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
}


class Asking:
    def __init__(self, governed: Governed, streams: Streams, once: Once, index: CommandIndex) -> None:
        self._governed = governed
        self._streams = streams
        self._once = once
        self._index = index
        self._gate = governed.gate

    async def run(self, request: Request) -> Response:
        reading.query(request, [])
        credential = await self._governed.vouched(request, "")
        body = await reading.body(request)
        run = read(body, Run)
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
        return await self._answer(request, asked, body)

    async def run_command(self, request: Request) -> Response:
        name = str(request.path_params["command"])
        credential = await self._governed.vouched(request, name)
        query = reading.query(request, ["room", "ticket", "dryRun", "cache"])
        body = await reading.body(request)
        asked = Asked(
            command=name,
            credential=credential,
            door=DOOR,
            room=query.get("room", ""),
            params=None if query.get("ticket") and not body else reading.parsed(body),
            ticket=query.get("ticket", ""),
            dry_run=_flag(query, "dryRun"),
            cache=_flag(query, "cache"),
        )
        return await self._answer(request, asked, body)

    async def _answer(self, request: Request, asked: Asked, body: bytes) -> Response:
        if reading.accepts(request, [reading.JSON, reading.EVENT_STREAM]) == reading.EVENT_STREAM:
            self._once.not_here(request)
            return self._streams.run(asked)
        return await self._once.answer(
            request,
            asked,
            body,
            lambda one, watch: self._governed.outcome(request, one, watch),
            lambda one: answered(one, whole=True),
        )

    async def explain(self, request: Request) -> Response:
        reading.query(request, [])
        credential = await self._governed.vouched(request, "")
        given = read(await reading.body(request), Explain)
        asked = Asked(command=given.command, credential=credential, door=DOOR, room=given.room)
        return as_json(await self._gate.explain(asked))

    async def me(self, request: Request) -> Response:
        reading.query(request, [])
        caller = self._gate.caller(await self._governed.vouched(request, ""))
        rooms = list(caller.rooms) if caller.rooms is not None else None
        return as_json(Me(caller.tenant, caller.id, caller.kind, caller.access.label, caller.on_behalf_of, rooms))

    async def commands(self, request: Request) -> Response:
        """The commands that the gate would let this caller run. Every door lists the same ones."""
        caller = self._gate.caller(await self._governed.vouched(request, ""))
        query = reading.query(request, ["room", "search", "limit", "cursor"])
        limit = reading.number(query, "limit", 1, 200, default=50)
        start = reading.number(query, "cursor", 0, 1_000_000, default=0)
        room = caller.acts_in(query.get("room", ""))
        if room:
            self._gate.enter(caller, room)
        offered = sorted(self._gate.offered(caller, room), key=lambda one: one.name)
        if query.get("search", "").strip():
            offered = await self._found(query["search"], offered, caller.tenant)
        page = offered[start : start + limit]
        end = start + len(page)
        more = str(end) if page and end < len(offered) else None
        return as_json(Offers([_offer(one) for one in page], len(offered), more))

    async def _found(self, search: str, offered: list[Command], tenant: str) -> list[Command]:
        """The commands that match a search, best first, as help/search finds them."""
        by_name = {one.name: one for one in offered}
        await self._index.ready()
        return [by_name[hit.command] for hit in self._index.hits(search, by_name, len(by_name), tenant, meaning=True)]


def read(body: bytes, kind: type[T]) -> T:
    """Parse a body. Error messages never repeat its values, because one may be a password."""
    given = reading.parsed(body)
    fields = {field.encode_name: field.required for field in msgspec.structs.fields(kind)}
    for name in given:
        if name not in fields:
            raise BadParams(f"Unknown field {shortened(name)}. The body takes {', '.join(fields)}.")
    for name, required in fields.items():
        if required and name not in given:
            raise BadParams(
                f"The body needs `{name}`. It takes {', '.join(fields)}; given {', '.join(given) or 'none'}."
            )
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise BadParams(_misfit(str(error))) from error


def _misfit(told: str) -> str:
    """Rewrite msgspec's error about a field as a sentence in our terms."""
    found = _MISFIT.match(told)
    if found is None:
        return f"The body is not valid: {told}."
    expected, bound, length, given, field = found.groups()
    valid = " or ".join(_KINDS.get(one, one) for one in expected.split(" | "))
    size = f" of at {'most' if bound == '<' else 'least'} {length} characters" if length else ""
    return f"The field `{field}` must be {valid}{size}" + (f"; given {_KINDS.get(given, given)}." if given else ".")


def _offer(one: Command) -> Offer:
    facts = one.facts
    return Offer(
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


def _flag(query: Mapping[str, str], name: str) -> bool:
    given = query.get(name, "false")
    if given not in ("true", "false"):
        raise BadParams(f"The query parameter {name} must be true or false; given {given[:80]!r}.")
    return given == "true"
