"""A room as it goes on: messages by their revision, so that whoever was away misses none and hears none twice, and
beside them who types, looks, thinks and writes at this moment."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from doorward.backends.context import Services
from doorward.backends.room_message import shown
from doorward.doors.rest import problems, reading
from doorward.doors.rest.governed import DOOR, Governed, as_json
from doorward.doors.rest.own import Told
from doorward.doors.rest.resource import Answered
from doorward.doors.rest.sse import EventStream, Places, framed, principal_of
from doorward.errors import BadParams, NotFound, NotPermitted
from doorward.ids import new_id
from doorward.model import Caller, Credential, Outcome
from doorward.model import Request as Asked
from doorward.rooms.live import Draft, Notice, Posted, Present, Thinking, Typing
from doorward.rooms.message import Message
from doorward.rooms.rooms import Room

_MOST_WAITING = 500
"""So much waits for one follower; with more it is told to come again, and is then told from the database."""
_RECHECK = 5.0
"""Seconds after which it is asked again whether somebody may still listen."""
_PAGE = 200
_FRAMES_KEPT = 200
_COMMAND = "room/messages"
_NAMES: dict[type[Any], str] = {Typing: "typing", Present: "presence", Draft: "draft", Thinking: "thinking"}


class RoomStream:
    def __init__(self, governed: Governed, services: Services, places: Places) -> None:
        self._governed = governed
        self._gate = governed.gate
        self._services = services
        self._places = places
        self._frames: OrderedDict[int, tuple[Notice, bytes]] = OrderedDict()
        """The newest notices as they are sent: many follow one room, and each notice is written once for all."""

    async def stream(self, request: Request) -> Response:
        reading.accepts(request, [reading.EVENT_STREAM])
        credential = await self._governed.vouched(request, _COMMAND)
        query = reading.query(request, ["since"])
        given = request.headers.get("last-event-id", "") or query.get("since", "")
        if given and not (given.isascii() and given.isdecimal() and len(given) <= 18):
            raise BadParams(f"since, or Last-Event-ID, is a revision of the room; given {given[:80]!r}.")
        room = str(request.path_params["name"])
        begun = await self._begun(credential, room)
        if begun.status != "done":
            raise Answered(problems.of_outcome(begun))
        since = int(given) if given else None
        who = principal_of(self._gate.caller(credential))
        return EventStream(lambda: self._told(credential, room, since), self._places, who)

    async def typing(self, request: Request) -> Response:
        """Tell a room that somebody types. Nothing is done or kept, so there is nothing to record."""
        reading.query(request, [])
        credential = await self._governed.vouched(request, "room/say")
        await reading.whole(request, 0)
        caller, room = self._listener(credential, str(request.path_params["name"]))
        if room.archived:
            raise NotPermitted(f"The room {room.id!r} is archived; nothing is said in it any more.")
        self._services.live.typing(room, caller.id)
        return as_json(Told(True))

    async def told(self, credential: Credential, name: str, since: int | None) -> AsyncGenerator[bytes, None]:
        """Everything in a room behind a revision, or from now on, for whoever makes a stream of more than this."""
        begun = await self._begun(credential, name)
        if begun.status != "done":
            raise NotPermitted(begun.message, hint=begun.hint, rule=begun.rule, retry_after=begun.retry_after)
        async with contextlib.aclosing(self._told(credential, name, since)) as pieces:
            async for piece in pieces:
                yield piece

    async def _told(self, credential: Credential, name: str, since: int | None) -> AsyncGenerator[bytes, None]:
        caller, room = self._listener(credential, name)
        waiting = Waiting()
        live, messages = self._services.live, self._services.messages
        left = self._services.presence.enter(room.tenant, room.id, caller.id)
        leave = live.follow(room.tenant, room.id, waiting.put)
        try:
            newest = await messages.revision(room)
            known = since is not None and since <= newest
            last = since if since is not None and known else newest
            here = sorted(self._services.presence.here(room.tenant, room.id))
            ready = {"room": room.id, "revision": last, "newest": newest, "whole": since is None or known, "here": here}
            lasting = b"".join(self._frame(one) for one in live.now(room.tenant, room.id))
            yield framed("ready", ready, str(last)) + lasting
            while last < newest and (missed := await messages.since(room, last, _PAGE)):
                self._listener(credential, name)
                yield b"".join(_message(one) for one in missed)
                last = missed[-1].revision
            while True:
                taken = await waiting.take(_RECHECK)
                self._listener(credential, name)
                new = [one for one in taken if not isinstance(one, Posted) or one.message.revision > last]
                if new:
                    yield b"".join(self._frame(one) for one in new)
                last = max([last, *(one.message.revision for one in new if isinstance(one, Posted))])
                if waiting.overflowed:
                    yield framed("end", {"reason": "You read too slowly; come again with Last-Event-ID."})
                    return
        finally:
            left()
            leave()

    def _listener(self, credential: Credential, name: str) -> tuple[Caller, Room]:
        """Whoever listens, and the room, if they still may: tokens are revoked and members taken out meanwhile."""
        caller = self._gate.caller(credential)
        room = self._services.rooms.get(caller.tenant, name)
        member = room is not None and (caller.id in room.members if room.direct else room.member(caller) is not None)
        if room is None or not member or not caller.reaches(name):
            raise NotFound(f"There is no room {name[:80]!r} that you are a member of.")
        ruling = self._services.rules_on(caller, _acting(caller, name), self._services.registry[_COMMAND])
        if not ruling.allowed:
            raise NotPermitted(ruling.reason, rule=ruling.rule)
        return caller, room

    async def _begun(self, credential: Credential, name: str) -> Outcome:
        """Ask the gate, as anybody who reads the room does: it decides, and it records that somebody listens.

        Each stream is a session of its own, since all pages come back at once when the server was away.
        """
        caller, room = self._listener(credential, name)
        asked = Asked(
            command=_COMMAND,
            credential=credential,
            door=DOOR,
            room=_acting(caller, room.id),
            params={"name": room.id, "limit": 1},
            session=f"{DOOR}:{new_id()}",
        )
        return await self._gate.handle(asked)

    def _frame(self, notice: Notice) -> bytes:
        found = self._frames.get(id(notice))
        if found is not None and found[0] is notice:
            return found[1]
        if isinstance(notice, Posted):
            written = _message(notice.message)
        else:
            written = framed(_NAMES[type(notice)], msgspec.to_builtins(notice))
        self._frames[id(notice)] = (notice, written)
        if len(self._frames) > _FRAMES_KEPT:
            self._frames.popitem(last=False)
        return written


class Waiting:
    """Notices on their way to one follower: bounded, since one that reads slowly must not cost memory."""

    def __init__(self) -> None:
        self._notices: list[Notice] = []
        self._more = asyncio.Event()
        self.overflowed = False

    def put(self, notice: Notice) -> None:
        last = self._notices[-1] if self._notices else None
        if isinstance(notice, Draft) and isinstance(last, Draft) and last.id == notice.id:
            self._notices[-1] = notice
        elif len(self._notices) >= _MOST_WAITING:
            self.overflowed = True
        else:
            self._notices.append(notice)
        self._more.set()

    async def take(self, seconds: float) -> list[Notice]:
        """What waits, as soon as there is any; nothing after a while without."""
        try:
            async with asyncio.timeout(seconds):
                await self._more.wait()
        except TimeoutError:
            return []
        self._more.clear()
        taken, self._notices = self._notices, []
        return taken


def _acting(caller: Caller, room: str) -> str:
    """People read their rooms from outside; whoever acts in rooms only does so in the room itself."""
    return "" if caller.kind == "human" and caller.rooms is None else room


def _message(message: Message) -> bytes:
    return framed("message", shown(message), str(message.revision))
