"""Commands that read resources and prompts of upstream servers."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.servers.calls import just_started, make_hooks, raise_if_away
from doorward.commands.servers.family import family
from doorward.commands.servers.tool_command import ToolCommand
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Blocks, Example, shorten
from doorward.core.effect_preview import EffectPreview
from doorward.core.errors import BadParams, NotFound, Unreachable
from doorward.core.registry import Registry
from doorward.core.wire.codes import INVALID_PARAMS, RESOURCE_NOT_FOUND
from doorward.core.wire.types import is_valid_block
from doorward.upstream import tool_offers
from doorward.upstream.pins import ToolPin
from doorward.upstream.resources import (
    COMPLETE,
    PROMPT,
    READ,
    command_names,
    snapshot_resources,
    unwrap_uri,
    wrap_content_uris,
    wrap_contents,
    wrap_uri,
)
from doorward.upstream.session import ServerError
from doorward.upstream.tool_definitions import ToolDefinition
from doorward.upstream.tool_offers import ToolOffer
from doorward.upstream.upstream import Upstream

_LONGEST = 86_400
Server = Annotated[str, Meta(description="The server's id", max_length=60)]


@family.command(
    "read",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=_LONGEST,
    undo=READS_ONLY,
    examples=[Example("read a resource that a tool linked to", {"uri": "mcp://notes/note:///today"})],
    related=["mcp/prompt"],
    server_wide=True,
)
async def read_resource(
    ctx: Context,
    uri: Annotated[
        str, Meta(description="The resource's URI, such as mcp://SERVER/… in a link", min_length=1, max_length=8192)
    ],
    server: Server = "",
) -> Any:
    """Read a resource of an upstream MCP server, such as one that a tool linked to.

    It runs as the server's own read command, so all rules, limits and approvals of the server apply.
    """
    await _raise_missing(ctx, _parse_address(uri, server)[0], READ, "resources")


@read_resource.aliases
def resolve_resource(registry: Registry, params: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    of, own = _parse_address(params["uri"], params.get("server", ""))
    return _resolve(registry, of, READ, {"uri": own})


@family.command(
    "prompt",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=_LONGEST,
    undo=READS_ONLY,
    examples=[Example("get the review prompt", {"server": "notes", "name": "review", "arguments": {"file": "a.py"}})],
    related=["mcp/read"],
    server_wide=True,
)
async def get_prompt(
    ctx: Context,
    server: Server,
    name: Annotated[str, Meta(description="The prompt's name on its server", min_length=1, max_length=256)],
    arguments: Annotated[dict[str, str] | None, Meta(description="The prompt's arguments by name")] = None,
) -> Any:
    """Get a prompt of an upstream MCP server, with its arguments filled in.

    It runs as the server's own prompt command, so all rules, limits and approvals of the server apply.
    """
    await _raise_missing(ctx, server, PROMPT, "prompts")


@get_prompt.aliases
def resolve_prompt(registry: Registry, params: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    given = {"arguments": params["arguments"]} if params.get("arguments") else {}
    return _resolve(registry, params["server"], PROMPT, {"name": params["name"], **given})


def _parse_address(uri: str, server: str) -> tuple[str, str]:
    """The server of a resource, and the URI on that server."""
    found = unwrap_uri(uri)
    if found is None and not server:
        raise BadParams("mcp/read: give uri as mcp://SERVER/…, as in a link, or give server as well.")
    return found if found is not None and server in ("", found[0]) else (server, uri)


def _resolve(
    registry: Registry, server: str, what: str, params: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]] | None:
    command = command_names(server, what).canonical
    return (command, params) if command in registry else None


async def _raise_missing(ctx: Context, server: str, what: str, kind: str) -> None:
    """Raise the error for a missing command of a server. A server that has not been started yet is started first."""
    upstream = next((one for one in ctx.services.upstreams if one.id == server), None)
    if upstream is not None:
        if upstream.config.enabled:
            await upstream.start_and_wait()
            ctx.services.upstreams.refresh()
        command = command_names(server, what).canonical
        if command in ctx.services.registry and ctx.get_ruling(command).allowed:
            raise just_started(server)
        raise_if_away(upstream)
    raise NotFound(f"There is no server {shorten(server, 60)} that offers {kind}.")


log = logging.getLogger(__name__)

SLICE = "upstream reading"
"""The registry slice of these commands."""

_NO_RESOURCE = (RESOURCE_NOT_FOUND, INVALID_PARAMS)
"""The error codes for a missing resource, in old and new protocol versions."""
_ROLES = ("user", "assistant")
_SCHEMA = "https://json-schema.org/draft/2020-12/schema"
_TEXTS = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 100_000}}


class ResourceCommand(ToolCommand):
    """Not listed as a tool: clients have their own methods for it, and models have `mcp/read` and `mcp/prompt`."""

    unlisted = True

    def __init__(self, offer: ToolOffer) -> None:
        super().__init__(offer)
        self.summary = self.description = offer.definition.description

    async def __call__(self, ctx: Context, params: Mapping[str, Any]) -> Blocks:
        upstream, what = self.offer.upstream, self.offer.definition.name
        if what == READ and params.get("follow"):
            return _follow(upstream, _own_uri(upstream.id, params["uri"]))
        if upstream.server.state != "ready":
            await upstream.start_and_wait()
        hooks = make_hooks(ctx, upstream.id)
        if what == READ:
            try:
                found = await upstream.server.read(_own_uri(upstream.id, params["uri"]), hooks)
            except ServerError as error:
                raise (NotFound(error.message) if error.number in _NO_RESOURCE else error) from error
            return Blocks(content=[{"type": "resource", "resource": one} for one in _contents(upstream.id, found)])
        if what == PROMPT:
            try:
                found = await upstream.server.prompt(params["name"], params.get("arguments", {}), hooks)
            except ServerError as error:
                raise (BadParams(error.message) if error.number == INVALID_PARAMS else error) from error
            return _prompt_blocks(upstream.id, params["name"], found)
        known = {"arguments": params["context"]} if params.get("context") else None
        found = await upstream.server.complete(params["ref"], params["argument"], known)
        return Blocks(content=[], structured_content=_completion_values(found))

    async def _run(self, ctx: Context, /, **params: Any) -> Blocks:
        return await self(ctx, params)

    async def _foresee(self, ctx: Context, /, **params: Any) -> EffectPreview:
        return EffectPreview(None, f"{self.summary} The content comes from that server.")


class ResourceCommands:
    """The read commands of all servers, kept up to date with what the servers offer."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def put(self, upstreams: Iterable[Upstream], approval_required: bool) -> None:
        commands = [
            ResourceCommand(_offer(upstream, what, approval_required))
            for upstream in upstreams
            for what in _offered_kinds(upstream)
        ]
        try:
            self._registry.replace(SLICE, commands, {}, bare=False)
        except TypeError as error:  # another command already has such a name
            log.warning("resources and prompts of servers cannot be read: %s", error)
            self._registry.replace(SLICE, (), {}, bare=False)


