"""A REST operation: which request runs which command, and how its parts become parameters."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import msgspec

from doorward.core.command import Command
from doorward.doors.rest.request_reader import EVENT_STREAM, JSON

SAMPLE_KEY = "x-doorward-sample"
"""Extension key of a sample value for people. It is not a standard `example`, because tools run those and some
samples delete."""
_PATH_PARAMETER = re.compile(r"\{(\w+)\}")


def render_curl(method: str, path: str, one: Mapping[str, Any], body: Mapping[str, Any], here: str) -> str:
    """`body` is the schema of the request body, and `here` the URL of the server."""
    lines = ["curl" if method == "GET" else f"curl -X {method}"]
    if _is_stream_only(one):
        lines[0] += " -N"
    if one.get("security") != []:
        lines.append('-H "Authorization: Bearer $TOKEN"')
    for format, content in one.get("requestBody", {}).get("content", {}).items():
        lines.append(f"-H 'Content-Type: {format}'")
        if format == JSON:
            example = content.get("example", dict.fromkeys(body.get("required", []), "…"))
            lines.append(f"-d {shlex.quote(json.dumps(example, ensure_ascii=False))}")
        else:
            lines.append("--data-binary @picture.png")
    lines.append(f"'{here}{_fill_path(path, one['parameters'])}'")
    return " \\\n  ".join(lines)


def _fill_path(path: str, parameters: list[Mapping[str, Any]]) -> str:
    """The path with sample values, because curl interprets braces, and with the required query parameters."""
    samples = {spec["name"]: quote(str(spec.get(SAMPLE_KEY, spec["name"].upper())), safe="") for spec in parameters}
    needed = [spec["name"] for spec in parameters if spec["in"] == "query" and spec["required"]]
    query = "?" + "&".join(f"{name}={samples[name]}" for name in needed) if needed else ""
    return _PATH_PARAMETER.sub(lambda found: samples[found[1]], path) + query


def _is_stream_only(one: Mapping[str, Any]) -> bool:
    return any([*answer.get("content", {})] == [EVENT_STREAM] for answer in one["responses"].values())


PREFIX = "/api"
_ROUTE_PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class FilterCondition(NamedTuple):
    """A query parameter that becomes a condition of a filter."""

    field: str
    operator: str
    says: str
    schema: Mapping[str, Any] = {"type": "string"}


class CommandOperation(msgspec.Struct, frozen=True, kw_only=True):
    """A route that runs one command."""

    id: str
    method: Method
    path: str
    """Path below the prefix. A name in braces is the command's parameter of that name."""
    command: str
    tag: str
    summary: str
    fixed: Mapping[str, Any] = {}
    """Parameters that the route sets."""
    matches: Mapping[str, FilterCondition] = {}
    """Query parameters that are combined into the parameter `filter`."""
    without: tuple[str, ...] = ()
    """Parameters of the command that this route does not accept."""
    whole: str = ""
    """The parameter that receives the raw body as text, instead of an object of parameters."""
    creates: bool = False
    """Whether success has the status 201."""
    dry_run: bool = False
    """Whether the command is only simulated."""

    @property
    def path_parameters(self) -> tuple[str, ...]:
        """The parameters in the path."""
        return parse_path_names(self.path)

    @property
    def uses_query(self) -> bool:
        """Whether the parameters are in the query, because the method has no body."""
        return self.method in ("GET", "DELETE")

    def open_parameters(self, command: Command) -> dict[str, Any]:
        """The command's parameters that the path and the route do not set, with their schemas."""
        taken = {*self.path_parameters, *self.fixed, *self.without, self.whole, *(["filter"] if self.matches else [])}
        return {name: spec for name, spec in command.schema["properties"].items() if name not in taken}


def parse_path_names(path: str) -> tuple[str, ...]:
    return tuple(_ROUTE_PARAMETER.findall(path))


def document_path(path: str) -> str:
    """A path for documents: with the prefix and without Starlette's converters."""
    return PREFIX + path.replace(":path}", "}")
