"""A prompt for the house model, and its answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from doorward.agents.house.model import HouseModel
from doorward.agents.models.model import ChatTurn, NativeCall, NoAction, Prompt, TextPiece, ToolSpec
from doorward.store.collection_profiles import CollectionProfile, FieldProfile

NOW = 1_800_000_000.0
"""Friday, 15 January 2027, 08:00 UTC."""
COMMANDS = (
    *("ai/report", "approval/list", "audit/timeline", "data/aggregate", "data/count", "data/describe", "data/list"),
    *("debug/logs", "help/describe", "help/search", "persona/list", "recipe/show", "room/show", "room/who"),
    *("shell/date", "shell/nproc", "shell/pwd", "system/status"),
)


def tool(command: str, **more: Any) -> ToolSpec:
    given: dict[str, Any] = {"description": "Do it.", "schema": {}, "reads_only": True, **more}
    return ToolSpec(command.replace("/", "_"), command=command, **given)


def user(text: str) -> ChatTurn:
    return ChatTurn(role="user", text=text, speaker="owner")


def result(command: str, value: Any) -> ChatTurn:
    """The result of a call, as prompts show it."""
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        items = [f"{number}. {json.dumps(one)}" for number, one in enumerate(value["items"], 1)]
        rest = {key: one for key, one in value.items() if key != "items"}
        lines = [f"Found {len(items)} items:", *items, *([f"({json.dumps(rest)})"] if rest else [])]
        text = "\n".join(lines)
    else:
        text = f"Result: {value if isinstance(value, str) else json.dumps(value)}"
    name = command.replace("/", "_")
    return ChatTurn(role="result", text=f"{command}: done.\n<data>\n{text}\n</data>", tool=name)


def profile(name: str, kind: str = "system", /, **fields: tuple[str, ...]) -> CollectionProfile:
    """A collection with the values of its fields."""
    made = tuple(FieldProfile(name=one, kind="text", values=values, complete=True) for one, values in fields.items())
    return CollectionProfile(name=name, kind=kind, key="id", count=1, fields=made)  # type: ignore[arg-type]


class Answer:
    def __init__(self, pieces: Sequence[Any]) -> None:
        self.calls = [
            (one.name.replace("_", "/", 1), json.loads(one.arguments)) for one in pieces if isinstance(one, NativeCall)
        ]
        self.text = "".join(one.text for one in pieces if isinstance(one, TextPiece))
        self.acts = not any(isinstance(one, NoAction) for one in pieces)

    @property
    def commands(self) -> list[str]:
        return [command for command, _ in self.calls]

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the only call."""
        ((_, params),) = self.calls
        return dict(params)


async def ask(
    *turns: ChatTurn | str,
    tools: Sequence[str | ToolSpec] = COMMANDS,
    data: tuple[CollectionProfile, ...] = (),
) -> Answer:
    prompt = Prompt(
        instructions="You are Guide, known as @guide, an AI in the room 'lab'.",
        turns=tuple(user(one) if isinstance(one, str) else one for one in turns),
        tools=tuple(tool(one) if isinstance(one, str) else one for one in tools),
        data=data,
    )
    return Answer([piece async for piece in HouseModel(lambda: NOW).answer(prompt)])
