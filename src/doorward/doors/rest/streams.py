"""Live streams of a running command, of an execution and of events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from doorward.backends.context import Services
from doorward.backends.event import concerns, happened
from doorward.command import as_object
from doorward.doors.live import Feed
from doorward.doors.rest import problems, reading, sse
from doorward.doors.rest.followers import Frame, Shared, Waiting
from doorward.doors.rest.governed import DOOR, Governed
from doorward.doors.rest.resource import Answered
from doorward.doors.rest.sse import EventStream, Places, Source, framed, principal_of
from doorward.errors import BadParams, NotPermitted
from doorward.executions.execution import Execution
from doorward.executions.notices import Notice, Output
from doorward.gate.gate import Gate
from doorward.model import Caller, Credential
from doorward.model import Request as Asked
from doorward.recent import MOST, Numbered

_MOST_WAITING = 500
"""Events queued for one client. With more its stream ends, and it must reconnect."""
_TOGETHER = 0.02
"""Seconds in which events are batched: a single call causes several, and many clients may listen."""
_RECHECK = 5.0
"""Seconds between checks that the caller may still listen."""
TOO_SLOW = framed("end", {"reason": "The client reads too slowly. Reconnect with Last-Event-ID."})


class Streams:
    def __init__(self, governed: Governed, services: Services) -> None:
        self._governed = governed
        self._gate: Gate = governed.gate
        self._services = services
        rest = services.settings.rest
        self.places = Places(rest.event_clients, rest.event_clients_each)
        self._frames = Shared(self._frame)

    def run(self, asked: Asked) -> Response:
        """Run a command and stream its notices. If the client disconnects, the command is cancelled."""

        async def notices() -> AsyncGenerator[bytes, None]:
            feed = Feed(sse.notice)
            working = asyncio.ensure_future(self._gate.handle(asked, feed.put))
            working.add_done_callback(lambda _: feed.close())
            try:
                while pieces := await feed.take():
                    yield pieces
                if not working.cancelled():
                    yield framed("outcome", {"type": "outcome", "outcome": working.result()})
            finally:
                working.cancel()

        return self._stream(asked.credential, notices)

    def _stream(self, credential: Credential, source: Source) -> Response:
        return EventStream(source, self.places, principal_of(self._gate.caller(credential)))

    async def execution(self, request: Request) -> Response:
        """Stream an execution that another request started. Leaving does not cancel it."""
        reading.accepts(request, [reading.EVENT_STREAM])
        credential = await self._governed.vouched(request, "execution/status")
        query = reading.query(request, ["room", "offset"])
        offset = reading.number(query, "offset", 0, 100_000_000, default=0)
        last = request.headers.get("last-event-id", "")
        if last.isascii() and last.isdecimal() and len(last) < 10:
            offset = int(last)
        id, room = str(request.path_params["execution"]), query.get("room", "")
        state = await self._asked(credential, room, "execution/status", {"execution": id})
        return self._stream(credential, lambda: self._followed(credential, room, id, offset, state))

    async def _followed(
        self, credential: Credential, room: str, id: str, offset: int, state: dict[str, Any]
    ) -> AsyncGenerator[bytes, None]:
        yield framed("state", state)
        page = {"execution": id, "offset": offset, "length": 25_000}
        outcome = await self._gate.handle(
            Asked(command="execution/output", credential=credential, door=DOOR, room=room, params=page)
        )
        live = self._services.executions.get(id)
        end: dict[str, Any] = {}
        if outcome.status == "done" and live is not None:
            async with contextlib.aclosing(_written(live, offset)) as pieces:
                async for piece in pieces:
                    self._listener(credential, room, "execution/output")
                    if piece is not None:
                        yield piece
        elif outcome.status == "done":
            kept = as_object(outcome.result)
            yield framed("output", {"type": "output", **kept}, str(offset + len(kept["text"])))
            end["next"] = kept["next"]
        elif outcome.code != "not_found":
            end["output"] = outcome.message
        self._listener(credential, room, "execution/status")
        yield framed("end", {**await self._state(credential, room, id, state), **end})

    async def _state(self, credential: Credential, room: str, id: str, before: dict[str, Any]) -> dict[str, Any]:
        """The current state. If the gate refuses, for example by a rate limit, the state in memory is used."""
        outcome = await self._gate.handle(
            Asked(command="execution/status", credential=credential, door=DOOR, room=room, params={"execution": id})
        )
        if outcome.status == "done":
            return as_object(outcome.result)
        live = self._services.executions.get(id)
        return {**before, "state": live.state} if live is not None else before

    async def events(self, request: Request) -> Response:
        """Stream the events that event/list returns, then new ones."""
        reading.accepts(request, [reading.EVENT_STREAM])
        credential = await self._governed.vouched(request, "event/list")
        query = reading.query(request, ["room", "only"])
        last = request.headers.get("last-event-id", "")
        if len(last) > 64:
            raise BadParams(f"Last-Event-ID may have at most 64 characters; given {len(last)}.")
        room, only = query.get("room", ""), query.get("only", "")
        begun = await self.begun(credential, room, only, last)
        return self._stream(credential, lambda: self._told(credential, room, only, begun))

    async def begun(self, credential: Credential, room: str, only: str, last: str) -> dict[str, Any]:
        """The events after the one with the id `last`; none when it is empty."""
        params = {"after": last, "only": only, "limit": MOST if last else 0}
        return await self._asked(credential, room, "event/list", params)

    def since(self, begun: dict[str, Any]) -> tuple[list[Frame], list[Numbered]]:
        """The first frames of a stream, and the events since its first query."""
        ready = {"next": begun["next"], "missed": begun["missed"]}
        first = Frame.of("ready", ready, "" if begun["items"] else begun["next"])
        missed = [Frame.of(item["event"], item, item["id"]) for item in begun["items"]]
        return [first, *missed], self._services.recent.after(begun["next"])[0]

    def heard(self, caller: Caller, room: str, only: str, events: Iterable[Numbered]) -> list[Frame]:
        """The events that concern a caller, as frames. Raises when the caller may no longer listen."""
        self._allowed(caller, room, "event/list")
        return [self._frames.of(one) for one in events if concerns(self._services, caller, one.event, only)]

    async def _told(
        self, credential: Credential, room: str, only: str, begun: dict[str, Any]
    ) -> AsyncGenerator[bytes, None]:
        waiting = Waiting[Numbered](_MOST_WAITING)
        leave = self._services.recent.follow(lambda one: waiting.put(one, _TOGETHER))
        try:
            first, events = self.since(begun)
            yield b"".join(one.written() for one in first)
            while True:
                heard = self.heard(self._gate.caller(credential), room, only, events)
                if heard:
                    yield b"".join(one.written() for one in heard)
                if waiting.overflowed:
                    yield TOO_SLOW
                    return
                events = await waiting.take(_RECHECK)
        finally:
            leave()
            waiting.close()

    def _frame(self, one: Numbered) -> Frame:
        item = happened(self._services, one.number, one.event)
        return Frame.of(item["event"], item, item["id"])

    def _listener(self, credential: Credential, room: str, command: str) -> Caller:
        """The caller, if it may still listen. Tokens and recipes can change while a stream is open."""
        caller = self._gate.caller(credential)
        self._allowed(caller, room, command)
        return caller

    def _allowed(self, caller: Caller, room: str, command: str) -> None:
        ruling = self._services.rules_on(caller, caller.acts_in(room), self._services.registry[command])
        if not ruling.allowed:
            raise NotPermitted(ruling.reason, rule=ruling.rule)

    async def _asked(self, credential: Credential, room: str, command: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a stream's first query. A refusal is sent as the response instead of a stream."""
        asked = Asked(command=command, credential=credential, door=DOOR, room=room, params=params)
        outcome = await self._gate.handle(asked)
        if outcome.status != "done":
            raise Answered(problems.of_outcome(outcome))
        return as_object(outcome.result)


async def _written(live: Execution, offset: int) -> AsyncGenerator[bytes | None, None]:
    """The output of an execution from an offset to its end. Yields None now and then, so that access is rechecked."""

    text = live.written.text("output") if live.written is not None else ""
    at = len(text)

    def told(one: Notice) -> bytes:
        nonlocal at
        if isinstance(one, Output):
            at += len(one.text)
            return framed("output", one, str(at))
        return sse.notice(one)

    feed = Feed(told)
    leave = live.follow(feed.put)
    closing = asyncio.ensure_future(live.closed())
    closing.add_done_callback(lambda _: feed.close())
    try:
        if text[offset:]:
            yield framed("output", {"type": "output", "stream": "output", "text": text[offset:]}, str(at))
        while (pieces := await _next(feed)) != b"":
            yield pieces
    finally:
        leave()
        closing.cancel()


async def _next(feed: Feed) -> bytes | None:
    """The next notices; empty at the end, None after a time without any."""
    try:
        async with asyncio.timeout(_RECHECK):
            return await feed.take()
    except TimeoutError:
        return None
