"""Additional tools, resources and prompts that tests give the door.

The official conformance suite needs things that Doorward has no use for, such as a tool that returns audio. The tests
define them in a subclass of `Extras`. The product never uses extras, and they bypass the gate: never use them for
commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doorward.core.wire.types import (
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    Prompt,
    Resource,
    ResourceContents,
    ResourceTemplate,
    Tool,
)
from doorward.doors.mcp.request import McpRequest


class Extras:
    """Adds nothing. Each method returns None for an unknown name."""

    tools: Sequence[Tool] = ()
    resources: Sequence[Resource] = ()
    templates: Sequence[ResourceTemplate] = ()
    prompts: Sequence[Prompt] = ()

    async def call(
        self, ask: McpRequest, name: str, arguments: Mapping[str, Any]
    ) -> CallToolResult | InputRequiredResult | None:
        return None

    async def read(self, ask: McpRequest, uri: str) -> Sequence[ResourceContents] | InputRequiredResult | None:
        return None

    async def prompt(
        self, ask: McpRequest, name: str, arguments: Mapping[str, str]
    ) -> GetPromptResult | InputRequiredResult | None:
        return None

    async def complete(
        self, ask: McpRequest, ref: Mapping[str, Any], argument: str, typed: str, context: Mapping[str, str]
    ) -> Sequence[str] | None:
        return None
