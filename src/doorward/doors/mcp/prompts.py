"""MCP prompts: how to work in a room, how to use a category of commands, and how to do a task.

They are written from what the room offers the caller now, so that they never promise a command that is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doorward.commands.context import Services
from doorward.core.command import Command
from doorward.core.wire.codes import INVALID_PARAMS
from doorward.core.wire.frames import WireError
from doorward.core.wire.types import (
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)
from doorward.doors.mcp import encoding, pagination
from doorward.doors.mcp.approval_flow import ApprovalFlow
from doorward.doors.mcp.offers import OfferCache, RoomOffer
from doorward.doors.mcp.request import McpRequest
from doorward.doors.mcp.results import RESUME, protocol_error
from doorward.doors.mcp.upstream_lists import UpstreamLists
from doorward.gate.recipes.policy import Policy
from doorward.upstream.resources import PROMPT, command_names
from doorward.upstream.tool_names import ToolKey

WORK_HERE, USE, TASK = OWN_NAMES = ("work_here", "use", "task")
CATEGORY = "category"
GOAL = "goal"
_MAX_NAMED = 60

_encode = msgspec.json.Encoder().encode


class Prompts:
    def __init__(
        self, services: Services, offers: OfferCache, aggregated: UpstreamLists, carrying: ApprovalFlow
    ) -> None:
        self._page = services.settings.mcp.page
        self._offers = offers
        self._upstream_lists = aggregated
        self._flow = carrying

    async def list_prompts(self, ask: McpRequest) -> bytes:
        offer = self._offer(ask)
        others = [entry for _, entry in self._upstream_lists.prompts(offer).values()]
        prompts = sorted([*own_prompts(offer), *others], key=_name)
        after = pagination.parse_cursor("prompts", ask.params.get("cursor"))
        shown, cursor = pagination.paginate("prompts", prompts, _name, after, self._page)
        body: dict[str, Any] = {"prompts": shown}
        if cursor is not None:
            body["nextCursor"] = cursor
        return encoding.encode_cacheable(ask.era, body, self._offers.cache_ms)

    def categories(self, ask: McpRequest) -> list[str]:
        return _categories(self._offer(ask))

    def _offer(self, ask: McpRequest) -> RoomOffer:
        return self._offers.get(ask.caller, ask.peer.room)

    async def get(self, ask: McpRequest) -> bytes:
        name, arguments = ask.require_string("name"), ask.params.get("arguments", {})
        if not isinstance(arguments, dict) or not all(isinstance(value, str) for value in arguments.values()):
            raise WireError(INVALID_PARAMS, "prompts/get: `arguments` must be an object of strings.")
        others = self._upstream_lists.prompts(self._offer(ask))
        if name in others:
            return await self._get_upstream(ask, others[name][0], arguments)
        prompt = next((one for one in own_prompts(self._offer(ask)) if one.name == name), None)
        if prompt is None:
            valid = ", ".join((WORK_HERE, USE, TASK, *others))
            raise WireError(INVALID_PARAMS, f"There is no prompt {name[:80]!r}; valid: {valid}.")
        _check_arguments(prompt, arguments)
        said = PromptMessage(role="user", content=TextContent(text=_render(self._offer(ask), name, arguments)))
        return encoding.encode_result(ask.era, GetPromptResult(description=prompt.description, messages=[said]))

    async def _get_upstream(self, ask: McpRequest, whose: ToolKey, arguments: Mapping[str, str]) -> bytes:
        """Get a prompt of another MCP server with that server's command."""
        params = {"name": whose.tool, "arguments": arguments}
        outcome = await self._flow.run(
            ask, ask.build_gate_request(command_names(whose.server, PROMPT).canonical, params)
        )
        if isinstance(outcome, bytes):
            return outcome
        if outcome.status != "done":
            raise protocol_error(ask.era, outcome)
        return encoding.encode_result(ask.era, outcome.result.structured_content)


def own_prompts(offer: RoomOffer) -> list[Prompt]:
    """The door's own prompts, described for this offer."""
    return offer.memoize("prompts", lambda: _describe_own(offer))


def _describe_own(offer: RoomOffer) -> list[Prompt]:
    rules = f" ({offer.policy.recipe.display_name})" if offer.policy is not None else ""
    return [
        Prompt(
            name=WORK_HERE,
            title=f"How to work in {offer.room_name}",
            description=f"What this room's rules{rules} allow, what needs approval, and the call limit",
        ),
        Prompt(
            name=USE,
            title="Use a category of commands",
            description="The commands of one category, with parameters and examples",
            arguments=[
                PromptArgument(
                    name=CATEGORY,
                    description=f"One of: {', '.join(_categories(offer)) or 'none, no command is available here'}",
                    required=True,
                )
            ],
        ),
        Prompt(
            name=TASK,
            title="Do a task with commands",
            description="How to reach a goal step by step within this room's rules",
            arguments=[PromptArgument(name=GOAL, description="The goal to reach", required=True)],
        ),
    ]


