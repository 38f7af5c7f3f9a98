"""MCP prompts: how to work in a room, how to use a category of commands, and how to do a task.

They are written from what the room offers the caller now, so that they never promise a command that is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doorward.backends.context import Services
from doorward.command import Command
from doorward.doors.mcp import answers, paging
from doorward.doors.mcp.aggregated import Aggregated
from doorward.doors.mcp.ask import Ask
from doorward.doors.mcp.carrying import Carrying
from doorward.doors.mcp.extras import Extras
from doorward.doors.mcp.offers import Offer, Offers
from doorward.doors.mcp.results import RESUME, protocol_error
from doorward.recipes.policy import Policy
from doorward.upstream.naming import Tool
from doorward.upstream.readable import PROMPT, names
from doorward.wire.codes import INVALID_PARAMS
from doorward.wire.frames import WireError
from doorward.wire.shapes import InputRequired, Prompt, PromptArgument, PromptMessage, PromptResult, Text

WORK_HERE, USE, TASK = OWN = ("work_here", "use", "task")
CATEGORY = "category"
GOAL = "goal"
_MOST_NAMED = 60

_encode = msgspec.json.Encoder().encode


class Prompts:
    def __init__(
        self, services: Services, offers: Offers, aggregated: Aggregated, carrying: Carrying, extras: Extras
    ) -> None:
        self._page = services.settings.mcp.page
        self._offers = offers
        self._aggregated = aggregated
        self._carrying = carrying
        self._extras = extras

    async def listed(self, ask: Ask) -> bytes:
        offer = self._offer(ask)
        others = [entry for _, entry in self._aggregated.prompts(offer).values()]
        prompts = sorted([*ours(offer), *self._extras.prompts, *others], key=_name)
        after = paging.position("prompts", ask.params.get("cursor"))
        shown, cursor = paging.page("prompts", prompts, _name, after, self._page)
        body: dict[str, Any] = {"prompts": shown}
        if cursor is not None:
            body["nextCursor"] = cursor
        return answers.cacheable(ask.era, body, self._offers.fresh_ms)

    def categories(self, ask: Ask) -> list[str]:
        return _categories(self._offer(ask))

    def _offer(self, ask: Ask) -> Offer:
        return self._offers.of(ask.caller, ask.peer.room)

    async def get(self, ask: Ask) -> bytes:
        name, arguments = ask.text("name"), ask.params.get("arguments", {})
        if not isinstance(arguments, dict) or not all(isinstance(value, str) for value in arguments.values()):
            raise WireError(INVALID_PARAMS, "prompts/get: `arguments` must be an object of strings.")
        if any(prompt.name == name for prompt in self._extras.prompts):
            given = await self._extras.prompt(ask, name, arguments)
            if isinstance(given, InputRequired):
                return answers.input_required(given)
            if given is not None:
                return answers.result(ask.era, given)
        others = self._aggregated.prompts(self._offer(ask))
        if name in others:
            return await self._of_a_server(ask, others[name][0], arguments)
        prompt = next((one for one in ours(self._offer(ask)) if one.name == name), None)
        if prompt is None:
            valid = ", ".join((WORK_HERE, USE, TASK, *others))
            raise WireError(INVALID_PARAMS, f"There is no prompt {name[:80]!r}; valid: {valid}.")
        _check(prompt, arguments)
        said = PromptMessage(role="user", content=Text(text=_text(self._offer(ask), name, arguments)))
        return answers.result(ask.era, PromptResult(description=prompt.description, messages=[said]))

    async def _of_a_server(self, ask: Ask, whose: Tool, arguments: Mapping[str, str]) -> bytes:
        """Get a prompt of another MCP server with that server's command."""
        params = {"name": whose.tool, "arguments": arguments}
        outcome = await self._carrying.run(ask, ask.wants(names(whose.server, PROMPT).canonical, params))
        if isinstance(outcome, bytes):
            return outcome
        if outcome.status != "done":
            raise protocol_error(ask.era, outcome)
        return answers.result(ask.era, outcome.result.structured_content)


