"""A real model in a file, from a request in plain language to an answer with figures.

There is none in the suite: they are gigabytes. Whoever has one names it in DOORWARD_GGUF; without that the end of every
run says that this was not run. What can be known without a real one is in `test_local_models.py`.
"""

from __future__ import annotations

import os
import re
from typing import Any

import pytest

from doorward.agents.models.local import FILE_VARIABLE
from doorward.config.settings import KeeperSettings, ModelSettings, PersonaSettings, Settings

pytestmark = pytest.mark.anyio

if os.environ.get(FILE_VARIABLE):

    async def test_a_real_model_runs_a_command_and_answers_with_its_figures(opened: Any) -> None:
        changes = Settings(
            keeper=KeeperSettings(model="local:gguf", seconds=840, shown_tokens=6_000, answer_tokens=500),
            personas=PersonaSettings(answer_seconds=600),
            models=ModelSettings(fallback=""),
        )
        async with opened(changes=changes) as driver:
            for name in ("kitchen", "garden"):
                await driver.owner("room/create", name=name, recipe="casual-chat")
            asked = (
                "How many rooms are there? Find out with the command data/list, collection rooms, and say the number."
            )
            outcome = await driver.ask("agent/ask", by="", room="", params={"prompt": asked})
        answer = outcome.result
        assert answer["model"] == "local:gguf"
        assert any(one["status"] == "done" for one in answer["toolCalls"]), answer
        assert re.search(r"\b(3|three)\b", answer["response"], re.IGNORECASE), answer
