"""The commands that read resources and prompts of servers: one set for each server that has any.

So a recipe that allows one server (`mcp/notes/*`) allows its resources and no others, the operator's terms for the
server apply to reading as to its tools, and the ledger records each read. The operator can name these commands in the
server file like tools: `resources.read`, `prompts.get` and `completion.complete`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from doorward.backends.context import Context
from doorward.backends.mcp.calling import hooks_for
from doorward.backends.mcp.tool_command import ToolCommand
from doorward.command import Blocks, Foreseen, shortened
from doorward.errors import BadParams, NotFound, Unreachable
from doorward.registry import Registry
from doorward.upstream import offering
from doorward.upstream.addressing import contents, relinked, unwrapped, wrapped
from doorward.upstream.definition import Definition
from doorward.upstream.offering import ToolOffer
from doorward.upstream.pins import Pin
from doorward.upstream.readable import COMPLETE, PROMPT, READ, names, readable
from doorward.upstream.session import Said
from doorward.upstream.upstream import Upstream
from doorward.wire.blocks import whole
from doorward.wire.codes import INVALID_PARAMS, RESOURCE_NOT_FOUND

log = logging.getLogger(__name__)

SLICE = "upstream reading"
"""The registry slice of these commands."""

_NO_RESOURCE = (RESOURCE_NOT_FOUND, INVALID_PARAMS)
"""The error codes for a missing resource, in old and new protocol versions."""
_ROLES = ("user", "assistant")
_SCHEMA = "https://json-schema.org/draft/2020-12/schema"
_TEXTS = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 100_000}}


class ReadingCommand(ToolCommand):
    """Not listed as a tool: clients have their own methods for it, and models have `mcp/read` and `mcp/prompt`."""

    unlisted = True

    def __init__(self, offer: ToolOffer) -> None:
        super().__init__(offer)
        self.summary = self.description = offer.definition.description

    async def __call__(self, ctx: Context, params: Mapping[str, Any]) -> Blocks:
        upstream, what = self.offer.upstream, self.offer.definition.name
        if what == READ and params.get("follow"):
            return _followed(upstream, _own(upstream.id, params["uri"]))
        if upstream.server.state != "ready":
            await upstream.up()
        hooks = hooks_for(ctx, upstream.id)
        if what == READ:
            try:
                found = await upstream.server.read(_own(upstream.id, params["uri"]), hooks)
            except Said as error:
                raise (NotFound(error.message) if error.number in _NO_RESOURCE else error) from error
            return Blocks(content=[{"type": "resource", "resource": one} for one in _contents(upstream.id, found)])
        if what == PROMPT:
            try:
                found = await upstream.server.prompt(params["name"], params.get("arguments", {}), hooks)
            except Said as error:
                raise (BadParams(error.message) if error.number == INVALID_PARAMS else error) from error
            return _prompt(upstream.id, params["name"], found)
        known = {"arguments": params["context"]} if params.get("context") else None
        found = await upstream.server.complete(params["ref"], params["argument"], known)
        return Blocks(content=[], structured_content=_completion(found))

    async def _run(self, ctx: Context, /, **params: Any) -> Blocks:
        return await self(ctx, params)

    async def _foresee(self, ctx: Context, /, **params: Any) -> Foreseen:
        return Foreseen(None, f"{self.summary} The content comes from that server.")


class ReadingCommands:
    """The read commands of all servers, kept up to date with what the servers offer."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def put(self, upstreams: Iterable[Upstream], approval_required: bool) -> None:
        commands = [
            ReadingCommand(_offer(upstream, what, approval_required))
            for upstream in upstreams
            for what in _offered(upstream)
        ]
        try:
            self._registry.replace(SLICE, commands, {}, bare=False)
        except TypeError as error:  # another command already has such a name
            log.warning("resources and prompts of servers cannot be read: %s", error)
            self._registry.replace(SLICE, (), {}, bare=False)


def _offered(upstream: Upstream) -> list[str]:
    """What can be read from a server, as far as its operator allows it."""
    if not upstream.config.enabled:
        return []
    has = readable(upstream)
    there = {READ: bool(has.resources or has.templates), PROMPT: bool(has.prompts), COMPLETE: has.completes}
    return [what for what, is_there in there.items() if is_there and offering.allowed(upstream.config, what)]


def _offer(upstream: Upstream, what: str, approval_required: bool) -> ToolOffer:
    words, schema = _DECLARED[what]
    definition = Definition(
        name=what,
        description=words.format(server=upstream.id),
        input_schema={"$schema": _SCHEMA, "type": "object", "additionalProperties": False, **schema},
        digest=what,
        whole={},
    )
    pin = Pin(digest=what, trusted=True)  # the definition is Doorward's own, so the server cannot change it
    return offering.offer(upstream, definition, names(upstream.id, what), pin, approval_required)


_DECLARED: dict[str, tuple[str, dict[str, Any]]] = {
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


def _own(server: str, uri: str) -> str:
    """The URI on its own server, without Doorward's `mcp://SERVER/` prefix."""
    found = unwrapped(uri)
    return found[1] if found is not None and found[0] == server else uri


def _followed(upstream: Upstream, uri: str) -> Blocks:
    """Allow to follow a resource. Only listed resources can be followed: any other URI is the caller's own text, which
    would reach the server, and again with each of its starts, although nothing is read."""
    if not any(one["uri"] == uri for one in upstream.server.resources):
        raise NotFound(f"{upstream.id} lists no resource {shortened(uri, 200)}. You can follow only listed resources.")
    return Blocks(
        content=[{"type": "text", "text": f"Subscribers of {wrapped(upstream.id, uri)} are notified of its changes."}]
    )


def _contents(server: str, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = found.get("contents")
    return contents(server, given) if isinstance(given, list) else []


def _prompt(server: str, name: str, found: Mapping[str, Any]) -> Blocks:
    """The messages of a prompt: as structured content for programs, and as text with the role in front."""
    given = found.get("messages")
    if not isinstance(given, list):
        raise Unreachable(f"The server {server} returned the prompt {shortened(name)} without a list of `messages`.")
    messages, words = [], []
    for place, one in enumerate(given):
        role, said = (one.get("role"), one.get("content")) if isinstance(one, dict) else (None, None)
        if role not in _ROLES or not whole(said):
            fault = f"the role {shortened(role)}" if role not in _ROLES else "a content that is not valid in MCP"
            raise Unreachable(
                f"The server {server} returned the prompt {shortened(name)}, in which the message at {place} has"
                f" {fault}; valid: the role {' or '.join(_ROLES)}, and one block of content."
            )
        (content,) = relinked(server, [said])
        messages.append({"role": role, "content": content})
        words += [{"type": "text", "text": f"{role}:"}, content]
    told: dict[str, Any] = {"messages": messages}
    if isinstance(found.get("description"), str):
        told["description"] = found["description"]
    return Blocks(content=words, structured_content=told)


def _completion(found: Mapping[str, Any]) -> dict[str, Any]:
    given = found.get("completion")
    values = given.get("values") if isinstance(given, dict) else None
    return {"values": [one for one in values if isinstance(one, str)] if isinstance(values, list) else []}
