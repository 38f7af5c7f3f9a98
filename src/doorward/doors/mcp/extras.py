"""Additional tools, resources and prompts that tests give the door.

The official conformance suite needs things that Doorward has no use for, such as a tool that returns audio. The tests
define them in a subclass of `Extras`. The product never uses extras, and they bypass the gate: never use them for
commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doorward.doors.mcp.ask import Ask
from doorward.wire.shapes import (
    Contents,
    InputRequired,
    Prompt,
    PromptResult,
    Resource,
    ResourceTemplate,
    Tool,
    ToolResult,
)


class Extras:
    """Adds nothing. Each method returns None for an unknown name."""

    tools: Sequence[Tool] = ()
    resources: Sequence[Resource] = ()
    templates: Sequence[ResourceTemplate] = ()
    prompts: Sequence[Prompt] = ()

    async def call(self, ask: Ask, name: str, arguments: Mapping[str, Any]) -> ToolResult | InputRequired | None:
        return None

    async def read(self, ask: Ask, uri: str) -> Sequence[Contents] | InputRequired | None:
        return None

    async def prompt(self, ask: Ask, name: str, arguments: Mapping[str, str]) -> PromptResult | InputRequired | None:
        return None

    async def complete(
        self, ask: Ask, ref: Mapping[str, Any], argument: str, typed: str, context: Mapping[str, str]
    ) -> Sequence[str] | None:
        return None
