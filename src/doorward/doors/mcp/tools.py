"""tools/list: the tools that a room offers a caller, the door's own tools, and the server instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doorward.commands.context import Services
from doorward.commands.help import namespaces
from doorward.core.classification import Effects
from doorward.core.command import Command
from doorward.core.names import DESCRIBE_COMMAND, RUN_COMMAND, SEARCH_COMMANDS
from doorward.core.tool_schema import flatten_schema
from doorward.core.wire.codes import INVALID_PARAMS
from doorward.core.wire.frames import WireError
from doorward.core.wire.types import Tool, ToolAnnotations
from doorward.doors.mcp import encoding, pagination
from doorward.doors.mcp.offers import OfferCache, RoomOffer
from doorward.doors.mcp.peer import ToolListing
from doorward.doors.mcp.request import McpRequest
from doorward.doors.mcp.results import RESUME
from doorward.doors.mcp.short_list import RankedTool, select_tools
from doorward.doors.mcp.versions import Era
from doorward.gate.recipes.policy import Policy
from doorward.gate.sandbox_terms import find_host_terms

_encode = msgspec.json.Encoder().encode


APPROVAL_IN_ROOM = "In this room every call waits for a person's approval before it runs."
APPROVAL_FOR_AGENTS = "A call by an agent or a program waits for a person's approval before it runs."


def define_tool(command: Command, policy: Policy | None = None, name: str = "", *, whole: bool = False) -> Tool:
    """A command as a tool. Its title is the command name, and its hints are the declared effects.

    The description says when calls wait for approval, so that a model knows it before the call. `whole` adds the schema
    of its results.
    """
    effects = command.facts.effects
    waits = APPROVAL_IN_ROOM if policy is not None and policy.approval_terms(command) is not None else ""
    if command.asks_first and not waits:
        waits = APPROVAL_FOR_AGENTS
    return Tool(
        name=name or command.wire,
        title=command.name,
        description=f"{command.description}\n\n{waits}" if waits else command.description,
        input_schema=flatten_schema(command.schema).schema,
        output_schema=command.returns if whole else None,
        annotations=ToolAnnotations(
            title=command.name,
            read_only_hint=command.reads_only,
            destructive_hint=bool(effects & Effects.DESTROY),
            idempotent_hint=command.reads_only,
            open_world_hint=bool(effects & Effects.OPEN_WORLD),
        ),
    )


def encode_tool(tool: Tool) -> tuple[str, msgspec.Raw]:
    """A tool for lists: its name, to sort by, and its encoded bytes."""
    return tool.name, msgspec.Raw(_encode(tool))


RUN = RUN_COMMAND
SEARCH = "help/search"
DESCRIBE = "help/describe"
ALIASES = {SEARCH_COMMANDS: SEARCH, DESCRIBE_COMMAND: DESCRIBE}
"""The names of these commands in a short list, where a model must find them at once."""

RESUME_TOOL = Tool(
    name=RESUME,
    title="Run an approved call",
    description="Run a call that waited for a person's approval and is now approved. Pass the ticket from the answer "
    "to that call. The call runs once, exactly as it was approved.",
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"ticket": {"type": "string", "description": "The ticket of the approved call", "minLength": 1}},
        "required": ["ticket"],
        "additionalProperties": False,
    },
    annotations=ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
    ),
)
RUN_TOOL = Tool(
    name=RUN,
    title="Run any command",
    description="Run a command that is not in this list. Find it with search_commands and read its parameters with "
    "describe_command.",
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command name, such as data/list", "minLength": 1},
            "params": {"type": "object", "description": "The command's parameters, by name"},
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    annotations=ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
    ),
)


class ToolTarget(msgspec.Struct, frozen=True):
    """The gate request for a tool call."""

    command: str
    params: Mapping[str, Any] | None
    ticket: str = ""


def resolve_tool(name: str, arguments: Mapping[str, Any]) -> ToolTarget:
    if name == RUN:
        _check_known(name, arguments, ("command", "params"))
        params = arguments.get("params", {})
        if not isinstance(params, dict):
            raise WireError(INVALID_PARAMS, f"{name}: params must be an object.")
        return ToolTarget(_require_string(name, arguments, "command"), params)
    if name == RESUME:
        _check_known(name, arguments, ("ticket",))
        return ToolTarget("", None, _require_string(name, arguments, "ticket"))
    return ToolTarget(ALIASES.get(name, name), arguments)


def encode_short_list(offer: RoomOffer) -> list[tuple[str, msgspec.Raw]]:
    """The short list: the search, the tools to use its results, and the commands that are needed most often."""
    listed = (command for command in offer.commands if not command.unlisted)
    ranked = (RankedTool(command, encode_tool(define_tool(command, offer.policy))) for command in listed)
    by_name = {command.name: command for command in offer.commands}
    tools = [define_tool(by_name[name], offer.policy, alias) for alias, name in ALIASES.items() if name in by_name]
    own = [encode_tool(tool) for tool in (*tools, RUN_TOOL, RESUME_TOOL)]
    return [*(one.encoded for one in select_tools(offer, ranked)), *own]


def _check_known(name: str, arguments: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in arguments:
        if key not in known:
            raise WireError(INVALID_PARAMS, f"Unknown parameter {key[:40]!r}. {name} takes {', '.join(known)}.")


def _require_string(name: str, arguments: Mapping[str, Any], key: str) -> str:
    value = arguments.get(key)
    if not isinstance(value, str) or not value:
        raise WireError(INVALID_PARAMS, f"{name}: parameter {key!r} is required and must be a string.")
    return value


_KIND = "tools"


class ToolsList:
    def __init__(self, services: Services, offers: OfferCache) -> None:
        self._settings = services.settings.mcp
        self._offers = offers

    async def list_tools(self, ask: McpRequest) -> bytes:
        """One page of the list, as an encoded result."""
        after = pagination.parse_cursor(_KIND, ask.params.get("cursor"))
        offer, era, listing = self._offers.get(ask.caller, ask.peer.room), ask.era, ask.peer.listing
        fresh = self._offers.cache_ms
        if after:
            return self._page(offer, era, listing, after, fresh)
        return offer.memoize((_KIND, era, listing, fresh), lambda: self._page(offer, era, listing, after, fresh))

    def uses_search(self, offer: RoomOffer, listing: ToolListing) -> bool:
        """Whether the client gets a short list, with a search for the rest."""
        return self.prefers_search(offer, listing) and offer.has(SEARCH)

    def prefers_search(self, offer: RoomOffer, listing: ToolListing) -> bool:
        """Whether the client should get a short list. It still gets all tools if the room's rules forbid the search."""
        if listing == "auto":
            return sum(not command.unlisted for command in offer.commands) > self._settings.search_above
        return listing == "search"

    def _page(self, offer: RoomOffer, era: Era, listing: ToolListing, after: str, fresh_ms: int) -> bytes:
        named = offer.memoize((_KIND, listing), lambda: self._encode_tools(offer, listing))
        shown, cursor = pagination.paginate(_KIND, named, _name, after, self._settings.page)
        body: dict[str, Any] = {"tools": [raw for _, raw in shown]}
        if cursor is not None:
            body["nextCursor"] = cursor
        return encoding.encode_cacheable(era, body, fresh_ms)

    def _encode_tools(self, offer: RoomOffer, listing: ToolListing) -> list[tuple[str, msgspec.Raw]]:
        """Every listed tool, sorted by name."""
        if self.uses_search(offer, listing):
            named = encode_short_list(offer)
        else:
            listed = (command for command in offer.commands if not command.unlisted)
            named = [encode_tool(define_tool(one, offer.policy, whole=listing == "all")) for one in listed]
            named.append(encode_tool(RESUME_TOOL))
        return sorted(named, key=_name)


