"""The command mcp/search: find MCP servers for a purpose, among known ones and in the public registry."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine, Sequence
from typing import Annotated, Any, TypedDict, TypeVar

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.servers.family import family
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example
from doorward.core.errors import DoorwardError
from doorward.upstream.http_client import redact_url
from doorward.upstream.packages.addresses import find_addresses
from doorward.upstream.packages.known_servers import FoundServer, ServerVariable, load_known
from doorward.upstream.packages.server_ranking import RankedServer, find_terms, rank_servers
from doorward.upstream.packages.server_registry import ServerRegistry
from doorward.upstream.server_entry import make_id

_MOST_WORDS = 3
"""How many words of the purpose are sent to the registry."""
_LONGEST_WORD = 24
T = TypeVar("T")


class VariableFacts(TypedDict):
    name: str
    secret: bool
    required: bool


class FoundServerFacts(TypedDict):
    server: Annotated[str, Meta(description="Its name, for mcp/install")]
    id: Annotated[str, Meta(description="The id that it would get")]
    description: str
    score: Annotated[float, Meta(description="How well it fits the purpose, from 0 to 1")]
    reason: Annotated[str, Meta(description="Why it was found")]
    source: Annotated[str, Meta(description="known: in Doorward's own list; registry: in the MCP registry")]
    registryType: Annotated[str, Meta(description="npm or pypi; empty if it cannot be installed")]
    package: str
    version: Annotated[str, Meta(description="The newest version; empty if it is not known")]
    exists: Annotated[bool | None, Meta(description="Whether its package registry has it; null if not known")]
    transport: str
    url: Annotated[str, Meta(description="The address of a remote server, for mcp/add")]
    variables: Annotated[list[VariableFacts], Meta(description="Environment variables that it reads")]
    arguments: Annotated[str, Meta(description="What its arguments must say; empty if it needs none")]
    network: Annotated[bool | None, Meta(description="Whether it needs the network; null if not known")]
    tools: Annotated[list[str], Meta(description="Some of its tools, if they are known")]
    installed: Annotated[bool, Meta(description="Whether the server file has a server with this id or name")]


class ServerSearch(TypedDict):
    items: Annotated[list[FoundServerFacts], Meta(description="The servers, best first")]
    notes: Annotated[list[str], Meta(description="Sources that could not be asked")]


@family.command(
    "search",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=2,
    timeout=30,
    undo=READS_ONLY,
    examples=[
        Example("is there a server that tells the time", {"purpose": "what time is it in Tokyo"}),
        Example("find servers that query a database", {"purpose": "query a PostgreSQL database", "limit": 5}),
    ],
    related=["mcp/install", "mcp/servers"],
    server_wide=True,
)
async def search(
    ctx: Context,
    purpose: Annotated[str, Meta(description="What the server should do, or its name", min_length=1, max_length=500)],
    limit: Annotated[int, Meta(description="Maximum servers", ge=1, le=50)] = 10,
) -> ServerSearch:
    """Find MCP servers for a purpose. The result says how to install each, with a score and a reason.

    It searches Doorward's own list and, with a few words of the purpose, the MCP registry. Descriptions of the registry
    are the words of others.
    """
    notes: list[str] = []
    found = await _ask_registry(ctx, purpose, notes)
    ranked = rank_servers(purpose, [*load_known(), *found])[: int(limit)]
    versions = await _ask_versions(ctx, [one.server for one in ranked], notes)
    there = {text for one in ctx.services.upstreams for text in (one.id, one.config.name)}
    return {"items": [_describe(one, versions, there) for one in ranked], "notes": notes}


async def _ask_registry(ctx: Context, purpose: str, notes: list[str]) -> list[FoundServer]:
    """The servers of the registry that could fit. A registry that does not answer is a note, never a failure."""
    registry = ServerRegistry.of(ctx.services.settings)
    if not registry.address:
        return []
    words = [word for word in find_terms(purpose) if word.isascii() and len(word) <= _LONGEST_WORD][:_MOST_WORDS]
    answers = await _gather([registry.search(word) for word in words])
    faults = [one for one in answers if isinstance(one, DoorwardError)]
    if faults:
        shown = redact_url(registry.address)
        notes.append(f"The MCP registry {shown} could not be asked: {faults[0].message} The list is Doorward's own.")
    known = {one.package for one in load_known()}
    found = itertools.chain.from_iterable(one for one in answers if isinstance(one, list))
    return list({one.name: one for one in found if one.package not in known or not one.package}.values())


async def _ask_versions(
    ctx: Context, servers: Sequence[FoundServer], notes: list[str]
) -> dict[tuple[str, str], str | None]:
    """The newest version of each package by its own registry; None for a package that does not exist."""
    services = ctx.services
    registry = ServerRegistry.of(services.settings)
    addresses = find_addresses(services.settings.upstream.packages, services.servers.environment)
    wanted = list(dict.fromkeys((one.registry_type, one.package) for one in servers if one.registry_type))
    answers = await _gather([registry.find_version(addresses, kind, package) for kind, package in wanted])
    found: dict[tuple[str, str], str | None] = {}
    for key, answer in zip(wanted, answers, strict=True):
        if isinstance(answer, DoorwardError):
            note = f"The registry {addresses.shown(key[0])} could not be asked for versions: {answer.message}"
            if not any(one.startswith(note.partition(" could")[0]) for one in notes):
                notes.append(note)
        else:
            found[key] = answer
    return found


async def _gather(work: Sequence[Coroutine[Any, Any, T]]) -> list[T | DoorwardError]:
    """Wait for all answers. An error is an answer."""

    async def answer(one: Coroutine[Any, Any, T]) -> T | DoorwardError:
        try:
            return await one
        except DoorwardError as error:
            return error

    return await asyncio.gather(*map(answer, work))


def _describe(one: RankedServer, versions: dict[tuple[str, str], str | None], there: set[str]) -> FoundServerFacts:
    server = one.server
    key = (server.registry_type, server.package)
    id = make_id(server.name.rpartition("/")[2])
    return {
        "server": server.name,
        "id": id,
        "description": server.description,
        "score": one.score,
        "reason": one.reason,
        "source": server.source,
        "registryType": server.registry_type,
        "package": server.package,
        "version": versions.get(key) or server.version,
        "exists": None if key not in versions else versions[key] is not None,
        "transport": server.transport,
        "url": server.url,
        "variables": [_describe_variable(variable) for variable in server.variables],
        "arguments": server.arguments,
        "network": server.network,
        "tools": list(server.tools),
        "installed": bool({id, server.name} & there),
    }


def _describe_variable(variable: ServerVariable) -> VariableFacts:
    return {"name": variable.name, "secret": variable.secret, "required": variable.required}