def _offered_kinds(upstream: Upstream) -> list[str]:
    """What can be read from a server, as far as its operator allows it."""
    if not upstream.config.enabled:
        return []
    has = snapshot_resources(upstream)
    there = {READ: bool(has.resources or has.templates), PROMPT: bool(has.prompts), COMPLETE: has.completes}
    return [what for what, is_there in there.items() if is_there and tool_offers.is_allowed(upstream.config, what)]


def _offer(upstream: Upstream, what: str, approval_required: bool) -> ToolOffer:
    words, schema = _DEFINITIONS[what]
    definition = ToolDefinition(
        name=what,
        description=words.format(server=upstream.id),
        input_schema={"$schema": _SCHEMA, "type": "object", "additionalProperties": False, **schema},
        digest=what,
        whole={},
    )
    pin = ToolPin(digest=what, trusted=True)  # the definition is Doorward's own, so the server cannot change it
    return tool_offers.make_offer(upstream, definition, command_names(upstream.id, what), pin, approval_required)


_DEFINITIONS: dict[str, tuple[str, dict[str, Any]]] = {
    READ: (
        "Read a resource of the MCP server {server}.",
        {
            "properties": {
                "uri": {"type": "string", "minLength": 1, "maxLength": 8_192, "description": "The resource's URI"},
                "follow": {
                    "type": "boolean",
                    "description": "Do not read now, but follow the resource's changes",
                },
            },
            "required": ["uri"],
        },
    ),
    PROMPT: (
        "Get a prompt of the MCP server {server}, with its arguments filled in.",
        {
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 256, "description": "The prompt's name"},
                "arguments": {**_TEXTS, "description": "The prompt's arguments by name"},
            },
            "required": ["name"],
        },
    ),
    COMPLETE: (
        "Complete an argument of a prompt or of a resource template of the MCP server {server}.",
        {
            "properties": {
                "ref": {"type": "object", "description": "The prompt or template, as an MCP reference"},
                "argument": {**_TEXTS, "description": "The argument's `name`, and the `value` typed so far"},
                "context": {**_TEXTS, "description": "The arguments that are already known"},
            },
            "required": ["ref", "argument"],
        },
    ),
}


