"""Attachments: files are uploaded to a room first, then attached to a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from doorward.config.settings import RoomSettings as Limits
from doorward.core.clock import Clock
from doorward.core.errors import BadParams, Conflict, NotFound
from doorward.core.escape_invisible import escape_invisible
from doorward.core.ids import new_id
from doorward.rooms.message import File
from doorward.rooms.rooms import Room
from doorward.store import attachments as sql
from doorward.store.sqlite import Statement, Store

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Image types that browsers display without running code."""
_MAX_NAME = 200


class Upload(msgspec.Struct, frozen=True):
    """An uploaded file with its uploader and its message, if it is attached."""

    file: File
    uploader: str
    message: str


class Attachments:
    def __init__(self, store: Store, clock: Clock, limits: Limits) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits

    async def upload(self, room: Room, uploader: str, name: str, content: bytes) -> File:
        """Store an upload for a later message. An upload that is never attached is deleted after a while."""
        most = self._limits.attachment_bytes
        if not 0 < len(content) <= most:
            raise BadParams(f"A file has between 1 and {most} bytes; given {len(content)}.")
        if await sql.unattached(self._store, room.tenant, uploader) >= self._limits.loose_attachments:
            raise Conflict(
                f"{self._limits.loose_attachments} uploads are not attached to a message yet. Attach some first, or "
                "wait until they expire."
            )
        file = File(new_id(), _clean_name(name), detect_media_type(content), len(content))
        row = msgspec.structs.asdict(file)
        await self._store.write(sql.insert(room.tenant, room.id, uploader, row, content, self._clock.now()))
        return file

    async def require_unattached(self, room: Room, uploader: str, ids: Sequence[str]) -> list[File]:
        """Return the uploads that a new message attaches, in order. Each must be the sender's and unattached."""
        most = self._limits.attachments
        if len(ids) > most or len(set(ids)) != len(ids):
            raise BadParams(f"A message has at most {most} attachments, each once; given {len(ids)}.")
        rows = {row["id"]: row for row in await sql.find(self._store, room.tenant, room.id, ids)} if ids else {}
        for id in ids:
            if id not in rows or rows[id]["uploader"] != uploader or rows[id]["message"]:
                raise NotFound(f"You have no unattached upload {id[:64]!r} in room {room.id!r}.")
        return [_to_upload(rows[id]).file for id in ids]

    async def find(self, room: Room, id: str) -> Upload:
        rows = await sql.find(self._store, room.tenant, room.id, [id])
        if not rows:
            raise NotFound(f"There is no file {id[:64]!r} in room {room.id!r}.")
        return _to_upload(rows[0])

    async def content(self, room: Room, id: str, offset: int, length: int) -> bytes:
        return await sql.content(self._store, room.tenant, room.id, id, offset, length)

    def cleanup_statements(self) -> list[Statement]:
        """Return the statements that delete expired unattached uploads."""
        return [sql.delete_unattached(self._clock.now() - self._limits.loose_hours * 3_600)]


def detect_media_type(content: bytes) -> str:
    """Detect the media type from the first bytes. The sender's claim is not trusted."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    if content.startswith(b"%PDF-"):
        return "application/pdf"
    return "text/plain" if _is_text(content) else "application/octet-stream"


def _is_text(content: bytes) -> bool:
    try:
        return "\x00" not in content.decode()
    except UnicodeDecodeError:
        return False


def _clean_name(name: str) -> str:
    """Return a file name without folders and invisible characters."""
    last = name.replace("\\", "/").rpartition("/")[2].strip()
    return escape_invisible(last, lines=False)[:_MAX_NAME] or "file"


def _to_upload(row: dict[str, Any]) -> Upload:
    return Upload(File(row["id"], row["name"], row["media_type"], row["size"]), row["uploader"], row["message"])
