"""Live streams of a running command, of an execution and of events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from doorward.commands.context import Services
from doorward.commands.event import describe_event, may_see_event
from doorward.core.command import to_object
from doorward.core.errors import BadParams, NotPermitted
from doorward.core.event_buffer import MOST, NumberedEvent
from doorward.core.model import Caller, Credential
from doorward.core.model import Request as Asked
from doorward.doors.http import problems
from doorward.doors.http.call_stream import NoticeBuffer
from doorward.doors.rest import request_reader, sse
from doorward.doors.rest.gate_client import DOOR, GateClient
from doorward.doors.rest.resource import ResponseReady
from doorward.doors.rest.sse import (
    EventFrame,
    EventStreamResponse,
    FollowerQueue,
    FrameCache,
    Source,
    StreamSlots,
    encode_event,
    principal_of,
)
from doorward.gate.executions.execution import Execution
from doorward.gate.executions.notices import Notice, OutputNotice
from doorward.gate.gate import Gate

_MOST_WAITING = 500
"""Events queued for one client. With more its stream ends, and it must reconnect."""
_BATCH_SECONDS = 0.02
"""Seconds in which events are batched: a single call causes several, and many clients may listen."""
_RECHECK = 5.0
"""Seconds between checks that the caller may still listen."""
TOO_SLOW_EVENT = encode_event("end", {"reason": "The client reads too slowly. Reconnect with Last-Event-ID."})


class StreamEndpoints:
    def __init__(self, governed: GateClient, services: Services) -> None:
        self._governed = governed
        self._gate: Gate = governed.gate
        self._services = services
        rest = services.settings.rest
        self.slots = StreamSlots(rest.event_clients, rest.event_clients_each)
        self._frames = FrameCache(self._encode_event)

    def run(self, asked: Asked) -> Response:
        """Run a command and stream its notices. If the client disconnects, the command is cancelled."""

        async def notices() -> AsyncGenerator[bytes, None]:
            feed = NoticeBuffer(sse.encode_notice)
            working = asyncio.ensure_future(self._gate.handle(asked, feed.put))
            working.add_done_callback(lambda _: feed.close())
            try:
                while pieces := await feed.take():
                    yield pieces
                if not working.cancelled():
                    yield encode_event("outcome", {"type": "outcome", "outcome": working.result()})
            finally:
                working.cancel()

        return self._stream(asked.credential, notices)

    def _stream(self, credential: Credential, source: Source) -> Response:
        return EventStreamResponse(source, self.slots, principal_of(self._gate.caller(credential)))

    async def execution(self, request: Request) -> Response:
        """Stream an execution that another request started. Leaving does not cancel it."""
        request_reader.negotiate_format(request, [request_reader.EVENT_STREAM])
        credential = await self._governed.authenticate(request, "execution/status")
        query = request_reader.read_query(request, ["room", "offset"])
        offset = request_reader.read_integer(query, "offset", 0, 100_000_000, default=0)
        last = request.headers.get("last-event-id", "")
        if last.isascii() and last.isdecimal() and len(last) < 10:
            offset = int(last)
        id, room = str(request.path_params["execution"]), query.get("room", "")
        state = await self._query_gate(credential, room, "execution/status", {"execution": id})
        return self._stream(credential, lambda: self._generate_execution(credential, room, id, offset, state))

    async def _generate_execution(
        self, credential: Credential, room: str, id: str, offset: int, state: dict[str, Any]
    ) -> AsyncGenerator[bytes, None]:
        yield encode_event("state", state)
        page = {"execution": id, "offset": offset, "length": 25_000}
        outcome = await self._gate.handle(
            Asked(command="execution/output", credential=credential, door=DOOR, room=room, params=page)
        )
        live = self._services.executions.get(id)
        end: dict[str, Any] = {}
        if outcome.status == "done" and live is not None:
            async with contextlib.aclosing(_stream_output(live, offset)) as pieces:
                async for piece in pieces:
                    self._authorize_credential(credential, room, "execution/output")
                    if piece is not None:
                        yield piece
        elif outcome.status == "done":
            kept = to_object(outcome.result)
            yield encode_event("output", {"type": "output", **kept}, str(offset + len(kept["text"])))
            end["next"] = kept["next"]
        elif outcome.code != "not_found":
            end["output"] = outcome.message
        self._authorize_credential(credential, room, "execution/status")
        yield encode_event("end", {**await self._read_state(credential, room, id, state), **end})

    async def _read_state(self, credential: Credential, room: str, id: str, before: dict[str, Any]) -> dict[str, Any]:
        """The current state. If the gate refuses, for example by a rate limit, the state in memory is used."""
        outcome = await self._gate.handle(
            Asked(command="execution/status", credential=credential, door=DOOR, room=room, params={"execution": id})
        )
        if outcome.status == "done":
            return to_object(outcome.result)
        live = self._services.executions.get(id)
        return {**before, "state": live.state} if live is not None else before

    async def events(self, request: Request) -> Response:
        """Stream the events that event/list returns, then new ones."""
        request_reader.negotiate_format(request, [request_reader.EVENT_STREAM])
        credential = await self._governed.authenticate(request, "event/list")
        query = request_reader.read_query(request, ["room", "only"])
        last = request.headers.get("last-event-id", "")
        if len(last) > 64:
            raise BadParams(f"Last-Event-ID may have at most 64 characters; given {len(last)}.")
        room, only = query.get("room", ""), query.get("only", "")
        begun = await self.query_events(credential, room, only, last)
        return self._stream(credential, lambda: self._generate_events(credential, room, only, begun))

    async def query_events(self, credential: Credential, room: str, only: str, last: str) -> dict[str, Any]:
        """The events after the one with the id `last`; none when it is empty."""
        params = {"after": last, "only": only, "limit": MOST if last else 0}
        return await self._query_gate(credential, room, "event/list", params)

    def first_frames(self, begun: dict[str, Any]) -> tuple[list[EventFrame], list[NumberedEvent]]:
        """The first frames of a stream, and the events since its first query."""
        ready = {"next": begun["next"], "missed": begun["missed"]}
        first = EventFrame.create("ready", ready, "" if begun["items"] else begun["next"])
        missed = [EventFrame.create(item["event"], item, item["id"]) for item in begun["items"]]
        return [first, *missed], self._services.recent.events_after(begun["next"])[0]

    def visible_frames(self, caller: Caller, room: str, only: str, events: Iterable[NumberedEvent]) -> list[EventFrame]:
        """The events that concern a caller, as frames. Raises when the caller may no longer listen."""
        self._authorize(caller, room, "event/list")
        return [self._frames.get(one) for one in events if may_see_event(self._services, caller, one.event, only)]

    async def _generate_events(
        self, credential: Credential, room: str, only: str, begun: dict[str, Any]
    ) -> AsyncGenerator[bytes, None]:
        waiting = FollowerQueue[NumberedEvent](_MOST_WAITING)
        leave = self._services.recent.follow(lambda one: waiting.put(one, _BATCH_SECONDS))
        try:
            first, events = self.first_frames(begun)
            yield b"".join(one.encode() for one in first)
            while True:
                heard = self.visible_frames(self._gate.caller(credential), room, only, events)
                if heard:
                    yield b"".join(one.encode() for one in heard)
                if waiting.overflowed:
                    yield TOO_SLOW_EVENT
                    return
                events = await waiting.take(_RECHECK)
        finally:
            leave()
            waiting.close()

    def _encode_event(self, one: NumberedEvent) -> EventFrame:
        item = describe_event(self._services, one.number, one.event)
        return EventFrame.create(item["event"], item, item["id"])

    def _authorize_credential(self, credential: Credential, room: str, command: str) -> Caller:
        """The caller, if it may still listen. Tokens and recipes can change while a stream is open."""
        caller = self._gate.caller(credential)
        self._authorize(caller, room, command)
        return caller

    def _authorize(self, caller: Caller, room: str, command: str) -> None:
        ruling = self._services.get_ruling(caller, caller.resolve_room(room), self._services.registry[command])
        if not ruling.allowed:
            raise NotPermitted(ruling.reason, rule=ruling.rule)

    async def _query_gate(
        self, credential: Credential, room: str, command: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        """The result of a stream's first query. A refusal is sent as the response instead of a stream."""
        asked = Asked(command=command, credential=credential, door=DOOR, room=room, params=params)
        outcome = await self._gate.handle(asked)
        if outcome.status != "done":
            raise ResponseReady(problems.problem_response(outcome))
        return to_object(outcome.result)


async def _stream_output(live: Execution, offset: int) -> AsyncGenerator[bytes | None, None]:
    """The output of an execution from an offset to its end. Yields None now and then, so that access is rechecked."""

    text = live.output.text("output") if live.output is not None else ""
    at = len(text)

    def told(one: Notice) -> bytes:
        nonlocal at
        if isinstance(one, OutputNotice):
            at += len(one.text)
            return encode_event("output", one, str(at))
        return sse.encode_notice(one)

    feed = NoticeBuffer(told)
    leave = live.follow(feed.put)
    closing = asyncio.ensure_future(live.wait_closed())
    closing.add_done_callback(lambda _: feed.close())
    try:
        if text[offset:]:
            yield encode_event("output", {"type": "output", "stream": "output", "text": text[offset:]}, str(at))
        while (pieces := await _next_notices(feed)) != b"":
            yield pieces
    finally:
        leave()
        closing.cancel()


async def _next_notices(feed: NoticeBuffer) -> bytes | None:
    """The next notices; empty at the end, None after a time without any."""
    try:
        async with asyncio.timeout(_RECHECK):
            return await feed.take()
    except TimeoutError:
        return None
