"""Drafts: a persona's answer, shown in the room while it is written."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from doorward.core.ids import new_id
from doorward.gate.executions.execution import Execution
from doorward.rooms.feed import RoomFeed
from doorward.rooms.message import Message
from doorward.rooms.rooms import Room

_DRAFT_INTERVAL = 0.05
_CALL_START = re.compile(
    r"^[ \t]*+(?:EXECUTE\s*+:|<[ \t]*+/?[ \t]*+(?:tool|function|invoke)|```)", re.MULTILINE | re.IGNORECASE
)
"""Where the prose ends and a call begins. Calls are shown as cards instead."""
_MAX_DRAFT = 20_000


def split_prose(text: str, looked_at: int = 0) -> tuple[str, int]:
    """Return the prose before the first call, and the position from which to look for a call next time."""
    calls = _CALL_START.search(text, looked_at)
    if calls:
        return text[: calls.start()], calls.start()
    return text, text.rfind("\n") + 1


class RoomDraft:
    """Streams one answer to a room."""

    def __init__(self, live: RoomFeed, room: Room, persona: str) -> None:
        self._live = live
        self._room = room
        self._persona = persona
        self._id = new_id()
        self._last = 0.0
        self._shown = ""
        self._so_far: Callable[[], str] = str
        self._line = 0
        """Start of the last line that was scanned; the lines before it hold no call."""

    def update(self, so_far: Callable[[], str]) -> None:
        """Publish the text so far, at most once per interval."""
        self._so_far = so_far
        now = asyncio.get_running_loop().time()
        if now - self._last < _DRAFT_INTERVAL:
            return
        self._last = now
        shown, self._line = split_prose(so_far()[:_MAX_DRAFT], self._line)
        if shown.strip() and shown != self._shown:
            self._shown = shown
            self._live.publish_draft(self._room, self._id, self._persona, shown)

    def prose(self) -> str:
        """Return all prose written so far, including text that is not published yet; empty after `finish`."""
        return split_prose(self._so_far(), self._line)[0].strip()

    def finish(self, message: Message | None = None) -> None:
        """End the draft, replaced by the message or by nothing."""
        self._so_far = str
        if self._shown:
            self._live.publish_draft(self._room, self._id, self._persona, message.text if message else "", done=True)
            self._shown = ""


_STEP_INTERVAL = 0.05
"""Seconds between two updates."""
_CALL_PREFIXES = ("{", "[", "<", "```")
"""Beginnings of an answer that is a call instead of prose."""


class StepDraft:
    """Streams the prose of one answer; calls in it are left out."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._said = ""
        self._line = 0
        self._last = 0.0

    def update(self, so_far: Callable[[], str]) -> None:
        """Publish the text so far, at most once per interval."""
        now = asyncio.get_running_loop().time()
        if now - self._last < _STEP_INTERVAL:
            return
        self._last = now
        shown, self._line = split_prose(so_far(), self._line)
        if not shown.lstrip().startswith(_CALL_PREFIXES):
            self._publish(shown.lstrip())

    def finish(self, prose: str) -> None:
        """Publish the rest of the final prose."""
        if prose.startswith(self._said.rstrip()):
            self._said = self._said[: len(prose)]
            self._publish(prose)

    def _publish(self, shown: str) -> None:
        if len(shown) > len(self._said) and shown.startswith(self._said):
            delta, self._said = shown[len(self._said) :], shown
            self._execution.step("text", {"delta": delta})