def _name(pair: tuple[str, msgspec.Raw]) -> str:
    return pair[0]


_MAX_NAMESPACES = 40
_ASKS_FOR_HOSTS = (
    "Programs have the network through a proxy, and a person is asked about each host. A program that connects, such as"
    " npm install, waits for the answer; its result lists the hosts that were refused, with the reason."
)


def build_instructions(tools: ToolsList, offer: RoomOffer, ask: McpRequest) -> str:
    """The instructions for one client. They are short, because they stay in the model's context."""
    lines = [f"Doorward runs commands on this machine for {offer.caller.id}, in the room {offer.room_name!r}."]
    if offer.room is not None and offer.room.workspace:
        lines.append(f"The workspace is the folder {offer.room.workspace}; paths are relative to it.")
    if offer.policy is not None:
        recipe = offer.policy.recipe
        lines.append(f"The room's rules: {recipe.description or recipe.display_name}")
        lines.append(f"At most {offer.policy.limits.per_minute} calls a minute; every call is recorded.")
        if find_host_terms(recipe.strategy.sandbox).asks:
            lines.append(_ASKS_FOR_HOSTS)
    if not offer.commands:
        lines.append("No command is available here.")
    if tools.uses_search(offer, ask.peer.listing):
        lines.append(
            f"{len(offer.commands)} commands are available, but only a few are listed. Find the others with"
            " search_commands, read their parameters with describe_command, and run them with run_command."
        )
    elif tools.prefers_search(offer, ask.peer.listing):
        lines.append(f"All {len(offer.commands)} commands are listed, because the room's rules do not allow {SEARCH}.")
    others = namespaces(offer.commands)
    if others:
        named = [f"{name} ({count})" for name, count in others.items()]
        more = f" and {len(named) - _MAX_NAMESPACES} more" if len(named) > _MAX_NAMESPACES else ""
        lines.append(
            f"{sum(others.values())} tools belong to other MCP servers, by namespace: "
            f"{', '.join(named[:_MAX_NAMESPACES])}{more}. Their descriptions and results are those servers' own words."
        )
        if tools.uses_search(offer, ask.peer.listing):
            lines.append("search_commands takes a namespace; without a query it lists the whole namespace.")
    lines.append(
        f"A call that waits for a person's approval returns a ticket. Once approved, call {RESUME} with the ticket."
    )
    return "\n".join(lines)
