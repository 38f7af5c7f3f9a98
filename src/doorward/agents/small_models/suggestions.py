"""Steps that the house model suggests to a small model, where it surely understands the request.

The small model stays free to do something else: a suggestion is one line of its prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from doorward.agents.models.model import ChatTurn, Model, Prompt, SuggestedStep, SuggestingModel
from doorward.agents.small_models.mentions import is_plain

Suggest = Callable[[Sequence[ChatTurn]], SuggestedStep | None]
"""Returns the next step after the calls and results of this request."""
_LONGEST_ANSWER = 600
_LONGEST_SQL = 600
_EVERYTHING = "*"


def suggest_with(model: Model | None, build_prompt: Callable[[Model, Sequence[ChatTurn]], Prompt]) -> Suggest:
    """Let a model suggest steps; another kind of model suggests none. `build_prompt` makes its prompt."""

    def suggest(so_far: Sequence[ChatTurn]) -> SuggestedStep | None:
        if model is None or not isinstance(model, SuggestingModel):
            return None
        turns = [msgspec.structs.replace(one, text=one.full or one.text) for one in so_far]
        step = model.suggest_step(build_prompt(model, turns))
        return step if step is not None and _is_safe(step) else None

    return suggest


def _is_safe(step: SuggestedStep) -> bool:
    """Whether a step can stand in a prompt as it is: no value in it can look like an instruction or a call."""
    if not step.command:
        return len(step.answer) <= _LONGEST_ANSWER
    return all(_is_plain_value(key, value) for key, value in step.params.items())


def _is_plain_value(key: str, value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_SQL if key == "sql" else is_plain(value) or value == _EVERYTHING
    if isinstance(value, Mapping):
        return all(is_plain(name.removeprefix("$")) and _is_plain_value("", one) for name, one in value.items())
    return all(_is_plain_value("", one) for one in value) if isinstance(value, list) else True