def _categories(offer: RoomOffer) -> list[str]:
    return sorted({command.category for command in offer.commands})


def _render(offer: RoomOffer, name: str, arguments: Mapping[str, str]) -> str:
    if name == WORK_HERE:
        return _render_work_here(offer.room_name, offer.policy, offer.commands)
    if name == TASK:
        return _render_task(arguments[GOAL], offer.room_name, offer.policy, offer.commands)
    category = arguments[CATEGORY]
    found = [command for command in offer.commands if command.category == category]
    if not found:
        valid = ", ".join(_categories(offer)) or "none, no command is available here"
        raise WireError(INVALID_PARAMS, f"No command of the category {category[:80]!r} is available; valid: {valid}.")
    return _render_use(category, offer.policy, found)


def _name(prompt: Any) -> str:
    return str(prompt["name"] if isinstance(prompt, dict) else prompt.name)


def _check_arguments(prompt: Prompt, arguments: Mapping[str, str]) -> None:
    known = [argument.name for argument in prompt.arguments]
    for key in arguments:
        if key not in known:
            valid = ", ".join(known) or "none"
            raise WireError(INVALID_PARAMS, f"{prompt.name}: unknown argument {key[:40]!r}; valid: {valid}.")
    for argument in prompt.arguments:
        if argument.required and not arguments.get(argument.name, "").strip():
            raise WireError(INVALID_PARAMS, f"{prompt.name}: argument {argument.name!r} is missing.")


def _render_work_here(room: str, policy: Policy | None, offered: Sequence[Command]) -> str:
    lines = [f"You work in the room {room!r} through Doorward, which checks and records every call.", ""]
    if policy is not None:
        lines += [f"Its rules: {policy.recipe.display_name}. {policy.recipe.description}".rstrip(), ""]
    if not offered:
        return "\n".join([*lines, "No command is available to you here. Answer from what you know, and say so."])
    lines.append("You may run:")
    categories: dict[str, list[Command]] = {}
    for command in offered:
        categories.setdefault(command.category, []).append(command)
    lines += [f"- {name}: {_join_names([one.wire for one in found])}" for name, found in sorted(categories.items())]
    return "\n".join([*lines, "", *_render_rules(policy, offered)])


def _render_use(category: str, policy: Policy | None, found: Sequence[Command]) -> str:
    lines = [f"You can use these tools of the category {category!r}:", ""]
    for command in found:
        approval = " It waits for a person's approval." if _needs_approval(policy, command) else ""
        lines += [f"{command.wire} ({command.name}): {command.summary}{approval}", f"  parameters: {command.usage}"]
        lines += [
            f"  to {example.says!r}: {_encode(example.params).decode()}" for example in command.facts.examples[:2]
        ]
    return "\n".join([*lines, "", *_render_rules(policy, found)])


def _render_task(goal: str, room: str, policy: Policy | None, offered: Sequence[Command]) -> str:
    return "\n".join(
        [
            f"Reach this goal: {goal}",
            "",
            f"You have the tools of Doorward in the room {room!r}. Work like this:",
            "1. Look before you change anything: list, read and search first.",
            "2. Take one step at a time, and read each result before the next call.",
            "3. Do not repeat a call with the same arguments: repeated calls are refused as a loop.",
            "4. When a call is refused, read the reason: it says what is valid. Do not try to work around it.",
            "5. At the end, say what you did, what changed and what is left. A change can be undone with its call id.",
            "",
            *_render_rules(policy, offered),
        ]
    )


def _join_names(names: Sequence[str]) -> str:
    """Names joined with commas, limited to what a model reads well at once."""
    rest = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(names[:_MAX_NAMED])}{rest}"


def _needs_approval(policy: Policy | None, command: Command) -> bool:
    return command.asks_first or (policy is not None and policy.approval_terms(command) is not None)


def _render_rules(policy: Policy | None, commands: Sequence[Command]) -> list[str]:
    """The rules for all calls here, in a few lines."""
    if policy is None:
        return []
    waits = [command.wire for command in commands if _needs_approval(policy, command)]
    limits = policy.limits
    lines = [f"At most {limits.per_minute} calls a minute."]
    if waits:
        lines.append(
            f"These wait for a person's approval: {_join_names(waits)}. Such a call returns a ticket. Once it is "
            f"approved, call {RESUME} with the ticket."
        )
    return lines
