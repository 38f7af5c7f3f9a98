"""The part of a prompt that small models get in the place of long instructions and many tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doorward.agents.models.answer_shape import build_shape
from doorward.agents.models.model import ChatTurn, ConstrainedModel, Model, SuggestedStep, ToolSpec
from doorward.agents.small_models.context import (
    NextStep,
    ShortInstructions,
    SmallContext,
    build_instructions,
    describe_suggestion,
    list_callable,
)
from doorward.agents.small_models.suggestions import Suggest

MOST_ANSWER_TOKENS = 400


class SmallPrompt(msgspec.Struct, frozen=True):
    instructions: str
    tools: tuple[ToolSpec, ...]
    shape: Mapping[str, Any] | None
    """The schema of the answer, if the model keeps to one."""
    so_far: Sequence[ChatTurn]
    """The steps of this request, with the suggested next step behind the last result."""


def build_small_prompt(
    given: SmallContext, model: Model, so_far: Sequence[ChatTurn], next_step: NextStep, suggest: Suggest
) -> SmallPrompt:
    given.suggested = suggest(())
    made = build_instructions(given, model.count)
    step = given.suggested if not so_far or given.suggested is None else suggest(so_far)
    shape = None
    if isinstance(model, ConstrainedModel) and model.constrains:
        shape = _build_shape(given, made, step, next_step, is_first=not so_far)
    return SmallPrompt(made.text, made.tools, shape, _add_suggestion(given, so_far, step))


def _build_shape(
    given: SmallContext, made: ShortInstructions, step: SuggestedStep | None, next_step: NextStep, *, is_first: bool
) -> Mapping[str, Any]:
    """Build the schema of the answer. A suggested step is made as it is: small models alter what they copy."""
    if step is not None and next_step == "any":
        tools = [one for one in made.tools if step.command and one.command == step.command]
        exact = {"type": "object", "const": dict(step.params)}
        return build_shape([msgspec.structs.replace(one, schema=exact) for one in tools[:1]], words_too=not tools)
    callable_tools, words_too = list_callable(made, next_step, is_first=is_first)
    return build_shape(callable_tools, words_too=words_too)


def _add_suggestion(given: SmallContext, so_far: Sequence[ChatTurn], step: SuggestedStep | None) -> Sequence[ChatTurn]:
    last = so_far[-1] if so_far else None
    if last is None or last.role != "result":
        return so_far
    line = describe_suggestion(step, given.offered)
    return [*so_far[:-1], msgspec.structs.replace(last, text=f"{last.text}\n{line}")] if line else so_far
