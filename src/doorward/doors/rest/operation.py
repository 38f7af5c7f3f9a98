"""One row of the table of routes: which request asks for which command, and how its parts become parameters."""

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
    """A query parameter that becomes one condition of a filter."""

    field: str
    operator: str
    says: str
    schema: Mapping[str, Any] = {"type": "string"}


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is a thin translation of one command."""

    id: str
    method: Method
    path: str
    """Below the prefix; a name in braces is the command's parameter of that name."""
    command: str
    tag: str
    summary: str
    fixed: Mapping[str, Any] = {}
    """Parameters that the route itself gives."""
    matches: Mapping[str, Match] = {}
    """Query parameters that together become the parameter `filter`."""
    without: tuple[str, ...] = ()
    """Parameters of the command that this route does not take."""
    whole: str = ""
    """The parameter that takes the body as it is, as text, instead of an object of parameters."""
    creates: bool = False
    """Whether success is told as 201."""
    dry_run: bool = False
    """Whether it only says what the command would do."""

    @property
    def named(self) -> tuple[str, ...]:
        """The parameters that stand in the path."""
        return names_in(self.path)

    @property
    def in_query(self) -> bool:
        """Whether the command's parameters come in the query, as they do where there is no body."""
        return self.method in ("GET", "DELETE")

    def free(self, command: Command) -> dict[str, Any]:
        """The command's parameters, with their schemas, that the path and the route itself leave open."""
        taken = {*self.named, *self.fixed, *self.without, self.whole, *(["filter"] if self.matches else [])}
        return {name: spec for name, spec in command.schema["properties"].items() if name not in taken}


def names_in(path: str) -> tuple[str, ...]:
    return tuple(_NAMED.findall(path))


def shown_path(path: str) -> str:
    """A path as documents write it: with the prefix, and without the words that only the router reads."""
    return PREFIX + path.replace(":path}", "}")
