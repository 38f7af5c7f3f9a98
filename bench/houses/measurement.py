"""How well the house model, and a model file when one is named, answers in generated houses."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

from bench.houses.examination import HOUSE, Asked
from bench.houses.score import collect, p95, score, share
from bench.houses.world import FIELDS_OF_WORK
from bench.sizes import Sizes
from doorward.agents.models.local import FILE_VARIABLE

_MODEL_QUESTIONS = 25


def measure(_folder: Path, sizes: Sizes) -> dict[str, float]:
    """Every run draws houses of its own, whose seed is printed with the numbers."""
    seed = random.SystemRandom().randrange(1, 1_000_000)
    asked = _ask(seed, HOUSE, sizes.houses, sizes.house_questions)
    found = {
        "houses_seed": float(seed),
        "houses": float(len(asked)),
        **_shares("houses", asked),
        "houses_score": score(asked),
        "houses_p95": p95(asked),
    }
    if os.environ.get(FILE_VARIABLE):
        found |= _shares("houses_model", _ask(seed, "local:gguf", sizes.houses, _MODEL_QUESTIONS))
    return found


def _ask(seed: int, model: str, houses: int, questions: int) -> list[Asked]:
    names = list(FIELDS_OF_WORK)[:houses]
    return [one for name in names for one in asyncio.run(collect(name, seed, model, questions))]


def _shares(key: str, asked: list[Asked]) -> dict[str, float]:
    return {
        f"{key}_right": share(asked, "right"),
        f"{key}_wrong": share(asked, "wrong"),
        f"{key}_harmful": float(sum(one.verdict.grade == "harmful" for one in asked)),
    }
