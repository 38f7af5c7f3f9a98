"""Resources, prompts and completions of upstream servers: their URIs and the names of their commands.

A server's resource is `mcp://<server>/` followed by the server's own URI. The URI is not re-encoded, so that a template
stays a template and the URI stays readable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from doorward.core.escape_invisible import escape_invisible
from doorward.core.names import normalise
from doorward.upstream.tool_names import AREA, ToolKey, ToolNames, name_tools, why_unusable

if TYPE_CHECKING:
    from doorward.upstream.upstream import Upstream

SCHEME = "mcp://"
MAX_URI_LENGTH = 8_192
"""Length limit of a wrapped URI, in characters."""
_WRAPPED = re.compile(r"mcp://([a-z][a-z0-9_-]{0,30})/(.+)", re.DOTALL)


def wrap_uri(server: str, uri: str) -> str:
    return f"{SCHEME}{server}/{uri}"


def unwrap_uri(uri: str) -> tuple[str, str] | None:
    """Split a wrapped URI into the server and its own URI; None for any other URI."""
    found = _WRAPPED.fullmatch(uri) if len(uri) <= MAX_URI_LENGTH else None
    return (found[1], found[2]) if found is not None else None


def wrap_content_uris(server: str, content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Wrap every URI in these content blocks. Most blocks have none and are returned unchanged."""
    for block in content:
        kind = block.get("type")
        if kind == "resource_link" or kind == "resource":
            return [_wrap_block(server, one) for one in content]
    return content


def wrap_contents(server: str, given: Iterable[Any]) -> list[dict[str, Any]]:
    """Wrap the URIs in the contents of a resource."""
    return [_wrap_entry(server, one) for one in given if isinstance(one, dict)]


def _wrap_block(server: str, block: dict[str, Any]) -> dict[str, Any]:
    kind = block.get("type")
    if kind == "resource_link":
        return _wrap_entry(server, block)
    if kind == "resource" and isinstance(block.get("resource"), dict):
        return {**block, "resource": _wrap_entry(server, block["resource"])}
    return block


def _wrap_entry(server: str, one: dict[str, Any]) -> dict[str, Any]:
    uri = one.get("uri")
    return {**one, "uri": wrap_uri(server, uri)} if isinstance(uri, str) else one


READ, PROMPT, COMPLETE = "resources.read", "prompts.get", "completion.complete"
"""Command names after `mcp/<server>/`. The operator uses the same names in the server file."""

_LONGEST_WORDS = 2_000
_WORDS = frozenset({"name", "title", "description"})
_FIELDS: dict[str, type] = {
    **dict.fromkeys((*_WORDS, "uri", "uriTemplate", "mimeType"), str),
    "size": int,
    "_meta": dict,
}


class ServerResources(msgspec.Struct, frozen=True, eq=False):
    """A snapshot of a server's resources and prompts, compared by identity of the lists."""

    config: Any
    resources: tuple[dict[str, Any], ...]
    templates: tuple[dict[str, Any], ...]
    prompts: tuple[dict[str, Any], ...]
    completes: bool

    def is_same(self, other: ServerResources) -> bool:
        return self.completes == other.completes and all(
            getattr(self, field) is getattr(other, field) for field in ("config", "resources", "templates", "prompts")
        )


def snapshot_resources(upstream: Upstream) -> ServerResources:
    server = upstream.server
    return ServerResources(
        upstream.config,
        server.resources,
        server.resource_templates,
        server.prompts,
        "completions" in server.info.capabilities,
    )


def command_names(server: str, what: str) -> ToolNames:
    return ToolNames(f"{AREA}/{server}/{what}", f"{server}_{what.replace('.', '_')}")


def reserved_names(servers: Iterable[str]) -> frozenset[str]:
    """Folded names that no tool of these servers may have, whether or not the server has resources."""
    return frozenset(
        normalise(name)
        for server in servers
        for what in (READ, PROMPT, COMPLETE)
        for name in command_names(server, what)
    )


def name_prompts(upstreams: Iterable[Upstream], taken: Iterable[str]) -> dict[ToolKey, str]:
    """The names of all servers' prompts, by the same rule as for tools."""
    prompts = [
        ToolKey(upstream.id, prompt["name"])
        for upstream in upstreams
        if upstream.config.enabled
        for prompt in upstream.server.prompts
        if not why_unusable(prompt["name"])
    ]
    return {prompt: found.wire for prompt, found in name_tools(prompts, {normalise(one) for one in taken}).items()}


def clean_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """Clean a list entry: keep known fields of the right type, escape invisible characters, limit the length.

    One field of a wrong type makes some clients drop the whole list. Icons are left out, because clients would load
    them from any address that a server names.
    """
    shown: dict[str, Any] = {
        key: escape_invisible(str(one)[:_LONGEST_WORDS]) if key in _WORDS else one
        for key, one in entry.items()
        if type(one) is _FIELDS.get(key)
    }
    if type(entry.get("arguments")) is list:
        shown["arguments"] = [
            {key: escape_invisible(one[:_LONGEST_WORDS]) if type(one) is str else one for key, one in argument.items()}
            for argument in map(_clean_argument, entry["arguments"])
            if "name" in argument
        ]
    return shown


def _clean_argument(given: Any) -> dict[str, Any]:
    kinds = {"name": str, "title": str, "description": str, "required": bool}
    return {key: one for key, one in given.items() if type(one) is kinds.get(key)} if type(given) is dict else {}
