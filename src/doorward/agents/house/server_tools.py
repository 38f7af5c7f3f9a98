"""Requests that a tool of an MCP server answers, and the request for a server that has such a tool."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from doorward.agents.house.plan import Reading, Step, Steps
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.safeguards import needs_approval
from doorward.agents.house.sentences import describe_result, name
from doorward.agents.house.words import name_words, stem, stop_words
from doorward.agents.models.model import ToolSpec
from doorward.upstream.packages.known_servers import FoundServer, load_known

REQUEST_SERVER = "mcp_request_server_addition"
_TOOL = re.compile(r"mcp/(?P<server>[^/]+)/(?P<tool>[^/]+)")
_WORDS = re.compile(r"[^\W_]+")
_ZONE = re.compile(r"time ?zone|\btz\b", re.IGNORECASE)
_MOST_WORDS = 4
"""Words of the name of a city."""


class _Filled(msgspec.Struct):
    """Values for the parameters of a tool, and the places of the words that they come from."""

    params: dict[str, Any] = {}
    places: set[int] = set()


def read(context: RequestContext) -> Iterable[Reading]:
    """Read a request as a call of a tool that its name and its description explain, with its values as parameters."""
    for command, tool in context.tools.items():
        if _TOOL.fullmatch(command) and (tool.reads_only or needs_approval(tool)):
            found = _read_call(context, command, tool)
            if found is not None:
                yield found


def read_missing(context: RequestContext) -> Reading | None:
    """Read a request that nothing here answers as one for a server that could; None if no known server fits."""
    tool = context.tools.get(REQUEST_SERVER)
    server = _find_server(context) if tool is not None else None
    if server is None:
        return None

    def steps() -> Steps:
        yield [Step(REQUEST_SERVER, {"serverName": server.name, "purpose": context.text.strip()[:500]})]
        return (
            f"I have no tool for that. I asked for the MCP server {name(server.name)}. A person has to approve the"
            " installation; then I go on."
        )

    every = frozenset(range(len(context.request)))
    return Reading(name="request a server", steps=steps, explained=every, says=f"the server {server.name}")


def _read_call(context: RequestContext, command: str, tool: ToolSpec) -> Reading | None:
    request, properties = context.request, tool.schema.get("properties")
    filled = _fill(context, properties if isinstance(properties, Mapping) else {})
    if any(one not in filled.params for one in tool.schema.get("required") or ()):
        return None
    named = {stem(word) for word in name_words(command.rpartition("/")[2])}
    told = named | {stem(word) for word in _WORDS.findall(tool.description.lower())}
    places = {place for place in request.meaningful if request.tokens[place].stem in told} | filled.places
    if not any(request.tokens[place].stem in named for place in places):
        return None

    def steps() -> Steps:
        (result,) = yield [Step(command, filled.params)]
        return describe_result(result)

    stops = frozenset(range(len(request))) - request.meaningful
    return Reading(
        name=command,
        steps=steps,
        explained=frozenset(places) | stops,
        score=0.9,
        changes=not tool.reads_only,
        says=f"the tool {command}",
    )


def _fill(context: RequestContext, properties: Mapping[str, Any]) -> _Filled:
    """Find values for parameters: a choice, a number, a path, a quotation, or the time zone of a city."""
    found = _Filled()
    for key, spec in properties.items():
        if not isinstance(spec, Mapping):
            continue
        for place in range(len(context.request.tokens)):
            value, size = _read_value(context, key, spec, place)
            if value is not None and found.places.isdisjoint(range(place, place + size)):
                found.params[key] = value
                found.places.update(range(place, place + size))
                break
    return found


def _read_value(context: RequestContext, key: str, spec: Mapping[str, Any], place: int) -> tuple[Any, int]:
    """Return the value that begins at a token, and how many tokens it takes; None if there is none."""
    token = context.request.tokens[place]
    kind, about = spec.get("type"), f"{key.replace('_', ' ')} {spec.get('description', '')}"
    choices = spec.get("enum")
    if isinstance(choices, list):
        return next((one for one in choices if str(one).lower() == token.lower), None), 1
    if kind in ("integer", "number"):
        number = token.number
        if number is None or (kind == "integer" and not number.is_integer()):
            return None, 1
        return (int(number) if kind == "integer" else number), 1
    if kind == "string" and _ZONE.search(about):
        return _read_zone(context, place)
    if kind == "string" and token.kind == ("path" if "path" in key.lower() else "quoted"):
        return token.text, 1
    return None, 1


def _read_zone(context: RequestContext, place: int) -> tuple[str | None, int]:
    tokens = context.request.tokens[place : place + _MOST_WORDS]
    for size in range(len(tokens), 0, -1):
        zone = _zones().get(" ".join(one.text.lower() for one in tokens[:size]))
        if zone is not None:
            return zone, size
    return None, 1


@cache
def _zones() -> dict[str, str]:
    """Time zones by the city or region that they are named after, and by their whole name."""
    every = sorted(
        one for one in zoneinfo.available_timezones() if "/" in one and not one.startswith(("Etc/", "System"))
    )
    cities = {one.rpartition("/")[2].replace("_", " ").lower(): one for one in every}
    return {**cities, **{one.lower(): one for one in every}, "utc": "UTC"}


def _find_server(context: RequestContext) -> FoundServer | None:
    """Return the known server for a purpose that shares the most words with the request, at least half of them.

    The name of a place that a purpose leaves open, as in `a city`, counts as no word.
    """
    asked = {context.request.tokens[place].stem for place in context.request.meaningful}
    placed = {place for place in context.request.meaningful if _read_zone(context, place)[0] is not None}
    asked -= {context.request.tokens[place].stem for place in placed}
    best: tuple[float, FoundServer] | None = None
    for server in load_known():
        for purpose in (*server.purposes, server.name):
            words = {stem(one) for one in _WORDS.findall(purpose.lower()) if one not in stop_words()}
            shared = len(asked & words)
            share = shared / len(asked) if asked else 0.0
            if shared and share >= 0.5 and (best is None or share > best[0]):
                best = share, server
    return best[1] if best is not None else None
