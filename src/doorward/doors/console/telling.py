"""One stream for one page: what happens in the house, and everything in the room that the page shows.

A browser opens few connections to one server, so a page has this one. The id of each event holds the place in both, and
whoever comes again with it is told what is behind those places, after a restart as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response

from doorward.backends.context import Services
from doorward.doors.rest import reading
from doorward.doors.rest.governed import Governed
from doorward.doors.rest.sse import EventStream, Places, framed, principal_of
from doorward.doors.rest.streams import Streams
from doorward.errors import BadParams, DoorwardError
from doorward.model import Credential

SILENCE = 10.0
"""Seconds after which a page is told that the stream is alive. Comments would not reach it, and a connection can be
dead without a word, as after a laptop slept."""
_FRAME = re.compile(rb"event: ([^\n]*)\n(?:id: ([^\n]*)\n)?data: ([^\n]*)")
_PLACE = re.compile(r"([\w-]{0,64})/([0-9]{0,18})")

Source = AsyncGenerator[bytes, None]
RoomTold = Callable[[Credential, str, int | None], Source]
"""Everything in a room behind a revision, as it happens."""


class Telling:
    def __init__(self, governed: Governed, streams: Streams, room_told: RoomTold, services: Services) -> None:
        self._governed = governed
        self._streams = streams
        self._room_told = room_told
        console = services.settings.console
        self._places = Places(console.streams, console.streams_each)

    async def stream(self, request: Request) -> Response:
        reading.accepts(request, [reading.EVENT_STREAM])
        credential = await self._governed.vouched(request, "event/list")
        query = reading.query(request, ["room", "since"])
        since = request.headers.get("last-event-id", "") or query.get("since", "")
        place = _PLACE.fullmatch(since or "/")
        if place is None:
            raise BadParams(f"since is the id of an event of this stream; given {since[:80]!r}.")
        happened, revision, room = place[1], int(place[2] or -1), query.get("room", "")
        happening = await self._streams.happening(credential, "", "", happened)
        who = principal_of(self._governed.gate.caller(credential))

        def source() -> Source:
            sources = {"": happening}
            if room:
                sources["room-"] = self._room_told(credential, room, revision if revision >= 0 else None)
            return told(sources, happened, place[2])

        return EventStream(source, self._places, who)


async def told(sources: Mapping[str, Source], happened: str, revision: str) -> Source:
    """Several streams as one. What comes of a room is named as such; of the house, by one name for all events."""
    places = {"": happened, "room-": revision}
    coming = {asyncio.ensure_future(anext(source)): name for name, source in sources.items()}
    try:
        while coming:
            done, _ = await asyncio.wait(coming, timeout=SILENCE, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                yield framed("tick", {})
            for one in done:
                name = coming.pop(one)
                try:
                    piece = one.result()
                except StopAsyncIteration:
                    return
                except DoorwardError as error:
                    if not name:
                        raise
                    yield framed("room-error", {"code": error.code, "detail": error.message, "hint": error.hint})
                    continue
                if renamed := b"".join(_renamed(name, match, places) for match in _FRAME.finditer(piece)):
                    yield renamed
                coming[asyncio.ensure_future(anext(sources[name]))] = name
    finally:
        for one in coming:
            one.cancel()
        if coming:
            await asyncio.wait(coming)
        for source in sources.values():
            with contextlib.suppress(RuntimeError):
                await source.aclose()


def _renamed(name: str, match: re.Match[bytes], places: dict[str, str]) -> bytes:
    kind = match[1].decode()
    if match[2] is not None:
        places[name] = match[2].decode()
    called = f"room-{kind}" if name else kind if kind in ("ready", "end") else "happened"
    id = f"{places['']}/{places['room-']}"
    return f"event: {called}\nid: {id}\n".encode() + b"data: " + match[3] + b"\n\n"