def ours(offer: Offer) -> list[Prompt]:
    """The door's own prompts, described for this offer."""
    return offer.made("prompts", lambda: _described(offer))


def _described(offer: Offer) -> list[Prompt]:
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


def _categories(offer: Offer) -> list[str]:
    return sorted({command.category for command in offer.commands})


def _text(offer: Offer, name: str, arguments: Mapping[str, str]) -> str:
    if name == WORK_HERE:
        return _work_here(offer.room_name, offer.policy, offer.commands)
    if name == TASK:
        return _task(arguments[GOAL], offer.room_name, offer.policy, offer.commands)
    category = arguments[CATEGORY]
    found = [command for command in offer.commands if command.category == category]
    if not found:
        valid = ", ".join(_categories(offer)) or "none, no command is available here"
        raise WireError(INVALID_PARAMS, f"No command of the category {category[:80]!r} is available; valid: {valid}.")
    return _use(category, offer.policy, found)


def _name(prompt: Any) -> str:
    return str(prompt["name"] if isinstance(prompt, dict) else prompt.name)


def _check(prompt: Prompt, arguments: Mapping[str, str]) -> None:
    known = [argument.name for argument in prompt.arguments]
    for key in arguments:
        if key not in known:
            valid = ", ".join(known) or "none"
            raise WireError(INVALID_PARAMS, f"{prompt.name}: unknown argument {key[:40]!r}; valid: {valid}.")
    for argument in prompt.arguments:
        if argument.required and not arguments.get(argument.name, "").strip():
            raise WireError(INVALID_PARAMS, f"{prompt.name}: argument {argument.name!r} is missing.")


def _work_here(room: str, policy: Policy | None, offered: Sequence[Command]) -> str:
    lines = [f"You work in the room {room!r} through Doorward, which checks and records every call.", ""]
    if policy is not None:
        lines += [f"Its rules: {policy.recipe.display_name}. {policy.recipe.description}".rstrip(), ""]
    if not offered:
        return "\n".join([*lines, "No command is available to you here. Answer from what you know, and say so."])
    lines.append("You may run:")
    categories: dict[str, list[Command]] = {}
    for command in offered:
        categories.setdefault(command.category, []).append(command)
    lines += [f"- {name}: {_some([one.wire for one in found])}" for name, found in sorted(categories.items())]
    return "\n".join([*lines, "", *_rules(policy, offered)])


def _use(category: str, policy: Policy | None, found: Sequence[Command]) -> str:
    lines = [f"You can use these tools of the category {category!r}:", ""]
    for command in found:
        approval = " It waits for a person's approval." if _waits(policy, command) else ""
        lines += [f"{command.wire} ({command.name}): {command.summary}{approval}", f"  parameters: {command.usage}"]
        lines += [
            f"  to {example.says!r}: {_encode(example.params).decode()}" for example in command.facts.examples[:2]
        ]
    return "\n".join([*lines, "", *_rules(policy, found)])


def _task(goal: str, room: str, policy: Policy | None, offered: Sequence[Command]) -> str:
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
            *_rules(policy, offered),
        ]
    )


def _some(names: Sequence[str]) -> str:
    """Names joined with commas, limited to what a model reads well at once."""
    rest = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{rest}"


def _waits(policy: Policy | None, command: Command) -> bool:
    return command.asks_first or (policy is not None and policy.approval(command) is not None)


def _rules(policy: Policy | None, commands: Sequence[Command]) -> list[str]:
    """The rules for all calls here, in a few lines."""
    if policy is None:
        return []
    waits = [command.wire for command in commands if _waits(policy, command)]
    limits = policy.limits
    lines = [f"At most {limits.per_minute} calls a minute."]
    if waits:
        lines.append(
            f"These wait for a person's approval: {_some(waits)}. Such a call returns a ticket. Once it is approved,"
            f" call {RESUME} with the ticket."
        )
    return lines
