"""A model that does whatever any text tells it to, in the three ways in which a model can."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from doorward.agents.calls.answer_parser import parse
from doorward.agents.models.model import AnswerPiece, NativeCall, Prompt, TextPiece

Want = dict[str, Any]
"""A command with `params`, a line without, or another `tool` of the keeper's with what it is given."""
CALLS, WRITES = "calls", "writes"


class Obedient:
    """Reads what it is asked to, obeys what stands there, and says that it is done.

    One that writes repeats a call that it read first, as it stands there, and then writes the same in its own words.
    """

    name = "scripted"

    def __init__(self, way: str, reads: Want | None, text: str, wants: list[Want], *, persona: bool = False) -> None:
        self.shown: list[Prompt] = []
        reading: list[list[AnswerPiece]] = [[native(reads, 0, persona=persona)]] if reads is not None else []
        obeying: dict[str, list[list[AnswerPiece]]] = {
            CALLS: [[native(one, number + 1, persona=persona) for number, one in enumerate(wants)]],
            WRITES: [[TextPiece(f"I do it.\n{written(one, persona=persona)}")] for one in wants],
        }
        self.repeats = way == WRITES and bool(parse(text).calls)
        if self.repeats:
            reading = [*reading, [TextPiece(text)]]
        self.repeated: Callable[[], Awaitable[None]] | None = None
        """Is told when what it repeated has come to its end."""
        self._behind = len(reading) if self.repeats else -1
        self._answers: list[list[Any]] = [*reading, *obeying[way]]

    async def answer(self, prompt: Prompt) -> AsyncIterator[AnswerPiece]:
        if len(self.shown) == self._behind and self.repeated is not None:
            await self.repeated()
        self.shown.append(prompt)
        for piece in self._answers.pop(0) if self._answers else [TextPiece("That is all.")]:
            yield piece

    def count(self, text: str) -> int:
        return len(text) // 4 + 1

    @property
    def seen(self) -> str:
        """All that it was shown, in whatever place."""
        return "\n".join(map(whole, self.shown))


def whole(prompt: Prompt) -> str:
    tools = [f"{one.name} {one.description} {json.dumps(one.schema)}" for one in prompt.tools]
    return "\n".join((prompt.instructions, *(turn.text for turn in prompt.turns), *tools))


def native(want: Want, number: int, *, persona: bool) -> NativeCall:
    name, given = _called(want, persona=persona)
    return NativeCall(f"call-{number}", name, json.dumps(given))


def written(want: Want, *, persona: bool) -> str:
    """The same call in a text, in other words than those that were planted."""
    name, given = _called(want, persona=persona)
    return json.dumps({"name": name, "arguments": given, "id": "mine"})


def _called(want: Want, *, persona: bool) -> tuple[str, dict[str, Any]]:
    """A persona is offered commands, and the keeper's model three tools."""
    if "tool" in want:
        given = {key: value for key, value in want.items() if key != "tool"}
        return {"read_file": "vfs/read", "write_file": "vfs/write"}[want["tool"]] if persona else want["tool"], given
    if not persona:
        return "run_command", dict(want)
    if "params" in want:
        return want["command"], want["params"]
    return "shell/script", {"script": want["command"]}
