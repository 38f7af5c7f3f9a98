"""A message of a room, and what can hang on it: images and files, and the card of a call."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from doorward.model import KEEPER, Caller, Kind

SUMMARY = 500
"""Characters of an outcome that a card shows."""
CardState = Literal["waiting", "running", "parked", "done", "refused", "failed"]


class File(msgspec.Struct, frozen=True, tag="file", rename="camel"):
    """Bytes that came with a message; an image is one whose media type says so."""

    id: str
    name: str
    media_type: str
    size: int


class Card(msgspec.Struct, frozen=True, tag="call", rename="camel", kw_only=True):
    """A call that an AI makes in the room, as people see it. It is revised as the call gets further."""

    call: str = ""
    """The execution, once the gate has given it a name."""
    command: str
    params: Any = None
    """With secrets left out."""
    state: CardState
    code: str = ""
    summary: str = ""
    """The first 500 characters of what came of it, with hidden characters written out."""
    approval: str = ""
    """The approval that it waits for, or that it ran by."""
    rule: str = ""
    seconds: float | None = None
    topic: str = ""
    """The message that the AI answers with it: calls of one AI with the same are those of one turn."""


Attachment = File | Card


class Message(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    id: str
    tenant: str
    room: str
    sender: str
    kind: Kind
    text: str
    at: float
    revision: int = 0
    """Counts up in its room with every message and every change of one, so that one can ask for what is behind."""
    position: int = 0
    """The revision it was said with: messages stand in this order, whatever is changed of them later."""
    edited_at: float | None = None
    deleted_at: float | None = None
    deleted_by: str = ""
    reply_to: str = ""
    attachments: tuple[Attachment, ...] = ()
    behalf: str = ""
    """The person for whom an AI or a program said it."""

    def is_of(self, caller: Caller) -> bool:
        """Whether this caller said it. What the keeper said is of the keeper of one person, and of no other's."""
        if (self.sender, self.kind) != (caller.id, caller.kind):
            return False
        return self.sender != KEEPER or self.behalf == caller.on_behalf_of
