"""Convert a prompt to the messages of the provider library.

Providers require that roles alternate, that a user comes first, and that every call is followed by its result at once.
A conversation in a room has none of these properties, so it is reordered here.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from doorward import strictjson
from doorward.agents.models.model import Asked, Prompt, Tool, Turn
from doorward.visible import storable, visible

BEGINNING = "(The conversation begins here.)"
NO_NEWS = "(Nobody said anything since.)"
NO_RESULT = "No result: the call was never finished."
UNREADABLE = "unreadable_arguments"
_LONGEST_UNREADABLE = 2_000
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


def parameters(prompt: Prompt) -> ModelRequestParameters:
    """Return the instructions and the tools, which the library offers and never runs."""
    return ModelRequestParameters(
        function_tools=[_tool(one) for one in prompt.tools],
        allow_text_output=True,
        instruction_parts=[InstructionPart(content=storable(prompt.instructions))] if prompt.instructions else None,
    )


def messages(prompt: Prompt) -> list[ModelMessage]:
    """Return the turns in an order that every provider accepts."""
    made = _Made(natively=bool(prompt.tools))
    for turn in prompt.turns:
        if turn.role == "user":
            made.heard(turn.spoken)
        elif turn.role == "result":
            made.result(turn)
        else:
            made.spoke(turn)
    return made.whole()


class _Made:
    """Builds the messages. Results are placed after their call, and user messages of the meantime after the results.

    Without tools, providers accept no calls either, so earlier calls are described in words.
    """

    def __init__(self, *, natively: bool) -> None:
        self._natively = natively
        self._done: list[ModelMessage] = []
        self._response: list[ModelResponsePart] = []
        self._open: dict[str, ToolCallPart] = {}
        self._results: dict[str, str] = {}
        self._heard: list[str] = []
        self._calls = 0

    def heard(self, text: str) -> None:
        if text.strip():
            self._heard.append(text)

    def result(self, turn: Turn) -> None:
        """Add a result. If its call is not shown or has a result already, it is described in words."""
        call = self._open.get(turn.answers)
        if call is None or call.tool_call_id in self._results:
            self.heard(f"(Result of {visible(turn.tool or 'an earlier call', lines=False)}:)\n{storable(turn.text)}")
        else:
            self._results[call.tool_call_id] = storable(turn.text)

    def spoke(self, turn: Turn) -> None:
        if not turn.text.strip() and not turn.calls:
            return
        if self._heard or self._open:
            self._close()
        if turn.text.strip():
            self._response.append(TextPart(content=storable(turn.text)))
        for call in turn.calls:
            if not self._natively:
                self._response.append(TextPart(content=_in_words(call)))
                continue
            self._calls += 1
            part = _call(call, f"call{self._calls:05d}")
            self._response.append(part)
            self._open[call.id] = part

    def whole(self) -> list[ModelMessage]:
        if self._response and not (self._heard or self._open):
            self.heard(NO_NEWS)
        self._close()
        first = self._done[0] if self._done else None
        if first is None or isinstance(first, ModelResponse):
            self._done.insert(0, ModelRequest(parts=[UserPromptPart(content=BEGINNING)]))
        return self._done

    def _close(self) -> None:
        """Add the answer so far, then the results of its calls and the user messages since."""
        if self._response:
            self._done.append(ModelResponse(parts=self._response))
        parts: list[ModelRequestPart] = [
            ToolReturnPart(
                tool_name=call.tool_name,
                content=self._results.get(call.tool_call_id, NO_RESULT),
                tool_call_id=call.tool_call_id,
            )
            for call in self._response
            if isinstance(call, ToolCallPart)
        ]
        if self._heard:
            parts.append(UserPromptPart(content="\n\n".join(self._heard)))
        if parts:
            self._done.append(ModelRequest(parts=parts))
        self._response, self._open, self._results, self._heard = [], {}, {}, []


def _call(call: Asked, id: str) -> ToolCallPart:
    """Return an earlier call with an id of ours, because ids of one provider are not valid with another."""
    name = _NOT_IN_NAMES.sub("_", call.name)[:64] or "unnamed"
    return ToolCallPart(tool_name=name, args=_arguments(call.arguments), tool_call_id=id)


def _in_words(call: Asked) -> str:
    written = storable(call.arguments[:_LONGEST_UNREADABLE])
    return f"(I called {visible(call.name, lines=False)} with {written or 'nothing'}.)"


def _arguments(text: str) -> dict[str, Any]:
    """Return the arguments as an object, as providers require. Unreadable arguments are wrapped as text."""
    try:
        value = strictjson.loads(text) if text.strip() else {}
    except strictjson.NotJson:
        value = None
    return value if isinstance(value, dict) else {UNREADABLE: storable(text[:_LONGEST_UNREADABLE])}


def _tool(tool: Tool) -> ToolDefinition:
    """Return a tool with the unchanged schema of its command, without the `$schema` key."""
    schema = {key: value for key, value in tool.schema.items() if key != "$schema"}
    return ToolDefinition(name=tool.name, description=storable(tool.description), parameters_json_schema=schema)
