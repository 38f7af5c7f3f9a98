"""An answer shown while it is written: often enough to be followed, seldom enough to cost little."""

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
"""Where the words end that are meant for people: what follows is shown as the card of a call."""
_LONGEST = 20_000


def for_people(text: str, looked_at: int = 0) -> tuple[str, int]:
    """The words of an answer before its first call, and where to look for one when there is more of it."""
    calls = _CALLS.search(text, looked_at)
    if calls:
        return text[: calls.start()], calls.start()
    return text, text.rfind("\n") + 1


class Drafting:
    """One answer on its way to the room."""

    def __init__(self, live: Live, room: Room, persona: str) -> None:
        self._live = live
        self._room = room
        self._persona = persona
        self._id = new_id()
        self._last = 0.0
        self._shown = ""
        self._so_far: Callable[[], str] = str
        self._line = 0
        """Where the last line begins that was looked at; those before it hold no call."""

    def told(self, so_far: Callable[[], str]) -> None:
        """There is more of the text; a piece that comes right behind another waits for the next one."""
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
        """All that was written so far for people, also what came too fast to be shown."""
        return for_people(self._so_far(), self._line)[0].strip()

    def done(self, message: Message | None = None) -> None:
        """The answer is there, as a message, or there will be none."""
        if self._shown:
            self._live.draft(self._room, self._id, self._persona, message.text if message else "", done=True)
            self._shown = ""
