"""Rooms over REST: the live stream of a room, and attachments as raw bytes."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from doorward.commands.context import Services
from doorward.commands.room_message import describe_message
from doorward.core.errors import BadParams, NotFound, NotPermitted
from doorward.core.ids import new_id
from doorward.core.model import Caller, Credential, Outcome
from doorward.core.model import Request as Asked
from doorward.doors.http import problems
from doorward.doors.rest import request_reader
from doorward.doors.rest.bodies import TypingResult
from doorward.doors.rest.event_streams import TOO_SLOW_EVENT
from doorward.doors.rest.gate_client import DOOR, GateClient, json_response, outcome_response
from doorward.doors.rest.idempotency import IdempotencyKeys
from doorward.doors.rest.resource import ResponseReady
from doorward.doors.rest.sse import (
    EventFrame,
    EventStreamResponse,
    FollowerQueue,
    FrameCache,
    StreamSlots,
    principal_of,
)
from doorward.rooms.attachments import IMAGE_TYPES
from doorward.rooms.feed import (
    DraftUpdated,
    MessagePosted,
    PresenceChanged,
    RoomNotice,
    ThinkingChanged,
    TypingIndicator,
)
from doorward.rooms.message import Message
from doorward.rooms.rooms import Room

_ATTACHMENT_HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""Attachments are not trusted: a browser must not run one or guess another type for it."""


class AttachmentEndpoints:
    def __init__(self, governed: GateClient, once: IdempotencyKeys, services: Services) -> None:
        self._governed = governed
        self._once = once
        self._services = services

    async def upload(self, request: Request) -> Response:
        """Store the raw body, whatever its Content-Type says."""
        request_reader.negotiate_format(request, [request_reader.JSON])
        credential = await self._governed.authenticate(request, "room/attach")
        query = request_reader.read_query(request, ["room", "file"])
        body = await request_reader.read_body(request, self._services.settings.rooms.attachment_bytes)
        content = base64.b64encode(body).decode()
        name = str(request.path_params["name"])
        asked = Asked(
            command="room/attach",
            credential=credential,
            door=DOOR,
            room=query.get("room", ""),
            params={"name": name, "file": query.get("file", "file"), "content": content},
        )
        return await self._once.respond(
            request,
            asked,
            body,
            lambda one, watch: self._governed.run(request, one, watch),
            lambda one: outcome_response(one, created=True),
        )

    async def download(self, request: Request) -> Response:
        """Send the bytes of an attachment, after the gate allowed it."""
        credential = await self._governed.authenticate(request, "room/attachment")
        query = request_reader.read_query(request, ["room"])
        name, id = str(request.path_params["name"]), str(request.path_params["id"])
        asked = Asked(
            command="room/attachment",
            credential=credential,
            door=DOOR,
            room=query.get("room", ""),
            params={"name": name, "id": id},
        )
        outcome = await self._governed.run(request, asked)
        if outcome is None or outcome.status != "done":
            return outcome_response(outcome)
        facts = outcome.result
        room = self._services.rooms.require(self._governed.gate.caller(credential).tenant, name)
        content = await self._services.files.content(room, id, 0, facts["size"])
        media = facts["mediaType"]
        way = "inline" if media in IMAGE_TYPES else "attachment"
        headers = {
            **_ATTACHMENT_HEADERS,
            "Content-Disposition": f"{way}; filename*=UTF-8''{quote(facts['name'], safe='')}",
        }
        return Response(content, headers=headers, media_type=media)


_MOST_WAITING = 500
"""Notices queued for one follower. With more its stream ends, and it reconnects and reads from the database."""
_RECHECK = 5.0
"""Seconds between checks that the caller may still listen."""
_PAGE = 200
_MAX_TYPING_BYTES = 100
"""Bytes allowed for an empty JSON object with whitespace."""
_COMMAND = "room/messages"
_EVENT_NAMES: dict[type[Any], str] = {
    TypingIndicator: "typing",
    PresenceChanged: "presence",
    DraftUpdated: "draft",
    ThinkingChanged: "thinking",
}


