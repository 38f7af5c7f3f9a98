"""A REST operation: which request runs which command, and how its parts become parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from doorward.command import Command

PREFIX = "/api"
_NAMED = re.compile(r"\{(\w+)(?::path)?\}")
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Match(NamedTuple):
    """A query parameter that becomes a condition of a filter."""

    field: str
    operator: str
    says: str
    schema: Mapping[str, Any] = {"type": "string"}


class Operation(msgspec.Struct, frozen=True, kw_only=True):
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
    matches: Mapping[str, Match] = {}
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
    def named(self) -> tuple[str, ...]:
        """The parameters in the path."""
        return names_in(self.path)

    @property
    def in_query(self) -> bool:
        """Whether the parameters are in the query, because the method has no body."""
        return self.method in ("GET", "DELETE")

    def free(self, command: Command) -> dict[str, Any]:
        """The command's parameters that the path and the route do not set, with their schemas."""
        taken = {*self.named, *self.fixed, *self.without, self.whole, *(["filter"] if self.matches else [])}
        return {name: spec for name, spec in command.schema["properties"].items() if name not in taken}


def names_in(path: str) -> tuple[str, ...]:
    return tuple(_NAMED.findall(path))


def shown_path(path: str) -> str:
    """A path for documents: with the prefix and without Starlette's converters."""
    return PREFIX + path.replace(":path}", "}")
