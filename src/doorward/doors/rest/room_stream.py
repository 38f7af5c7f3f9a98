"""The live stream of a room: messages by revision, so that a client that reconnects misses none and gets none twice,
and indicators of typing, presence, thinking and drafts."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from doorward.backends.context import Services
from doorward.backends.room_message import shown
from doorward.doors.rest import problems, reading
from doorward.doors.rest.bodies import Told
from doorward.doors.rest.followers import Frame, Shared, Waiting
from doorward.doors.rest.governed import DOOR, Governed, as_json
from doorward.doors.rest.resource import Answered
from doorward.doors.rest.sse import EventStream, Places, principal_of
from doorward.doors.rest.streams import TOO_SLOW
from doorward.errors import BadParams, NotFound, NotPermitted
from doorward.ids import new_id
from doorward.model import Caller, Credential, Outcome
from doorward.model import Request as Asked
from doorward.rooms.live import Draft, Notice, Posted, Present, Thinking, Typing
from doorward.rooms.message import Message
from doorward.rooms.rooms import Room

_MOST_WAITING = 500
"""Notices queued for one follower. With more its stream ends, and it reconnects and reads from the database."""
_RECHECK = 5.0
"""Seconds between checks that the caller may still listen."""
_PAGE = 200
_EMPTY = 100
"""Bytes allowed for an empty JSON object with whitespace."""
_COMMAND = "room/messages"
_NAMES: dict[type[Any], str] = {Typing: "typing", Present: "presence", Draft: "draft", Thinking: "thinking"}


class RoomStream:
    def __init__(self, governed: Governed, services: Services, places: Places) -> None:
        self._governed = governed
        self._gate = governed.gate
        self._services = services
        self._places = places
        self._frames = Shared(_frame)

    async def stream(self, request: Request) -> Response:
        reading.accepts(request, [reading.EVENT_STREAM])
        credential = await self._governed.vouched(request, _COMMAND)
        query = reading.query(request, ["since"])
        given = request.headers.get("last-event-id", "") or query.get("since", "")
        if given and not (given.isascii() and given.isdecimal() and len(given) <= 18):
            raise BadParams(f"since or Last-Event-ID must be a revision of the room; given {given[:80]!r}.")
        room = str(request.path_params["name"])
        begun = await self._begun(credential, room)
        if begun.status != "done":
            raise Answered(problems.of_outcome(begun))
        since = int(given) if given else None
        who = principal_of(self._gate.caller(credential))
        return EventStream(lambda: self._told(credential, room, since), self._places, who)

    async def typing(self, request: Request) -> Response:
        """Send a typing indicator. Nothing is stored, so nothing is recorded."""
        reading.query(request, [])
        credential = await self._governed.vouched(request, "room/say")
        if reading.parsed(await reading.body(request, _EMPTY)):
            raise BadParams("A typing indicator takes no body or an empty object; the given body has fields.")
        caller, room = self._listener(credential, str(request.path_params["name"]))
        if room.archived:
            raise NotPermitted(f"The room {room.id!r} is archived and accepts no messages.")
        self._services.live.typing(room, caller.id)
        return as_json(Told(True))

    async def followed(
        self, credential: Credential, name: str, since: int | None, put: Callable[[Notice], None]
    ) -> Following:
        """Follow a room after a revision, or from now on, as part of a larger stream."""
        begun = await self._begun(credential, name)
        if begun.status != "done":
            raise NotPermitted(begun.message, hint=begun.hint, rule=begun.rule, retry_after=begun.retry_after)
        return self._followed(credential, name, since, put)

    async def _told(self, credential: Credential, name: str, since: int | None) -> AsyncGenerator[bytes, None]:
        waiting = Waiting[Notice](_MOST_WAITING, replaces)
        following = self._followed(credential, name, since, waiting.put)
        try:
            async with contextlib.aclosing(following.missed()) as pages:
                async for page in pages:
                    yield b"".join(frame.written() for frame in page)
            while True:
                taken = await waiting.take(_RECHECK)
                heard = following.heard(self._gate.caller(credential), taken)
                if heard:
                    yield b"".join(frame.written() for frame in heard)
                if waiting.overflowed:
                    yield TOO_SLOW
                    return
        finally:
            following.leave()

    def _followed(
        self, credential: Credential, name: str, since: int | None, put: Callable[[Notice], None]
    ) -> Following:
        return Following(
            self._services, self._frames, lambda: self._gate.caller(credential), self._listened, name, since, put
        )

    def _listener(self, credential: Credential, name: str) -> tuple[Caller, Room]:
        """The caller and the room, if the caller may listen."""
        caller = self._gate.caller(credential)
        return caller, self._listened(caller, name)

    def _listened(self, caller: Caller, name: str) -> Room:
        """The room, if this caller may listen. Membership and recipes can change while a stream is open."""
        room = self._services.rooms.get(caller.tenant, name)
        if room is None or not room.seen_by(caller):
            raise NotFound(f"You are not a member of a room {name[:80]!r}.")
        ruling = self._services.rules_on(caller, _acting(caller, name), self._services.registry[_COMMAND])
        if not ruling.allowed:
            raise NotPermitted(ruling.reason, rule=ruling.rule)
        return room

    async def _begun(self, credential: Credential, name: str) -> Outcome:
        """Read the room through the gate, which decides and records that the caller listens.

        Each stream is its own session, because all pages reconnect at once after a restart of the server.
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


