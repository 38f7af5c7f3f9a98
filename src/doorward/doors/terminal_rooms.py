"""Rooms over the owner's socket: the console's stream, for a terminal.

The handlers are those of the REST door. The caller is always the owner, because only the owner can open this socket.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from doorward.backends.context import Services
from doorward.doors.console.telling import Telling
from doorward.doors.rest.governed import Governed
from doorward.doors.rest.resource import Resource
from doorward.doors.rest.room_stream import RoomStream
from doorward.doors.rest.streams import Streams
from doorward.gate.gate import Gate
from doorward.model import Credential


class _OfTheOwner(Governed):
    async def vouched(self, request: Request, command: str) -> Credential:
        """The operating system lets only the owner open the socket, so no token is needed."""
        return Credential(owner=True)


def rooms(gate: Gate, services: Services) -> list[BaseRoute]:
    governed = _OfTheOwner(gate)
    streams = Streams(governed, services)
    room = RoomStream(governed, services, streams.places)
    telling = Telling(governed, streams, room, services)
    return [
        Route("/api/console/stream", Resource({"GET": telling.stream})),
        Route("/api/rooms/{name}/typing", Resource({"POST": room.typing})),
    ]
