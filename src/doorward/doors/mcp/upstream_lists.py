"""Resources and prompts of other MCP servers, listed under their server's name to callers who may read them."""

from __future__ import annotations

import logging
from typing import Any

from doorward.commands.context import Services
from doorward.core.escape_invisible import escape_invisible
from doorward.doors.mcp.offers import RoomOffer
from doorward.upstream import injection_warnings
from doorward.upstream.resources import MAX_URI_LENGTH, PROMPT, READ, clean_entry, command_names, name_prompts, wrap_uri
from doorward.upstream.tool_definitions import ToolDefinition
from doorward.upstream.tool_names import ToolKey
from doorward.upstream.upstream import Upstream

log = logging.getLogger(__name__)

ListEntry = dict[str, Any]


class UpstreamLists:
    def __init__(self, services: Services, own_prompts: tuple[str, ...]) -> None:
        """`own_prompts` are names that prompts of other servers cannot have."""
        self._upstreams = services.upstreams
        self._reserved = own_prompts
        self._converted: dict[tuple[str, str], tuple[Any, list[ListEntry]]] = {}
        """The converted lists of each server, which are the same for all callers."""
        self._prompts_listed: list[tuple[str, bool, Any]] = []
        self._prompt_names: dict[ToolKey, str] = {}

    def resources(self, offer: RoomOffer) -> list[ListEntry]:
        return offer.memoize("upstream resources", lambda: self._collect(offer, "resources", "uri"))

    def templates(self, offer: RoomOffer) -> list[ListEntry]:
        return offer.memoize("upstream templates", lambda: self._collect(offer, "resource_templates", "uriTemplate"))

    def prompts(self, offer: RoomOffer) -> dict[str, tuple[ToolKey, ListEntry]]:
        """Prompts by their name here, each with its server and original name, and its list entry."""
        return offer.memoize("upstream prompts", lambda: self._collect_prompts(offer))

    def has_template(self, offer: RoomOffer, uri: str) -> bool:
        return any(one["uriTemplate"] == uri for one in self.templates(offer))

    def _collect(self, offer: RoomOffer, kind: str, key: str) -> list[ListEntry]:
        return [
            entry
            for upstream in self._servers_offering(offer, READ)
            for entry in self._convert_entries(upstream, kind, key)
        ]

    def _convert_entries(self, upstream: Upstream, kind: str, key: str) -> list[ListEntry]:
        listed = getattr(upstream.server, kind)
        known = self._converted.get((upstream.id, kind))
        if known is None or known[0] is not listed:
            entries = [
                {
                    **_annotate(upstream, entry),
                    "name": _qualify_name(upstream, entry),
                    key: wrap_uri(upstream.id, entry[key]),
                }
                for entry in listed
                if _is_addressable(upstream, entry[key])
            ]
            known = self._converted[upstream.id, kind] = (listed, entries)
        return known[1]

    def _collect_prompts(self, offer: RoomOffer) -> dict[str, tuple[ToolKey, ListEntry]]:
        called = self._name_prompts()
        return {
            name: (whose, {**entry, "name": name})
            for upstream in self._servers_offering(offer, PROMPT)
            for own, entry in zip(upstream.server.prompts, self._convert_prompts(upstream), strict=True)
            if (name := called.get(whose := ToolKey(upstream.id, own["name"]))) is not None
        }

    def _convert_prompts(self, upstream: Upstream) -> list[ListEntry]:
        listed = upstream.server.prompts
        known = self._converted.get((upstream.id, PROMPT))
        if known is None or known[0] is not listed:
            known = self._converted[upstream.id, PROMPT] = (listed, [_annotate(upstream, entry) for entry in listed])
        return known[1]

    def _name_prompts(self) -> dict[ToolKey, str]:
        """The name of every prompt here; computed again only when a server's list changes."""
        listed = [(one.id, one.config.enabled, one.server.prompts) for one in self._upstreams]
        known = self._prompts_listed
        if len(listed) != len(known) or any(
            now[:2] != then[:2] or now[2] is not then[2] for now, then in zip(listed, known, strict=True)
        ):
            self._prompts_listed, self._prompt_names = listed, name_prompts(self._upstreams, self._reserved)
        return self._prompt_names

    def _servers_offering(self, offer: RoomOffer, what: str) -> list[Upstream]:
        """The servers whose `what` command this caller may run in this room."""
        return [upstream for upstream in self._upstreams if offer.has(command_names(upstream.id, what).canonical)]


def _annotate(upstream: Upstream, entry: ListEntry) -> ListEntry:
    """A list entry with its source, its text with hidden characters shown, and Doorward's warnings."""
    shown = clean_entry(entry)
    arguments = {one["name"]: one for one in shown.get("arguments", ())}
    words = ToolDefinition(
        name=str(entry.get("name", "")),
        title=str(entry.get("title", "")),
        description=str(entry.get("description", "")),
        input_schema={"properties": arguments},
        digest="",
        whole={},
    )
    lines = [f"From the MCP server {upstream.id}, in that server's own words:"]
    lines.append(shown.get("description") or shown.get("title") or "(none)")
    lines += [f"(Doorward warns: {warning}.)" for warning in injection_warnings.find_warnings(words)]
    return {**shown, "description": "\n".join(lines)}


def _is_addressable(upstream: Upstream, uri: str) -> bool:
    """Whether a URI can be shown and sent back. A URI with hidden characters is not what it looks like."""
    if escape_invisible(uri, lines=False) != uri:
        log.warning("server %s: left out a resource, because its URI has hidden characters", upstream.id)
        return False
    return len(upstream.id) + len(uri) < MAX_URI_LENGTH - 10


def _qualify_name(upstream: Upstream, entry: ListEntry) -> str:
    name = clean_entry(entry).get("name")
    return f"{upstream.id}_{name}" if isinstance(name, str) and name else upstream.id