class Following:
    """A subscription to a room: first the messages after a revision, from the database, then live notices.

    Revisions prevent duplicates. Nothing is lost in between, because `put` receives live notices from the beginning.
    """

    def __init__(
        self,
        services: Services,
        frames: Shared[Notice],
        who: Callable[[], Caller],
        listened: Callable[[Caller, str], Room],
        name: str,
        since: int | None,
        put: Callable[[Notice], None],
    ) -> None:
        """`who` returns the caller; `listened` returns the room, or raises when the caller may not listen."""
        self._services = services
        self._frames = frames
        self._who = who
        self._listened = listened
        self._since = since
        self._last = 0
        caller = who()
        self._room = room = listened(caller, name)
        self._left = services.presence.enter(room.tenant, room.id, caller.id)
        self._leave = services.live.follow(room.tenant, room.id, put)

    async def missed(self) -> AsyncGenerator[list[Frame], None]:
        """The current state, then pages of the messages after the revision."""
        room, since, services = self._room, self._since, self._services
        newest = await services.messages.revision(room)
        known = since is not None and since <= newest
        self._last = since if since is not None and known else newest
        ready = {
            "room": room.id,
            "revision": self._last,
            "newest": newest,
            "whole": since is None or known,
            "here": sorted(services.presence.here(room.tenant, room.id)),
        }
        lasting = [self._frames.of(one) for one in services.live.now(room.tenant, room.id)]
        yield [Frame.of("ready", ready, str(self._last)), *lasting]
        while self._last < newest and (page := await services.messages.since(room, self._last, _PAGE)):
            self._listened(self._who(), room.id)
            yield [_message(one) for one in page]
            self._last = page[-1].revision

    def heard(self, caller: Caller, notices: Sequence[Notice]) -> list[Frame]:
        """The notices that are new to the caller. Raises when the caller may no longer listen."""
        self._listened(caller, self._room.id)
        new = [one for one in notices if not isinstance(one, Posted) or one.message.revision > self._last]
        self._last = max([self._last, *(one.message.revision for one in new if isinstance(one, Posted))])
        return [self._frames.of(one) for one in new]

    def leave(self) -> None:
        self._left()
        self._leave()


def replaces(new: object, last: object) -> bool:
    """Whether a notice replaces the one before it: each draft contains the whole text so far."""
    return isinstance(new, Draft) and isinstance(last, Draft) and last.id == new.id


def _acting(caller: Caller, room: str) -> str:
    """The room to act in. People read their rooms from outside; agents and restricted tokens act in the room."""
    return "" if caller.kind == "human" and caller.rooms is None else room


def _frame(notice: Notice) -> Frame:
    if isinstance(notice, Posted):
        return _message(notice.message)
    return Frame.of(_NAMES[type(notice)], msgspec.to_builtins(notice))


def _message(message: Message) -> Frame:
    return Frame.of("message", shown(message), str(message.revision))
