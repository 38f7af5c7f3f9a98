"""What one permission decision costs."""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path

from bench.scratch import READ, ROOM, scratch_house
from bench.sizes import Sizes
from doorward.core.model import Credential
from doorward.gate.recipes.policy import Policy


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    return asyncio.run(_measure(folder, sizes))


async def _measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    async with scratch_house(folder / "decisions") as house:
        rule = house.services.get_ruling
        caller = house.gate.caller(Credential(owner=True, speak_as="agent"))
        command = house.services.registry[READ]
        (recipe,) = (one for one in house.services.recipes.recipes() if one.recipe_id == ROOM)
        warm, first = [], []
        for _ in range(sizes.rounds):
            begun = time.process_time()
            for _ in range(sizes.decisions):
                rule(caller, ROOM, command)
            warm.append((time.process_time() - begun) / sizes.decisions)
            fresh = [Policy(recipe) for _ in range(max(1, sizes.decisions // 100))]
            begun = time.process_time()
            for policy in fresh:
                policy.rule_on(command)
            first.append((time.process_time() - begun) / len(fresh))
    return {"decision": statistics.median(warm) * 1e6, "decision_first": statistics.median(first) * 1e6}
