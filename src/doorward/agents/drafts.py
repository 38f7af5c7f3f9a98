"""Drafts: a persona's answer, shown in the room while it is written."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from doorward.ids import new_id
from doorward.rooms.live import Live
from doorward.rooms.message import Message
from doorward.rooms.rooms import Room

_BETWEEN = 0.05
_CALLS = re.compile(
    r"^[ \t]*+(?:EXECUTE\s*+:|<[ \t]*+/?[ \t]*+(?:tool|function|invoke)|```)", re.MULTILINE | re.IGNORECASE
)
"""Where the prose ends and a call begins. Calls are shown as cards instead."""
_LONGEST = 20_000


def for_people(text: str, looked_at: int = 0) -> tuple[str, int]:
    """Return the prose before the first call, and the position from which to look for a call next time."""
    calls = _CALLS.search(text, looked_at)
    if calls:
        return text[: calls.start()], calls.start()
    return text, text.rfind("\n") + 1


class Drafting:
    """Streams one answer to a room."""

    def __init__(self, live: Live, room: Room, persona: str) -> None:
        self._live = live
        self._room = room
        self._persona = persona
        self._id = new_id()
        self._last = 0.0
        self._shown = ""
        self._so_far: Callable[[], str] = str
        self._line = 0
        """Start of the last line that was scanned; the lines before it hold no call."""

    def told(self, so_far: Callable[[], str]) -> None:
        """Publish the text so far, at most once per interval."""
        self._so_far = so_far
        now = asyncio.get_running_loop().time()
        if now - self._last < _BETWEEN:
            return
        self._last = now
        shown, self._line = for_people(so_far()[:_LONGEST], self._line)
        if shown.strip() and shown != self._shown:
            self._shown = shown
            self._live.draft(self._room, self._id, self._persona, shown)

    def words(self) -> str:
        """Return all prose written so far, including text that is not published yet."""
        return for_people(self._so_far(), self._line)[0].strip()

    def done(self, message: Message | None = None) -> None:
        """End the draft, replaced by the message or by nothing."""
        if self._shown:
            self._live.draft(self._room, self._id, self._persona, message.text if message else "", done=True)
            self._shown = ""
