"""An agent with effort: what a cycle costs, how soon it sees a message while it works, and its size."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from bench.apart import resident, run_apart
from bench.scratch import UNLIMITED
from bench.sizes import Sizes
from doorward.agents.models.model import AnswerPiece, Model, Prompt, TextPiece
from doorward.agents.personas.dispatcher import run_personas
from doorward.app import House, open_house
from doorward.config.home import Home
from doorward.core.model import Credential, Request

_CONVERSATIONS = 1_000
_CYCLES = 200
_MESSAGES = 20


class _Waiting:
    """A model that answers at once, except to a message that it is to think about for ever."""

    name = "waiting"

    def __init__(self) -> None:
        self.seen: asyncio.Queue[float] = asyncio.Queue()

    async def answer(self, prompt: Prompt) -> AsyncIterator[AnswerPiece]:
        self.seen.put_nowait(time.perf_counter())
        if "for ever" in prompt.turns[-1].text:
            await asyncio.Event().wait()
        yield TextPiece("Done.")

    def count(self, text: str) -> int:
        return len(text) // 4 + 1

    def find(self, name: str) -> Model:
        return self

    def instead_of(self, name: str) -> Model | None:
        return None


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    cycle, seen, size = run_apart("bench.effort", folder / "effort")
    return {"effort_cycle": cycle, "effort_seen": seen, "effort_size": size}


async def run(folder: Path) -> list[float]:
    """The milliseconds of an idle cycle, those until a message is seen, and the megabytes of the conversations."""
    async with open_house(Home(folder), changes=UNLIMITED) as house:
        model = _Waiting()
        async with run_personas(house.gate, house.services, model, house.effort):
            body = {"personaId": "worker", "displayName": "Worker", "effort": {"subAgent": False, "atOnce": 50}}
            await _ask(house, "persona/put", id="worker", text=json.dumps(body))
            await asyncio.sleep(0)
            before = resident(os.getpid())
            for number in range(_CONVERSATIONS):
                await _ask(house, "conversation/start", agent="worker", text=f"message {number}")
                await model.seen.get()
            size = resident(os.getpid()) - before
            agent = house.effort._agents["worker"]
            await asyncio.gather(*agent._tasks)
            took = []
            for _ in range(_CYCLES):
                begun = time.process_time()
                agent._cycle()
                took.append((time.process_time() - begun) * 1e3)
            await _ask(house, "conversation/start", agent="worker", text="think for ever")
            await model.seen.get()
            delays = []
            for number in range(_MESSAGES):
                begun = time.perf_counter()
                await _ask(house, "conversation/start", agent="worker", text=f"hello {number}")
                delays.append((await model.seen.get() - begun) * 1e3)
            return [statistics.median(took), max(delays), size]


async def _ask(house: House, command: str, **params: Any) -> Any:
    outcome = await house.gate.handle(Request(command, Credential(owner=True), "bench", "", params))
    if outcome.status != "done":
        raise RuntimeError(f"{command} was to be measured, but it is {outcome.status}: {outcome.message}")
    return outcome.result


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(Path(sys.argv[1])))))
