"""The five kinds of work of a sub-agent. Every effect is a call through the gate, so the room's recipe decides."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.agents.effort.sub_agent_job import Job, Work, WorkFailed
from doorward.agents.effort.sub_agent_params import (
    AddParams,
    ModifyParams,
    RemoveParams,
    SearchParams,
    TestParams,
    parse_params,
)
from doorward.core.command import shorten
from doorward.upstream.packages.known_servers import find_known

MIN_SCORE = 0.4
"""The least score, from 0 to 1, of a server that is installed without its exact name."""
_MOST_CANDIDATES = 5
_CANDIDATE_FACTS = ("server", "score", "reason", "registryType", "url")
_INSTALL_PARAMS = ("id", "version", "args", "env", "read", "write", "network")


async def search_servers(job: Job) -> Any:
    params = _read(job, SearchParams)
    about = {"purpose": params.purpose, "limit": params.limit}
    return await job.call("mcp/search", about, "Searching for servers.", (0.0, 100.0))


async def add_server(job: Job) -> Any:
    params = _read(job, AddParams)
    installed = job.find_result("mcp/install")
    server = installed["id"] if installed is not None else _find_configured(job, params.id, params.server_name)
    package = {} if server else await _choose(job, params)
    server = server or _find_configured(job, package["server"])
    if not server:
        given = msgspec.to_builtins(params)  # without the fields that have their defaults
        package |= {key: given[key] for key in _INSTALL_PARAMS if key in given}
        installed = await job.call("mcp/install", package, f"Installing {package['server']}.", (20.0, 80.0))
        server = installed["id"]
    elif not job.services.upstreams.get(server).config.enabled:
        await job.call("mcp/enable", {"id": server}, f"Enabling {server}.", (20.0, 80.0))
    test = await _test(job, server, True, (80.0, 95.0))
    return {"server": server, "installed": installed, "test": test, "tools": await _offer_tools(job, server)}


async def test_server(job: Job) -> Any:
    params = _read(job, TestParams)
    return await _test(job, params.server, params.calls, (0.0, 100.0))


async def modify_server(job: Job) -> Any:
    params = _read(job, ModifyParams)
    command = "mcp/enable" if params.changes.enabled else "mcp/disable"
    return await job.call(command, {"id": params.server}, f"Changing {params.server}.", (0.0, 100.0))


async def remove_server(job: Job) -> Any:
    params = _read(job, RemoveParams)
    return await job.call("mcp/remove", {"id": params.server}, f"Removing {params.server}.", (0.0, 100.0))


WORK: dict[str, Work] = {
    "add_server": add_server,
    "remove_server": remove_server,
    "test_server": test_server,
    "search_servers": search_servers,
    "modify_server": modify_server,
}


def _read(job: Job, kind: type[Any]) -> Any:
    params = parse_params(job.request.kind, job.request.params)
    if not isinstance(params, kind):
        raise TypeError(f"a request {job.request.kind} has the parameters of another kind")
    return params


def _find_configured(job: Job, *names: str) -> str:
    """The id of a server that is in the server file already; then it is not installed again."""
    wanted = {*names} - {""}
    return next((one.id for one in job.services.upstreams if {one.id, one.config.name} & wanted), "")


async def _choose(job: Job, params: AddParams) -> dict[str, Any]:
    """Choose the server to install: the one of that name, or the best match. Raises WorkFailed with the candidates."""
    known = find_known(params.server_name)
    if known is not None:
        return {"server": known.name}
    words = f"{params.server_name} {params.purpose}".strip()
    found = await job.call("mcp/search", {"purpose": words, "limit": 10}, f"Searching for {words}.", (0.0, 20.0))
    items = [one for one in found["items"] if one["registryType"] and one["exists"] is not False]
    named = [one for one in items if params.server_name in (one["server"], one["id"], one["package"])]
    good = [one for one in items if one["score"] >= MIN_SCORE]
    if named or good:
        best = (named or good)[0]
        return {"server": best["server"], "id": best["id"]}
    candidates = [{key: one[key] for key in _CANDIDATE_FACTS} for one in found["items"][:_MOST_CANDIDATES]]
    names = ", ".join(one["server"] for one in candidates) or "none"
    raise WorkFailed(
        f"No server that can be installed fits {shorten(words)}. Nearest: {names}.", {"candidates": candidates}
    )


async def _test(job: Job, server: str, calls: bool, span: tuple[float, float]) -> Any:
    """Test a server. It fails if the server does not start; a tool may refuse the sample arguments of a test."""
    test = await job.call("mcp/test", {"server": server, "calls": calls}, f"Testing {server}.", span)
    if not test["ok"] and not test["calls"]:
        raise WorkFailed(f"The server {server} failed its test: {test['problem']}", test)
    return test


async def _offer_tools(job: Job, server: str) -> list[dict[str, str]]:
    """Wait until the tools of a server are commands, and announce them to the agent."""
    upstreams, registry = job.services.upstreams, job.services.registry
    await upstreams.discover(server)
    offers = upstreams.offers_of(server)
    if not offers:
        away = upstreams.get(server).unavailable_error()
        raise WorkFailed(away.message if away is not None else f"The server {server} offers no tools.")
    allowed = {one.name for one in job.gate.offered(job.gate.caller(job.credential), job.request.room)}
    tools = [
        {
            "tool": offer.definition.name,
            "command": offer.names.canonical,
            "wire": offer.names.wire,
            "summary": registry[offer.names.canonical].summary,
        }
        for offer in offers
        if offer.names.canonical in allowed
    ]
    if not tools:
        raise WorkFailed(f"The server {server} works, but the recipe of this room allows none of its tools.")
    job.announce_tools(server, tools)
    return tools
