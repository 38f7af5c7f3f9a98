"""The console's event stream: events of all rooms, and everything in the room that the page shows.

A browser opens few connections to one server, so a page uses a single stream. The id of each event holds the position
in both parts. A page that reconnects with it gets what came after, even after a restart of the server.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import AsyncGenerator, Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from doorward.commands.context import Services
from doorward.core.errors import BadParams, DoorwardError
from doorward.core.event_buffer import NumberedEvent
from doorward.core.model import Caller, Credential
from doorward.doors.rest import request_reader
from doorward.doors.rest.event_streams import TOO_SLOW_EVENT, StreamEndpoints
from doorward.doors.rest.gate_client import GateClient
from doorward.doors.rest.rooms import RoomStream, RoomSubscription, replaces_draft
from doorward.doors.rest.sse import (
    EventFrame,
    EventStreamResponse,
    FollowerQueue,
    StreamSlots,
    encode_event,
    encode_raw_event,
    principal_of,
)
from doorward.rooms.feed import RoomNotice

SILENCE = 10.0
"""Seconds between keep-alive events. A page does not see SSE comments, and a connection can be dead unnoticed, such as
after a laptop slept."""
_RECHECK = 5.0
"""Seconds between checks that the caller may still listen."""
_BATCH_SECONDS = 0.1
"""Seconds in which events are batched. Room messages are sent at once, together with the events so far."""
_MOST_WAITING = 500
_POSITION = re.compile(r"([\w-]{0,64})/([0-9]{0,18})")


class ConsoleStream:
    def __init__(self, governed: GateClient, streams: StreamEndpoints, rooms: RoomStream, services: Services) -> None:
        self._governed = governed
        self._streams = streams
        self._rooms = rooms
        self._services = services
        console = services.settings.console
        self._slots = StreamSlots(console.streams, console.streams_each)

    async def stream(self, request: Request) -> Response:
        request_reader.negotiate_format(request, [request_reader.EVENT_STREAM])
        credential = await self._governed.authenticate(request, "event/list")
        query = request_reader.read_query(request, ["room", "since"])
        since = request.headers.get("last-event-id", "") or query.get("since", "")
        place = _POSITION.fullmatch(since or "/")
        if place is None:
            raise BadParams(f"since must be the id of an event of this stream; given {since[:80]!r}.")
        begun = await self._streams.query_events(credential, "", "", place[1])
        who = principal_of(self._governed.gate.caller(credential))
        room, at = query.get("room", ""), _Position(place[1], place[2])
        return EventStreamResponse(lambda: self._generate(credential, room, at, begun), self._slots, who)

    async def _generate(
        self, credential: Credential, room: str, place: _Position, begun: dict[str, Any]
    ) -> AsyncGenerator[bytes, None]:
        waiting = FollowerQueue[RoomNotice | NumberedEvent](_MOST_WAITING, replaces_draft)
        leave = self._services.recent.follow(lambda one: waiting.put(one, _BATCH_SECONDS))
        following: RoomSubscription | None = None
        try:
            first, since = self._streams.first_frames(begun)
            yield place.encode_events([*first, *self._event_frames(self._caller(credential), since)])
            if room:
                try:
                    following = await self._rooms.follow(credential, room, place.room_revision, waiting.put)
                    async with contextlib.aclosing(following.catch_up()) as pages:
                        async for page in pages:
                            yield place.encode_room(page)
                except DoorwardError as error:
                    following = _stop_following(following)
                    yield _encode_room_error(error)
            said = time.monotonic()
            while not waiting.overflowed:
                taken = await waiting.take(_RECHECK)
                caller = self._caller(credential)
                happened = self._event_frames(caller, (one for one in taken if isinstance(one, NumberedEvent)))
                piece = b""
                if following is not None:
                    try:
                        notices = [one for one in taken if not isinstance(one, NumberedEvent)]
                        piece = place.encode_room(following.new_frames(caller, notices))
                    except DoorwardError as error:
                        following = _stop_following(following)
                        piece = _encode_room_error(error)
                piece += place.encode_events(happened)
                if not piece and time.monotonic() - said >= SILENCE:
                    piece = encode_event("tick", {})
                if piece:
                    said = time.monotonic()
                    yield piece
            yield TOO_SLOW_EVENT
        finally:
            leave()
            waiting.close()
            _stop_following(following)

    def _caller(self, credential: Credential) -> Caller:
        return self._governed.gate.caller(credential)

    def _event_frames(self, caller: Caller, events: Iterable[NumberedEvent]) -> list[EventFrame]:
        return self._streams.visible_frames(caller, "", "", events)


class _Position:
    """The position of a page in both parts of the stream. Events outside the room share one event name."""

    def __init__(self, happened: str, revision: str) -> None:
        self._event_id = happened
        self._revision = revision

    @property
    def room_revision(self) -> int | None:
        """The room revision that the page has; None when it has none."""
        return int(self._revision) if self._revision else None

    def encode_events(self, frames: Iterable[EventFrame]) -> bytes:
        pieces = []
        for name, id, data in frames:
            self._event_id = id or self._event_id
            called = name if name == "ready" else "happened"
            pieces.append(encode_raw_event(called, f"{self._event_id}/{self._revision}", data))
        return b"".join(pieces)

    def encode_room(self, frames: Iterable[EventFrame]) -> bytes:
        pieces = []
        for name, id, data in frames:
            self._revision = id or self._revision
            pieces.append(encode_raw_event(f"room-{name}", f"{self._event_id}/{self._revision}", data))
        return b"".join(pieces)


def _stop_following(following: RoomSubscription | None) -> RoomSubscription | None:
    """Stop following the room."""
    if following is not None:
        following.leave()
    return None


def _encode_room_error(error: DoorwardError) -> bytes:
    """An event that says that the page may not follow the room. Other events continue."""
    return encode_event("room-error", {"code": error.code, "detail": error.message, "hint": error.hint})
