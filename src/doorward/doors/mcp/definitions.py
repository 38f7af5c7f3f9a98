"""MCP tool definitions of commands."""

from __future__ import annotations

import msgspec

from doorward.command import Command
from doorward.facts import Effects
from doorward.recipes.policy import Policy
from doorward.wire.shapes import Tool, ToolAnnotations

_encode = msgspec.json.Encoder().encode


WAITS = "In this room every call waits for a person's approval before it runs."
ASKS = "A call by an agent or a program waits for a person's approval before it runs."


def defined(command: Command, policy: Policy | None = None, name: str = "") -> Tool:
    """A command as a tool. Its title is the command name, and its hints are the declared effects.

    The description says when calls wait for approval, so that a model knows it before the call.
    """
    effects = command.facts.effects
    waits = WAITS if policy is not None and policy.approval(command) is not None else ""
    if command.asks_first and not waits:
        waits = ASKS
    return Tool(
        name=name or command.wire,
        title=command.name,
        description=f"{command.description}\n\n{waits}" if waits else command.description,
        input_schema=command.schema,
        output_schema=command.returns,
        annotations=ToolAnnotations(
            title=command.name,
            read_only_hint=command.reads_only,
            destructive_hint=bool(effects & Effects.DESTROY),
            idempotent_hint=command.reads_only,
            open_world_hint=bool(effects & Effects.OPEN_WORLD),
        ),
    )


def listed(tool: Tool) -> tuple[str, msgspec.Raw]:
    """A tool for lists: its name, to sort by, and its encoded bytes."""
    return tool.name, msgspec.Raw(_encode(tool))
