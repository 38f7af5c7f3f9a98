"""A message of a room, with its attachments, and the messages that decide about a waiting call."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import msgspec

from doorward.core.model import KEEPER, Caller, Kind

MAX_SUMMARY = 500
"""The length of the output shown on a card, in characters."""
CardState = Literal["waiting", "running", "parked", "done", "refused", "failed"]


class File(msgspec.Struct, frozen=True, tag="file", rename="camel"):
    """A file attached to a message."""

    id: str
    name: str
    media_type: str
    size: int


class Card(msgspec.Struct, frozen=True, tag="call", rename="camel", kw_only=True):
    """A call of an AI as people see it in the room. It is revised as the call progresses."""

    call: str = ""
    """The execution id, once the gate has assigned one."""
    command: str
    params: Any = None
    """With secrets redacted."""
    state: CardState
    code: str = ""
    summary: str = ""
    """The first 500 characters of the output, with invisible characters escaped."""
    approval: str = ""
    """The approval that the call waits for or used."""
    rule: str = ""
    seconds: float | None = None
    topic: str = ""
    """The message that the AI answers. Calls of one AI with the same topic belong to one turn."""


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
    """Increases in its room with every new or changed message, so that clients can ask for everything since one."""
    position: int = 0
    """The revision at which it was posted. Messages are ordered by it, whatever changes later."""
    edited_at: float | None = None
    deleted_at: float | None = None
    deleted_by: str = ""
    reply_to: str = ""
    attachments: tuple[Attachment, ...] = ()
    behalf: str = ""
    """The person for whom an AI or a program posted it."""

    def is_of(self, caller: Caller) -> bool:
        """Whether this caller posted it. Messages of the keeper belong to the person it acted for."""
        if (self.sender, self.kind) != (caller.id, caller.kind):
            return False
        return self.sender != KEEPER or self.behalf == caller.on_behalf_of


_VERDICT = re.compile(
    r"(approve|deny)(?:[ \t]+([0-9a-hjkmnp-tv-z]{16}))?|(deny)[ \t]+([0-9a-hjkmnp-tv-z]{16})[ \t]+([^\r\n]{1,500})",
    re.IGNORECASE | re.ASCII,
)
"""An id after the word must have the form of Doorward's ids, so that no ordinary word matches."""


_VERDICT_START = re.compile(r"\W*(approve|deny)\b", re.IGNORECASE)


class ChatVerdict(NamedTuple):
    word: Literal["approve", "deny"]
    approval: str
    """The id of the approval; empty for the one that waits."""
    reason: str = ""
    """Why it is denied; only after the id."""


def parse_verdict(text: str) -> ChatVerdict | None:
    """Parse a message that consists of the word only, with or without an approval id.

    After `deny` and an id, a reason may follow. "I disapprove", "approve please" and "deny please" decide nothing.
    """
    found = _VERDICT.fullmatch(text.strip())
    if found is None:
        return None
    word: Literal["approve", "deny"] = "approve" if (found[1] or "").lower() == "approve" else "deny"
    return ChatVerdict(word, (found[2] or found[4] or "").lower(), (found[5] or "").strip())


def resembles_verdict(text: str) -> bool:
    """Whether a message looks like a verdict but is not valid, such as `approve!` or one with a partial id."""
    return parse_verdict(text) is None and _VERDICT_START.match(text) is not None
