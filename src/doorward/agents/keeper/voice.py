"""Stream the keeper's answer to its followers while it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from doorward.agents.drafts import for_people
from doorward.executions.execution import Execution

_BETWEEN = 0.05
"""Seconds between two updates."""
_CALLS_BEGIN = ("{", "[", "<", "```")
"""Beginnings of an answer that is a call instead of prose."""


class Voice:
    """Streams the prose of one answer; calls in it are left out."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._said = ""
        self._line = 0
        self._last = 0.0

    def told(self, so_far: Callable[[], str]) -> None:
        """Publish the text so far, at most once per interval."""
        now = asyncio.get_running_loop().time()
        if now - self._last < _BETWEEN:
            return
        self._last = now
        shown, self._line = for_people(so_far(), self._line)
        if not shown.lstrip().startswith(_CALLS_BEGIN):
            self._say(shown.lstrip())

    def finish(self, prose: str) -> None:
        """Publish the rest of the final prose."""
        if prose.startswith(self._said.rstrip()):
            self._said = self._said[: len(prose)]
            self._say(prose)

    def _say(self, shown: str) -> None:
        if len(shown) > len(self._said) and shown.startswith(self._said):
            delta, self._said = shown[len(self._said) :], shown
            self._execution.step("text", {"delta": delta})
