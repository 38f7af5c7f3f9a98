"""Resources and prompts of servers: what reads them are commands, one set for each server that has any.

So a recipe that lets a room use one server (`mcp/notes/*`) lets it read that server's resources and no other's, the
operator's terms for the server hold for reading as for its tools, and the ledger says what was read where. The operator
can name these commands in the file like tools: `resources.read`, `prompts.get` and `completion.complete`.
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
"""The part of the registry that these commands are."""

_NO_RESOURCE = (RESOURCE_NOT_FOUND, INVALID_PARAMS)
"""With what servers say that there is no such resource, in either era."""
_ROLES = ("user", "assistant")
_SCHEMA = "https://json-schema.org/draft/2020-12/schema"
_TEXTS = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 100_000}}


class ReadingCommand(ToolCommand):
    """Not listed as a tool: clients have methods of their own for it, and models `mcp/read` and `mcp/prompt`."""

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
        return Foreseen(None, f"{self.summary} What it gives is that server's own.")


class ReadingCommands:
    """These commands of all servers, kept in step with what the servers have."""

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
        except TypeError as error:  # a command of another kind has such a name; it was there first
            log.warning("resources and prompts of servers cannot be read: %s", error)
            self._registry.replace(SLICE, (), {}, bare=False)


def _offered(upstream: Upstream) -> list[str]:
    """What there is to read of a server, as far as its operator allows it."""
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
    pin = Pin(digest=what, trusted=True)  # it is ours, so nobody can change it
    return offering.offer(upstream, definition, names(upstream.id, what), pin, approval_required)


_DECLARED: dict[str, tuple[str, dict[str, Any]]] = {
    READ: (
        "Read a resource of the MCP server {server}.",
        {
            "properties": {
                "uri": {"type": "string", "minLength": 1, "maxLength": 8_192, "description": "Its address"},
                "follow": {
                    "type": "boolean",
                    "description": "Read nothing now, but hear of its changes if one listens",
                },
            },
            "required": ["uri"],
        },
    ),
    PROMPT: (
        "Get a prompt of the MCP server {server}, filled in.",
        {
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 256, "description": "Its name at the server"},
                "arguments": {**_TEXTS, "description": "Its arguments, as texts by name"},
            },
            "required": ["name"],
        },
    ),
    COMPLETE: (
        "Complete what is typed as an argument of a prompt, or of a resource's address, of the MCP server {server}.",
        {
            "properties": {
                "ref": {"type": "object", "description": "The prompt or the template, as MCP names it"},
                "argument": {**_TEXTS, "description": "`name`, and what was typed so far as `value`"},
                "context": {**_TEXTS, "description": "The arguments that are known already"},
            },
            "required": ["ref", "argument"],
        },
    ),
}


def _own(server: str, uri: str) -> str:
    """The address as the server knows it, however it was given."""
    found = unwrapped(uri)
    return found[1] if found is not None and found[0] == server else uri


def _followed(upstream: Upstream, uri: str) -> Blocks:
    """Whether its server is asked for news of this resource. It is asked only for what it lists: any other address is
    the caller's own words, which would reach the server, and again with each of its starts, though nothing is read."""
    if not any(one["uri"] == uri for one in upstream.server.resources):
        raise NotFound(f"{upstream.id} lists no resource {shortened(uri, 200)}; one hears only of those that it lists.")
    return Blocks(
        content=[{"type": "text", "text": f"Who listens to {wrapped(upstream.id, uri)} hears of its changes."}]
    )


def _contents(server: str, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = found.get("contents")
    return contents(server, given) if isinstance(given, list) else []


def _prompt(server: str, name: str, found: Mapping[str, Any]) -> Blocks:
    """Its messages: for programs as they are, for whoever reads only the text with who says what in front."""
    given = found.get("messages")
    if not isinstance(given, list):
        raise Unreachable(f"The server {server} gave the prompt {shortened(name)} without a list of `messages`.")
    messages, words = [], []
    for place, one in enumerate(given):
        role, said = (one.get("role"), one.get("content")) if isinstance(one, dict) else (None, None)
        if role not in _ROLES or not whole(said):
            fault = f"the role {shortened(role)}" if role not in _ROLES else "a content that is none of MCP's"
            raise Unreachable(
                f"The server {server} gave the prompt {shortened(name)} with a message, the one at {place}, that has"
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
