"""Ask a model, and wait once if its provider is rate limiting and says for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager

from doorward.agents.answering import Answer, Told, answer
from doorward.agents.models.model import Model, ModelFailed, Prompt
from doorward.settings import Personas

Waiting = Callable[[float], AbstractContextManager[None]]
"""A context that is active during the wait, given its seconds, so that followers can be told."""


class Patience:
    """The one wait that a persona's turn or a keeper's request may spend."""

    def __init__(self) -> None:
        self._left = True

    async def answer(self, model: Model, given: Prompt, limits: Personas, told: Told, waiting: Waiting) -> Answer:
        try:
            return await answer(model, given, limits, told)
        except ModelFailed as failure:
            wait = failure.retry_after
            if failure.fault != "rate_limited" or wait is None or wait > limits.wait_seconds or not self._left:
                raise
            self._left = False
        with waiting(wait):
            await asyncio.sleep(wait)
        return await answer(model, given, limits, told)