class RoomStream:
    def __init__(self, governed: GateClient, services: Services, places: StreamSlots) -> None:
        self._governed = governed
        self._gate = governed.gate
        self._services = services
        self._slots = places
        self._frames = FrameCache(_encode_notice)

    async def stream(self, request: Request) -> Response:
        request_reader.negotiate_format(request, [request_reader.EVENT_STREAM])
        credential = await self._governed.authenticate(request, _COMMAND)
        query = request_reader.read_query(request, ["since"])
        given = request.headers.get("last-event-id", "") or query.get("since", "")
        if given and not (given.isascii() and given.isdecimal() and len(given) <= 18):
            raise BadParams(f"since or Last-Event-ID must be a revision of the room; given {given[:80]!r}.")
        room = str(request.path_params["name"])
        begun = await self._read_through_gate(credential, room)
        if begun.status != "done":
            raise ResponseReady(problems.problem_response(begun))
        since = int(given) if given else None
        who = principal_of(self._gate.caller(credential))
        return EventStreamResponse(lambda: self._generate(credential, room, since), self._slots, who)

    async def typing(self, request: Request) -> Response:
        """Send a typing indicator. Nothing is stored, so nothing is recorded."""
        request_reader.read_query(request, [])
        credential = await self._governed.authenticate(request, "room/say")
        if request_reader.parse_optional_object(await request_reader.read_json_body(request, _MAX_TYPING_BYTES)):
            raise BadParams("A typing indicator takes no body or an empty object; the given body has fields.")
        caller, room = self._authorize_credential(credential, str(request.path_params["name"]))
        if room.archived:
            raise NotPermitted(f"The room {room.id!r} is archived and accepts no messages.")
        self._services.live.publish_typing(room, caller.id)
        return json_response(TypingResult(True))

    async def follow(
        self, credential: Credential, name: str, since: int | None, put: Callable[[RoomNotice], None]
    ) -> RoomSubscription:
        """Follow a room after a revision, or from now on, as part of a larger stream."""
        begun = await self._read_through_gate(credential, name)
        if begun.status != "done":
            raise NotPermitted(begun.message, hint=begun.hint, rule=begun.rule, retry_after=begun.retry_after)
        return self._subscribe(credential, name, since, put)

    async def _generate(self, credential: Credential, name: str, since: int | None) -> AsyncGenerator[bytes, None]:
        waiting = FollowerQueue[RoomNotice](_MOST_WAITING, replaces_draft)
        following = self._subscribe(credential, name, since, waiting.put)
        try:
            async with contextlib.aclosing(following.catch_up()) as pages:
                async for page in pages:
                    yield b"".join(frame.encode() for frame in page)
            while True:
                taken = await waiting.take(_RECHECK)
                heard = following.new_frames(self._gate.caller(credential), taken)
                if heard:
                    yield b"".join(frame.encode() for frame in heard)
                if waiting.overflowed:
                    yield TOO_SLOW_EVENT
                    return
        finally:
            following.leave()

    def _subscribe(
        self, credential: Credential, name: str, since: int | None, put: Callable[[RoomNotice], None]
    ) -> RoomSubscription:
        return RoomSubscription(
            self._services, self._frames, lambda: self._gate.caller(credential), self._authorize, name, since, put
        )

    def _authorize_credential(self, credential: Credential, name: str) -> tuple[Caller, Room]:
        """The caller and the room, if the caller may listen."""
        caller = self._gate.caller(credential)
        return caller, self._authorize(caller, name)

    def _authorize(self, caller: Caller, name: str) -> Room:
        """The room, if this caller may listen. Membership and recipes can change while a stream is open."""
        room = self._services.rooms.get(caller.tenant, name)
        if room is None or not room.is_visible_to(caller):
            raise NotFound(f"You are not a member of a room {name[:80]!r}.")
        ruling = self._services.get_ruling(caller, _acting_room(caller, name), self._services.registry[_COMMAND])
        if not ruling.allowed:
            raise NotPermitted(ruling.reason, rule=ruling.rule)
        return room

    async def _read_through_gate(self, credential: Credential, name: str) -> Outcome:
        """Read the room through the gate, which decides and records that the caller listens.

        Each stream is its own session, because all pages reconnect at once after a restart of the server.
        """
        caller, room = self._authorize_credential(credential, name)
        asked = Asked(
            command=_COMMAND,
            credential=credential,
            door=DOOR,
            room=_acting_room(caller, room.id),
            params={"name": room.id, "limit": 1},
            session=f"{DOOR}:{new_id()}",
        )
        return await self._gate.handle(asked)


class RoomSubscription:
    """A subscription to a room: first the messages after a revision, from the database, then live notices.

    Revisions prevent duplicates. Nothing is lost in between, because `put` receives live notices from the beginning.
    """

    def __init__(
        self,
        services: Services,
        frames: FrameCache[RoomNotice],
        who: Callable[[], Caller],
        listened: Callable[[Caller, str], Room],
        name: str,
        since: int | None,
        put: Callable[[RoomNotice], None],
    ) -> None:
        """`who` returns the caller; `listened` returns the room, or raises when the caller may not listen."""
        self._services = services
        self._frames = frames
        self._get_caller = who
        self._authorize = listened
        self._since = since
        self._last = 0
        caller = who()
        self._room = room = listened(caller, name)
        self._leave_presence = services.presence.enter(room.tenant, room.id, caller.id)
        self._unfollow = services.live.follow(room.tenant, room.id, put)

    async def catch_up(self) -> AsyncGenerator[list[EventFrame], None]:
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
            "here": sorted(services.presence.present_members(room.tenant, room.id)),
        }
        lasting = [self._frames.get(one) for one in services.live.current(room.tenant, room.id)]
        yield [EventFrame.create("ready", ready, str(self._last)), *lasting]
        while self._last < newest and (page := await services.messages.since(room, self._last, _PAGE)):
            self._authorize(self._get_caller(), room.id)
            yield [_encode_message(one) for one in page]
            self._last = page[-1].revision

    def new_frames(self, caller: Caller, notices: Sequence[RoomNotice]) -> list[EventFrame]:
        """The notices that are new to the caller. Raises when the caller may no longer listen."""
        self._authorize(caller, self._room.id)
        new = [one for one in notices if not isinstance(one, MessagePosted) or one.message.revision > self._last]
        self._last = max([self._last, *(one.message.revision for one in new if isinstance(one, MessagePosted))])
        return [self._frames.get(one) for one in new]

    def leave(self) -> None:
        self._leave_presence()
        self._unfollow()


def replaces_draft(new: object, last: object) -> bool:
    """Whether a notice replaces the one before it: each draft contains the whole text so far."""
    return isinstance(new, DraftUpdated) and isinstance(last, DraftUpdated) and last.id == new.id


def _acting_room(caller: Caller, room: str) -> str:
    """The room to act in. People read their rooms from outside; agents and restricted tokens act in the room."""
    return "" if caller.kind == "human" and caller.rooms is None else room


def _encode_notice(notice: RoomNotice) -> EventFrame:
    if isinstance(notice, MessagePosted):
        return _encode_message(notice.message)
    return EventFrame.create(_EVENT_NAMES[type(notice)], msgspec.to_builtins(notice))


def _encode_message(message: Message) -> EventFrame:
    return EventFrame.create("message", describe_message(message), str(message.revision))
