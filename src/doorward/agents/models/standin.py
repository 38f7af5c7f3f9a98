"""The stand-in: a model without a language model, that needs no key and no network and answers by rules."""

from __future__ import annotations

from collections.abc import AsyncIterator

from doorward.agents.models.model import Piece, Prompt, Spent, Text

SUGGESTIONS = ("How many rooms do we have?", "Is everything running okay?", "What files are in the workspace?")


def greeting() -> str:
    return "Hello."


class StandIn:
    name = "house"

    async def answer(self, prompt: Prompt) -> AsyncIterator[Piece]:
        yield Text("I am the built-in helper.")
        yield Spent(self.count(prompt.instructions), 5)

    def count(self, text: str) -> int:
        return len(text.encode()) // 3 + 1
