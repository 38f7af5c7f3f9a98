"""What servers have beside tools: resources, prompts and completions, and the commands that they are reached by."""

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
"""What these commands are called behind `mcp/<server>/`, and in the file where an operator sets terms for them."""

_LONGEST_WORDS = 2_000
_WORDS = frozenset({"name", "title", "description"})
_FIELDS: dict[str, type] = {
    **dict.fromkeys((*_WORDS, "uri", "uriTemplate", "mimeType"), str),
    "size": int,
    "_meta": dict,
}


class Readable(msgspec.Struct, frozen=True, eq=False):
    """What one server has to read at a moment. Two are the same when they hold the very same lists."""

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
    """The names, folded, that no tool of a server can have, whether or not that server has anything to read."""
    return frozenset(
        folded(name) for server in servers for what in (READ, PROMPT, COMPLETE) for name in names(server, what)
    )


def prompt_names(upstreams: Iterable[Upstream], taken: Iterable[str]) -> dict[Tool, str]:
    """What the prompts of all servers are called here, by the rule for tools: no server can take another's name."""
    prompts = [
        Tool(upstream.id, prompt["name"])
        for upstream in upstreams
        if upstream.config.enabled
        for prompt in upstream.server.prompts
        if not unusable(prompt["name"])
    ]
    return {prompt: found.wire for prompt, found in named(prompts, {folded(one) for one in taken}).items()}


def in_full_view(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of a server's list: the fields that it should have, the words in them made visible, and cut.

    One field of a wrong type would make some clients drop a whole list. Icons are left out, since clients load them by
    themselves from wherever a server says.
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
