"""Commands that tests put into a house beside the built-in ones."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from msgspec import Meta

from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import CommandFailed

Text = Annotated[str, Meta(description="Any text")]


class Scratch:
    """A family whose commands count their runs and wait when told to."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.gate = asyncio.Event()
        self._arrived = asyncio.Event()
        self.family = Family("scratch", category="test")

        def ran(text: str) -> None:
            self.runs.append(text)
            self._arrived.set()

        common: dict[str, Any] = {
            "access": Access.READ,
            "safety": Safety.SAFE,
            "cost": 3,
            "timeout": 5,
            "examples": [Example("try it", {"text": "x"})],
        }
        reads = {"tier": Tier.INFORMATION, "effects": Effects.READ, "undo": READS_ONLY, **common}
        writes = {"tier": Tier.CODE, "effects": Effects.WRITE, "undo": NoUndo("a test"), **common}

        @self.family.command("look", **reads)
        async def look(ctx: Any, text: Text) -> dict[str, Any]:
            """Look at something."""
            ran(text)
            return {"text": text}

        @self.family.command("touch", **writes)
        async def touch(ctx: Any, text: Text) -> dict[str, Any]:
            """Change something."""
            ran(text)
            return {"text": text}

        @self.family.command("wait", **writes)
        async def wait(ctx: Any, text: Text) -> dict[str, Any]:
            """Change something, once the test lets it."""
            ran(text)
            await self.gate.wait()
            return {"text": text}

        @self.family.command("fail", **writes)
        async def fail(ctx: Any, text: Text) -> dict[str, Any]:
            """Fail in the way that is asked for."""
            ran(text)
            if text == "broken":
                raise ZeroDivisionError("a defect with password=hunter2 in it")
            raise CommandFailed(f"It did not work: {text}.")

        @self.family.command("many", **reads)
        async def many(ctx: Any, text: Text) -> dict[str, Any]:
            """Give a list as long as the text says."""
            return {"items": [{"n": n, "filler": "f" * 90} for n in range(int(text))]}

    async def until(self, count: int) -> None:
        """Wait until so many commands have begun."""
        while len(self.runs) < count:
            self._arrived.clear()
            await self._arrived.wait()


def recipe(**ai_commands: Any) -> dict[str, Any]:
    """A recipe that allows everything, with changes."""
    rules = {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 100_000, **ai_commands}
    return {"recipeId": "scratch", "displayName": "Scratch", "strategy": {"aiCommands": rules}}
