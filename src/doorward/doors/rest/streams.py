"""What goes on, as it goes on: a command while it runs, an execution that somebody follows, and events."""

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
"""So many events wait for one client; with one more it is told to come again."""
_TOGETHER = 0.02
"""Seconds in which what happens is gathered: a single call is several events, and many may listen."""
_RECHECK = 5.0
"""Seconds after which it is asked again whether somebody may still listen."""
TOO_SLOW = framed("end", {"reason": "You read too slowly; come again with Last-Event-ID."})


class Streams:
    def __init__(self, governed: Governed, services: Services) -> None:
        self._governed = governed
        self._gate: Gate = governed.gate
        self._services = services
        rest = services.settings.rest
        self.places = Places(rest.event_clients, rest.event_clients_each)
        self._frames = Shared(self._frame)

    def run(self, asked: Asked) -> Response:
        """A command with everything it has to say while it runs. Whoever leaves cancels it."""

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
        """An execution that somebody else, or an earlier connection, asked for. Leaving stops nobody."""
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
        """Where it stands now; a limit that is used up meanwhile leaves what its own memory says."""
        outcome = await self._gate.handle(
            Asked(command="execution/status", credential=credential, door=DOOR, room=room, params={"execution": id})
        )
        if outcome.status == "done":
            return as_object(outcome.result)
        live = self._services.executions.get(id)
        return {**before, "state": live.state} if live is not None else before

    async def events(self, request: Request) -> Response:
        """What event/list would tell, and then what it would tell from now on."""
        reading.accepts(request, [reading.EVENT_STREAM])
        credential = await self._governed.vouched(request, "event/list")
        query = reading.query(request, ["room", "only"])
        last = request.headers.get("last-event-id", "")
        if len(last) > 64:
            raise BadParams(f"Last-Event-ID is the id of an event, of at most 64 characters; given {len(last)}.")
        room, only = query.get("room", ""), query.get("only", "")
        begun = await self.begun(credential, room, only, last)
        return self._stream(credential, lambda: self._told(credential, room, only, begun))

    async def begun(self, credential: Credential, room: str, only: str, last: str) -> dict[str, Any]:
        """What happened behind the event with the id `last`, or nothing so far where that is empty."""
        params = {"after": last, "only": only, "limit": MOST if last else 0}
        return await self._asked(credential, room, "event/list", params)

    def since(self, begun: dict[str, Any]) -> tuple[list[Frame], list[Numbered]]:
        """What whoever has just begun to follow is told first, and what happened since they asked."""
        ready = {"next": begun["next"], "missed": begun["missed"]}
        first = Frame.of("ready", ready, "" if begun["items"] else begun["next"])
        missed = [Frame.of(item["event"], item, item["id"]) for item in begun["items"]]
        return [first, *missed], self._services.recent.after(begun["next"])[0]

    def heard(self, caller: Caller, room: str, only: str, events: Iterable[Numbered]) -> list[Frame]:
        """What a caller is told of these events, if they may still listen at all."""
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
        """Whoever listens, if they still may: tokens are revoked and recipes changed while a stream is open."""
        caller = self._gate.caller(credential)
        self._allowed(caller, room, command)
        return caller

    def _allowed(self, caller: Caller, room: str, command: str) -> None:
        ruling = self._services.rules_on(caller, caller.acts_in(room), self._services.registry[command])
        if not ruling.allowed:
            raise NotPermitted(ruling.reason, rule=ruling.rule)

    async def _asked(self, credential: Credential, room: str, command: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of what a stream begins with; a refusal is the answer instead of a stream."""
        asked = Asked(command=command, credential=credential, door=DOOR, room=room, params=params)
        outcome = await self._gate.handle(asked)
        if outcome.status != "done":
            raise Answered(problems.of_outcome(outcome))
        return as_object(outcome.result)


async def _written(live: Execution, offset: int) -> AsyncGenerator[bytes | None, None]:
    """What an execution wrote, from an offset on, and what it writes until its end; None now and then in between."""

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
    """What comes next, and nothing at the end; None after a while without."""
    try:
        async with asyncio.timeout(_RECHECK):
            return await feed.take()
    except TimeoutError:
        return None
