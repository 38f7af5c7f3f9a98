"""Suggest one call for a request, by the house model. The suggested call is not run.

Which collection and field a request means depends on the stored data, so the model may look things up first: by
read-only calls inside this one, made as the caller.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from doorward.agents.context import ModelSource
from doorward.agents.keeper.prompt import KeeperContext, describe_house_tool
from doorward.agents.models.model import ToolSpec
from doorward.commands.agent_services import Suggestion
from doorward.commands.context import Context
from doorward.commands.help import shell_line

if TYPE_CHECKING:
    from doorward.agents.house.model import HouseModel, Suggested
    from doorward.agents.house.results import ToolResult

_MAX_LOOKUPS = 12


async def suggest(ctx: Context, brief: KeeperContext, models: ModelSource, request: str) -> Suggestion | None:
    from doorward.agents.house.model import HouseModel  # noqa: PLC0415 - large, and often not needed

    model = models.find("house")
    if not isinstance(model, HouseModel):
        return None
    tools = [describe_house_tool(brief, command) for command in brief.offered]
    found = await _suggest_after_lookups(ctx, model, request, tools, brief)
    if found is None or found.command not in ctx.services.registry:
        return None
    command = ctx.services.registry[found.command]
    return {
        "command": command.name,
        "params": found.params,
        "line": shell_line.format_line(command, found.params),
        "explanation": command.summary,
        "score": found.score,
        "reason": found.reason,
        "safety": command.facts.safety.value,
        "alternatives": list(found.alternatives),
    }


async def _suggest_after_lookups(
    ctx: Context, model: HouseModel, request: str, tools: list[ToolSpec], brief: KeeperContext
) -> Suggested | None:
    """Return the suggestion after all lookups that it needs."""
    from doorward.agents.house.results import ToolResult  # noqa: PLC0415

    got: list[ToolResult] = []
    now = ctx.services.clock.now()
    while True:
        found = await asyncio.to_thread(
            model.suggest, request, tools, now, got, ctx.caller.id, brief.folder, data=brief.data
        )
        if found is None or not found.lookups:
            return found
        if len(got) + len(found.lookups) > _MAX_LOOKUPS:
            return None
        for one in found.lookups:
            if one.command not in ctx.services.registry or not ctx.services.registry[one.command].reads_only:
                return None
            outcome = await ctx.services.run_nested(ctx.call, one.command, one.params)
            if outcome.status != "done":
                return None
            got.append(ToolResult(command=one.command, params=one.params, value=outcome.result))
