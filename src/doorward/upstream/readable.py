"""Resources, prompts and completions of servers, and the names of their commands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from doorward.names import folded
from doorward.upstream.naming import AREA, Names, Tool, named, unusable
from doorward.visible import visible

if TYPE_CHECKING:
    from doorward.upstream.upstream import Upstream

READ, PROMPT, COMPLETE = "resources.read", "prompts.get", "completion.complete"
"""Command names after `mcp/<server>/`. The operator uses the same names in the server file."""

_LONGEST_WORDS = 2_000
_WORDS = frozenset({"name", "title", "description"})
_FIELDS: dict[str, type] = {
    **dict.fromkeys((*_WORDS, "uri", "uriTemplate", "mimeType"), str),
    "size": int,
    "_meta": dict,
}


class Readable(msgspec.Struct, frozen=True, eq=False):
    """A snapshot of a server's resources and prompts, compared by identity of the lists."""

    config: Any
    resources: tuple[dict[str, Any], ...]
    templates: tuple[dict[str, Any], ...]
    prompts: tuple[dict[str, Any], ...]
    completes: bool

    def same(self, other: Readable) -> bool:
        return self.completes == other.completes and all(
            getattr(self, field) is getattr(other, field) for field in ("config", "resources", "templates", "prompts")
        )


def readable(upstream: Upstream) -> Readable:
    server = upstream.server
    return Readable(
        upstream.config,
        server.resources,
        server.resource_templates,
        server.prompts,
        "completions" in server.info.capabilities,
    )


def names(server: str, what: str) -> Names:
    return Names(f"{AREA}/{server}/{what}", f"{server}_{what.replace('.', '_')}")


def reserved(servers: Iterable[str]) -> frozenset[str]:
    """Folded names that no tool of these servers may have, whether or not the server has resources."""
    return frozenset(
        folded(name) for server in servers for what in (READ, PROMPT, COMPLETE) for name in names(server, what)
    )


def prompt_names(upstreams: Iterable[Upstream], taken: Iterable[str]) -> dict[Tool, str]:
    """The names of all servers' prompts, by the same rule as for tools."""
    prompts = [
        Tool(upstream.id, prompt["name"])
        for upstream in upstreams
        if upstream.config.enabled
        for prompt in upstream.server.prompts
        if not unusable(prompt["name"])
    ]
    return {prompt: found.wire for prompt, found in named(prompts, {folded(one) for one in taken}).items()}


def in_full_view(entry: dict[str, Any]) -> dict[str, Any]:
    """Clean a list entry: keep known fields of the right type, escape invisible characters, limit the length.

    One field of a wrong type makes some clients drop the whole list. Icons are left out, because clients would load
    them from any address that a server names.
    """
    shown: dict[str, Any] = {
        key: visible(str(one)[:_LONGEST_WORDS]) if key in _WORDS else one
        for key, one in entry.items()
        if type(one) is _FIELDS.get(key)
    }
    if type(entry.get("arguments")) is list:
        shown["arguments"] = [
            {key: visible(one[:_LONGEST_WORDS]) if type(one) is str else one for key, one in argument.items()}
            for argument in map(_argument, entry["arguments"])
            if "name" in argument
        ]
    return shown


def _argument(given: Any) -> dict[str, Any]:
    kinds = {"name": str, "title": str, "description": str, "required": bool}
    return {key: one for key, one in given.items() if type(one) is kinds.get(key)} if type(given) is dict else {}
