"""Asking a model that may be asked too often: one that says that it will soon be free is waited for, once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager

from doorward.agents.answering import Answer, Told, answer
from doorward.agents.models.model import Model, ModelFailed, Prompt
from doorward.settings import Personas

Waiting = Callable[[float], AbstractContextManager[None]]
"""Entered with the seconds for as long as is waited, so that whoever follows can be told."""


class Patience:
    """That of one turn of a persona or one request to the keeper, which does not wait twice."""

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
