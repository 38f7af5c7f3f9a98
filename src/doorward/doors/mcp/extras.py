"""What a test may add to the door: tools, resources and prompts of its own.

The official conformance suite asks a server for things that Doorward has no use for, such as a tool that answers with a
sound. They live in the tests, as a subclass of this. Nothing in the product gives the door extras, and what they do
does not pass the gate: it is not for commands.
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
    """Adds nothing. Each method that answers gives None for what it does not know."""

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
