"""The part of a prompt that small models get in the place of long instructions and many tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doorward.agents.models.answer_shape import build_shape
from doorward.agents.models.model import ChatTurn, ConstrainedModel, Model, ToolSpec
from doorward.agents.small_models.context import (
    NextStep,
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
    shape = None
    if isinstance(model, ConstrainedModel) and model.constrains:
        callable_tools, words_too = list_callable(made, next_step, is_first=not so_far)
        shape = build_shape(callable_tools, words_too=words_too)
    return SmallPrompt(made.text, made.tools, shape, _add_suggestion(given, so_far, suggest))


def _add_suggestion(given: SmallContext, so_far: Sequence[ChatTurn], suggest: Suggest) -> Sequence[ChatTurn]:
    last = so_far[-1] if so_far else None
    if given.suggested is None or last is None or last.role != "result":
        return so_far
    line = describe_suggestion(suggest(so_far), given.offered)
    return [*so_far[:-1], msgspec.structs.replace(last, text=f"{last.text}\n{line}")] if line else so_far
