"""What the keeper says while it is still thinking of it, to whoever follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from doorward.agents.drafts import for_people
from doorward.executions.execution import Execution

_BETWEEN = 0.05
"""Seconds between two pieces: often enough to be followed, seldom enough to cost little."""
_CALLS_BEGIN = ("{", "[", "<", "```")
"""An answer that begins like this is a call, not words."""


class Voice:
    """One answer of a model on its way. Calls in it are not words, and are left out."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._said = ""
        self._line = 0
        self._last = 0.0

    def told(self, so_far: Callable[[], str]) -> None:
        """There is more of the text; a piece that comes right behind another waits for the next one."""
        now = asyncio.get_running_loop().time()
        if now - self._last < _BETWEEN:
            return
        self._last = now
        shown, self._line = for_people(so_far(), self._line)
        if not shown.lstrip().startswith(_CALLS_BEGIN):
            self._say(shown.lstrip())

    def finish(self, prose: str) -> None:
        """The answer is there, and these are its words: say what of them is not said yet."""
        if prose.startswith(self._said.rstrip()):
            self._said = self._said[: len(prose)]
            self._say(prose)

    def _say(self, shown: str) -> None:
        if len(shown) > len(self._said) and shown.startswith(self._said):
            delta, self._said = shown[len(self._said) :], shown
            self._execution.step("text", {"delta": delta})
