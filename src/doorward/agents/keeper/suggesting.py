"""The one call that would do what somebody wants, worked out by the house model; nothing of it runs."""

from __future__ import annotations

import asyncio

from doorward.agents.house.model import HouseModel
from doorward.agents.keeper.briefing import Brief, offered_tool
from doorward.agents.surroundings import Models
from doorward.backends.context import Context
from doorward.backends.help import spelling
from doorward.backends.keeper_desk import Suggestion


async def suggest(ctx: Context, brief: Brief, models: Models, request: str) -> Suggestion | None:
    model = models.find("house")
    if not isinstance(model, HouseModel):
        return None
    tools = [offered_tool(brief, command) for command in brief.offered]
    found = await asyncio.to_thread(model.suggest, request, tools, ctx.house.clock.now())
    if found is None or found.command not in ctx.house.registry:
        return None
    command = ctx.house.registry[found.command]
    return {
        "command": command.name,
        "params": found.params,
        "line": spelling.line(command, found.params),
        "explanation": command.summary,
        "score": found.score,
        "reason": found.reason,
        "safety": command.facts.safety.value,
        "alternatives": list(found.alternatives),
    }
