"""Descriptions of commands for models."""

from __future__ import annotations

import json
from collections.abc import Iterable

from doorward.agents.models.model import ToolSpec
from doorward.core.classification import Effects
from doorward.core.command import Command, Example
from doorward.core.tool_schema import flatten_schema
from doorward.gate.recipes.policy import Policy

_MAX_NAMES = 12
"""Names that are listed of one area."""


def describe_tool(command: Command, policy: Policy | None) -> ToolSpec:
    """Describe a command as a tool."""
    waits = command.asks_first or (policy is not None and policy.approval_terms(command) is not None)
    says = (
        f"{command.description}\n\nIt waits for a person's approval before it runs." if waits else command.description
    )
    return ToolSpec(
        command.wire,
        says,
        flatten_schema(command.schema).schema,
        command.name,
        (*command.facts.examples, *_recipe_examples(command, policy)),
        reads_only=command.reads_only,
        destroys=bool(command.facts.effects & Effects.DESTROY),
        asks=waits,
    )


def _recipe_examples(command: Command, policy: Policy | None) -> tuple[Example, ...]:
    """Return the example phrases that the room's recipe gives for a command."""
    phrases = policy.recipe.phrases if policy is not None else ()
    return tuple(Example(one.says, one.params) for one in phrases if one.command in (command.name, command.wire))


def tool_text(tool: ToolSpec) -> str:
    """Return the text of a tool, to count its tokens."""
    return f"{tool.name} {tool.description} {json.dumps(tool.schema)}"


def list_areas(commands: Iterable[Command]) -> list[str]:
    """List the first names of each area, one line per area."""
    areas: dict[str, list[str]] = {}
    for command in commands:
        areas.setdefault(command.category, []).append(command.name)
    return [
        f"- {area}: {', '.join(names[:_MAX_NAMES])}{' …' if len(names) > _MAX_NAMES else ''}"
        for area, names in areas.items()
    ]
