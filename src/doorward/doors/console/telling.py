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

from doorward.backends.context import Services
from doorward.doors.rest import reading
from doorward.doors.rest.followers import Frame, Waiting
from doorward.doors.rest.governed import Governed
from doorward.doors.rest.room_stream import Following, RoomStream, replaces
from doorward.doors.rest.sse import EventStream, Places, framed, principal_of, with_head
from doorward.doors.rest.streams import TOO_SLOW, Streams
from doorward.errors import BadParams, DoorwardError
from doorward.model import Caller, Credential
from doorward.recent import Numbered
from doorward.rooms.live import Notice

SILENCE = 10.0
"""Seconds between keep-alive events. A page does not see SSE comments, and a connection can be dead unnoticed, such as
after a laptop slept."""
_RECHECK = 5.0
"""Seconds between checks that the caller may still listen."""
_TOGETHER = 0.1
"""Seconds in which events are batched. Room messages are sent at once, together with the events so far."""
_MOST_WAITING = 500
_PLACE = re.compile(r"([\w-]{0,64})/([0-9]{0,18})")


class Telling:
    def __init__(self, governed: Governed, streams: Streams, rooms: RoomStream, services: Services) -> None:
        self._governed = governed
        self._streams = streams
        self._rooms = rooms
        self._services = services
        console = services.settings.console
        self._places = Places(console.streams, console.streams_each)

    async def stream(self, request: Request) -> Response:
        reading.accepts(request, [reading.EVENT_STREAM])
        credential = await self._governed.vouched(request, "event/list")
        query = reading.query(request, ["room", "since"])
        since = request.headers.get("last-event-id", "") or query.get("since", "")
        place = _PLACE.fullmatch(since or "/")
        if place is None:
            raise BadParams(f"since must be the id of an event of this stream; given {since[:80]!r}.")
        begun = await self._streams.begun(credential, "", "", place[1])
        who = principal_of(self._governed.gate.caller(credential))
        room, at = query.get("room", ""), _Place(place[1], place[2])
        return EventStream(lambda: self._told(credential, room, at, begun), self._places, who)

    async def _told(
        self, credential: Credential, room: str, place: _Place, begun: dict[str, Any]
    ) -> AsyncGenerator[bytes, None]:
        waiting = Waiting[Notice | Numbered](_MOST_WAITING, replaces)
        leave = self._services.recent.follow(lambda one: waiting.put(one, _TOGETHER))
        following: Following | None = None
        try:
            first, since = self._streams.since(begun)
            yield place.of_house([*first, *self._happened(self._caller(credential), since)])
            if room:
                try:
                    following = await self._rooms.followed(credential, room, place.known, waiting.put)
                    async with contextlib.aclosing(following.missed()) as pages:
                        async for page in pages:
                            yield place.of_room(page)
                except DoorwardError as error:
                    following = _none_after(following)
                    yield _refused(error)
            said = time.monotonic()
            while not waiting.overflowed:
                taken = await waiting.take(_RECHECK)
                caller = self._caller(credential)
                happened = self._happened(caller, (one for one in taken if isinstance(one, Numbered)))
                piece = b""
                if following is not None:
                    try:
                        notices = [one for one in taken if not isinstance(one, Numbered)]
                        piece = place.of_room(following.heard(caller, notices))
                    except DoorwardError as error:
                        following = _none_after(following)
                        piece = _refused(error)
                piece += place.of_house(happened)
                if not piece and time.monotonic() - said >= SILENCE:
                    piece = framed("tick", {})
                if piece:
                    said = time.monotonic()
                    yield piece
            yield TOO_SLOW
        finally:
            leave()
            waiting.close()
            _none_after(following)

    def _caller(self, credential: Credential) -> Caller:
        return self._governed.gate.caller(credential)

    def _happened(self, caller: Caller, events: Iterable[Numbered]) -> list[Frame]:
        return self._streams.heard(caller, "", "", events)


class _Place:
    """The position of a page in both parts of the stream. Events outside the room share one event name."""

    def __init__(self, happened: str, revision: str) -> None:
        self._happened = happened
        self._revision = revision

    @property
    def known(self) -> int | None:
        """The room revision that the page has; None when it has none."""
        return int(self._revision) if self._revision else None

    def of_house(self, frames: Iterable[Frame]) -> bytes:
        pieces = []
        for name, id, data in frames:
            self._happened = id or self._happened
            called = name if name == "ready" else "happened"
            pieces.append(with_head(called, f"{self._happened}/{self._revision}", data))
        return b"".join(pieces)

    def of_room(self, frames: Iterable[Frame]) -> bytes:
        pieces = []
        for name, id, data in frames:
            self._revision = id or self._revision
            pieces.append(with_head(f"room-{name}", f"{self._happened}/{self._revision}", data))
        return b"".join(pieces)


def _none_after(following: Following | None) -> Following | None:
    """Stop following the room."""
    if following is not None:
        following.leave()
    return None


def _refused(error: DoorwardError) -> bytes:
    """An event that says that the page may not follow the room. Other events continue."""
    return framed("room-error", {"code": error.code, "detail": error.message, "hint": error.hint})