def _own_uri(server: str, uri: str) -> str:
    """The URI on its own server, without Doorward's `mcp://SERVER/` prefix."""
    found = unwrap_uri(uri)
    return found[1] if found is not None and found[0] == server else uri


def _follow(upstream: Upstream, uri: str) -> Blocks:
    """Allow to follow a resource. Only listed resources can be followed: any other URI is the caller's own text, which
    would reach the server, and again with each of its starts, although nothing is read."""
    if not any(one["uri"] == uri for one in upstream.server.resources):
        raise NotFound(f"{upstream.id} lists no resource {shorten(uri, 200)}. You can follow only listed resources.")
    return Blocks(
        content=[{"type": "text", "text": f"Subscribers of {wrap_uri(upstream.id, uri)} are notified of its changes."}]
    )


def _contents(server: str, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = found.get("contents")
    return wrap_contents(server, given) if isinstance(given, list) else []


def _prompt_blocks(server: str, name: str, found: Mapping[str, Any]) -> Blocks:
    """The messages of a prompt: as structured content for programs, and as text with the role in front."""
    given = found.get("messages")
    if not isinstance(given, list):
        raise Unreachable(f"The server {server} returned the prompt {shorten(name)} without a list of `messages`.")
    messages, words = [], []
    for place, one in enumerate(given):
        role, said = (one.get("role"), one.get("content")) if isinstance(one, dict) else (None, None)
        if role not in _ROLES or not is_valid_block(said):
            fault = f"the role {shorten(role)}" if role not in _ROLES else "a content that is not valid in MCP"
            raise Unreachable(
                f"The server {server} returned the prompt {shorten(name)}, in which the message at {place} has"
                f" {fault}; valid: the role {' or '.join(_ROLES)}, and one block of content."
            )
        (content,) = wrap_content_uris(server, [said])
        messages.append({"role": role, "content": content})
        words += [{"type": "text", "text": f"{role}:"}, content]
    told: dict[str, Any] = {"messages": messages}
    if isinstance(found.get("description"), str):
        told["description"] = found["description"]
    return Blocks(content=words, structured_content=told)


def _completion_values(found: Mapping[str, Any]) -> dict[str, Any]:
    given = found.get("completion")
    values = given.get("values") if isinstance(given, dict) else None
    return {"values": [one for one in values if isinstance(one, str)] if isinstance(values, list) else []}
