"""The messages of rooms: stored first, then published to followers.

Each new or changed message gets the next revision of its room. Revisions are assigned here in the order in which the
store writes, so that followers see them in order and can resume after any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import msgspec

from doorward.core.clock import Clock
from doorward.core.errors import BadParams, Conflict, NotFound
from doorward.core.escape_invisible import to_storable
from doorward.core.events import Bus, MessageChanged, MessageReceived
from doorward.core.ids import new_id
from doorward.core.model import KEEPER, Caller, Kind
from doorward.rooms.feed import RoomFeed
from doorward.rooms.message import Attachment, File, Message
from doorward.rooms.rooms import Room
from doorward.store import attachments as files_sql
from doorward.store import messages as sql
from doorward.store.sqlite import Statement, Store

LARGEST_MESSAGE = 100_000
MessageChange = Literal["edited", "deleted", "restored"]
AlsoStore = Callable[[Message], Iterable[Statement]]
"""Returns statements to store together with a change, given the new message."""

_encode = msgspec.json.Encoder().encode
_attachments = msgspec.json.Decoder(tuple[Attachment, ...])


class MessageVersion(msgspec.Struct, frozen=True):
    """An earlier version of a message."""

    revision: int
    text: str
    attachments: tuple[Attachment, ...]
    change: MessageChange
    by: str
    at: float


class ReadPosition(msgspec.Struct, frozen=True):
    """How far a member has read in a room, and how many messages are unread."""

    room: str
    position: int
    unread: int


class Messages:
    def __init__(self, store: Store, events: Bus, live: RoomFeed, clock: Clock) -> None:
        self._store = store
        self._events = events
        self._live = live
        self._clock = clock
        self._assigned: dict[tuple[str, str], int] = {}
        """The newest assigned revision of each room used since the start."""
        self._stored: dict[tuple[str, str], int] = {}
        """The newest stored and published revision of each room; nothing older follows it."""

    async def post(
        self,
        room: Room,
        sender: str,
        kind: Kind,
        text: str,
        *,
        attachments: Sequence[Attachment] = (),
        reply_to: str = "",
        behalf: str = "",
        notify: bool = True,
        key: str = "",
        also: AlsoStore = lambda _: (),
    ) -> Message:
        """Store a message and publish it to followers. Without `notify`, no event is published.

        `behalf` is the person for whom an AI or a program posts it. If this sender used `key` in this room before,
        Conflict is raised; `sent` returns the earlier message.
        """
        text = _check_text(text)
        await self._load_revision(room.tenant, room.id)
        revision, at = self._next_revision(room.tenant, room.id), self._clock.now()
        message = Message(
            id=new_id(),
            tenant=room.tenant,
            room=room.id,
            sender=sender,
            kind=kind,
            text=text,
            at=at,
            revision=revision,
            position=revision,
            reply_to=reply_to,
            attachments=tuple(attachments),
            behalf=behalf,
        )

        def told() -> None:
            self._publish(message)
            if notify:
                event = MessageReceived(
                    tenant=room.tenant, at=at, room=room.id, message=message.id, sender=sender, behalf=behalf
                )
                self._events.publish(event)

        uploader = behalf if sender == KEEPER else sender
        brought = [
            files_sql.attach(room.tenant, room.id, uploader, one.id, message.id)
            for one in attachments
            if isinstance(one, File)
        ]
        await self._store.write(sql.insert({**_to_row(message), "key": key}), *brought, *also(message), then=told)
        return message

    async def last_by(self, room: Room, sender: str, before: int) -> float:
        """Return when a sender posted last in a room before a position; 0 if never."""
        return await sql.last_by(self._store, room.tenant, room.id, sender, before)

    async def find_by_key(self, room: Room, sender: Caller, key: str) -> Message | None:
        """Return the message that a sender posted in a room under a key."""
        row = await sql.sent(self._store, room.tenant, room.id, (sender.id, sender.on_behalf_of), key)
        return None if row is None else _from_row(row)

    async def revise(
        self,
        message: Message,
        *,
        text: str | None = None,
        attachments: Sequence[Attachment] | None = None,
        also: AlsoStore = lambda _: (),
    ) -> Message:
        """Update a message that shows a state, such as the card of a call. No version is kept.

        If the message was deleted meanwhile, it stays deleted and is returned.
        """
        revised = msgspec.structs.replace(
            message,
            text=message.text if text is None else _check_text(text),
            attachments=message.attachments if attachments is None else tuple(attachments),
        )
        try:
            return await self._change(revised, "revised", message.sender, since=None, also=also)
        except Conflict:
            return await self._find(message.tenant, message.room, message.id)

    async def edit(self, message: Message, by: str, text: str, *, also: AlsoStore = lambda _: ()) -> Message:
        """Change the text of a message; the earlier version is kept."""
        edited = msgspec.structs.replace(message, text=_check_text(text), edited_at=self._clock.now())
        return await self._change_with_version(message, edited, "edited", by, also)

    async def delete(self, message: Message, by: str, *, also: AlsoStore = lambda _: ()) -> Message:
        """Delete a message. A tombstone with the deleter's name stays, and the earlier version is kept."""
        gone = msgspec.structs.replace(message, text="", attachments=(), deleted_at=self._clock.now(), deleted_by=by)
        return await self._change_with_version(message, gone, "deleted", by, also)

    async def restore(self, message: Message, old: Message, by: str, *, also: AlsoStore) -> Message:
        """Restore a message to an earlier version."""
        return await self._change_with_version(message, old, "restored", by, also)

    async def get(self, room: Room, id: str) -> Message:
        return await self._find(room.tenant, room.id, id)

    async def _find(self, tenant: str, room: str, id: str) -> Message:
        row = await sql.find(self._store, tenant, room, id)
        if row is None:
            raise NotFound(f"There is no message {id[:64]!r} in room {room!r}.")
        return _from_row(row)

    async def versions(self, message: Message) -> list[MessageVersion]:
        """Return the earlier versions of a message, oldest first."""
        rows = await sql.versions(self._store, message.id)
        return [MessageVersion(**{**row, "attachments": _attachments.decode(row["attachments"])}) for row in rows]

    async def newest(self, room: Room, limit: int, before: str = "") -> list[Message]:
        """Return the newest messages, or the newest before a given one; newest first."""
        position = (await self.get(room, before)).position if before else None
        return await self.before(room, position, limit)

    async def before(self, room: Room, position: int | None, limit: int) -> list[Message]:
        rows = await sql.before(self._store, room.tenant, room.id, position, limit)
        return [_from_row(row) for row in rows]

    async def after(self, room: Room, position: int, limit: int) -> list[Message]:
        """Return the messages after a position, oldest first."""
        return [_from_row(row) for row in await sql.after(self._store, room.tenant, room.id, position, limit)]

    async def since(self, room: Room, revision: int, limit: int) -> list[Message]:
        """Return the messages that are new or changed since a revision, in that order, in their current state."""
        return [_from_row(row) for row in await sql.since(self._store, room.tenant, room.id, revision, limit)]

    async def search(self, rooms: Sequence[Room], words: str, limit: int, before: str = "") -> list[Message]:
        """Return the messages in these rooms (of one tenant) that contain all words, newest first."""
        wanted = [one for one in words.replace("\x00", " ").split() if any(letter.isalnum() for letter in one)]
        if not wanted or not rooms:
            return []
        names = [room.id for room in rooms]
        rows = await sql.search(self._store, rooms[0].tenant, names, wanted, before, limit)
        return [_from_row(row) for row in rows]

    async def is_in(self, rooms: Sequence[Room], id: str) -> bool:
        """Whether a message is in one of these rooms (of one tenant)."""
        if not rooms:
            return False
        return await sql.is_message_in(self._store, rooms[0].tenant, [room.id for room in rooms], id)

    async def revision(self, room: Room) -> int:
        """Return the newest stored revision of a room; 0 if it has no messages."""
        await self._load_revision(room.tenant, room.id)
        return self._stored[room.tenant, room.id]

    async def _load_revision(self, tenant: str, room: str) -> None:
        """Load the newest revision of a room, so that the next can be assigned."""
        key = (tenant, room)
        if key not in self._assigned:
            newest = await sql.newest_revision(self._store, *key)
            self._assigned.setdefault(key, newest)  # another task may have loaded and advanced it
            self._stored.setdefault(key, newest)

    async def mark_read(self, room: Room, member: str, position: int) -> None:
        """Record that a member has read up to a position."""
        await self._store.write(sql.mark(room.tenant, room.id, member, position, self._clock.now()), durable=False)

    async def unread(self, rooms: Sequence[Room], member: str) -> dict[str, ReadPosition]:
        """Return by room (of one tenant) how far a member has read, and the number of unread messages."""
        if not rooms:
            return {}
        names = [room.id for room in rooms]
        rows = await sql.unread(self._store, rooms[0].tenant, names, member)
        return {row["room"]: ReadPosition(**row) for row in rows}

    async def _change_with_version(
        self, old: Message, new: Message, change: MessageChange, by: str, also: AlsoStore
    ) -> Message:
        trace = sql.keep_version(_to_row(old), change, by, self._clock.now())
        return await self._change(new, change, by, since=old.revision, also=lambda message: (trace, *also(message)))

    async def _change(
        self, message: Message, change: str, by: str, *, since: int | None, also: AlsoStore = lambda _: ()
    ) -> Message:
        await self._load_revision(message.tenant, message.room)
        message = msgspec.structs.replace(message, revision=self._next_revision(message.tenant, message.room))
        event = MessageChanged(
            tenant=message.tenant,
            at=self._clock.now(),
            room=message.room,
            message=message.id,
            change=change,
            by=by,
        )

        def told() -> None:
            self._publish(message)
            self._events.publish(event)

        await self._store.write(sql.change(_to_row(message), since=since), *also(message), then=told)
        return message

    def _next_revision(self, tenant: str, room: str) -> int:
        """Assign the next revision. Do not await between this and the write: both must happen in the same order."""
        self._assigned[tenant, room] += 1
        return self._assigned[tenant, room]

    def _publish(self, message: Message) -> None:
        self._stored[message.tenant, message.room] = message.revision
        self._live.publish_message(message)


def _check_text(text: str) -> str:
    if len(text) > LARGEST_MESSAGE:
        raise BadParams(f"A message has at most {LARGEST_MESSAGE} characters; given {len(text)}.")
    return to_storable(text)


def _to_row(message: Message) -> dict[str, Any]:
    return {**msgspec.structs.asdict(message), "attachments": _encode(message.attachments).decode()}


def _from_row(row: dict[str, Any]) -> Message:
    return Message(**{**row, "attachments": _attachments.decode(row["attachments"])})
