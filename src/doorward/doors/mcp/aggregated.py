"""Resources and prompts of other MCP servers, listed under their server's name to callers who may read them."""

from __future__ import annotations

import logging
from typing import Any

from doorward.backends.context import Services
from doorward.doors.mcp.offers import Offer
from doorward.upstream import suspicion
from doorward.upstream.addressing import LONGEST, wrapped
from doorward.upstream.definition import Definition
from doorward.upstream.naming import Tool
from doorward.upstream.readable import PROMPT, READ, in_full_view, names, prompt_names
from doorward.upstream.upstream import Upstream
from doorward.visible import visible

log = logging.getLogger(__name__)

Entry = dict[str, Any]


class Aggregated:
    def __init__(self, services: Services, own_prompts: tuple[str, ...]) -> None:
        """`own_prompts` are names that prompts of other servers cannot have."""
        self._upstreams = services.upstreams
        self._own = own_prompts
        self._shown: dict[tuple[str, str], tuple[Any, list[Entry]]] = {}
        """The converted lists of each server, which are the same for all callers."""
        self._prompts_listed: list[tuple[str, bool, Any]] = []
        self._prompt_names: dict[Tool, str] = {}

    def resources(self, offer: Offer) -> list[Entry]:
        return offer.made("upstream resources", lambda: self._listed(offer, "resources", "uri"))

    def templates(self, offer: Offer) -> list[Entry]:
        return offer.made("upstream templates", lambda: self._listed(offer, "resource_templates", "uriTemplate"))

    def prompts(self, offer: Offer) -> dict[str, tuple[Tool, Entry]]:
        """Prompts by their name here, each with its server and original name, and its list entry."""
        return offer.made("upstream prompts", lambda: self._prompts(offer))

    def template(self, offer: Offer, uri: str) -> bool:
        return any(one["uriTemplate"] == uri for one in self.templates(offer))

    def _listed(self, offer: Offer, kind: str, key: str) -> list[Entry]:
        return [entry for upstream in self._of(offer, READ) for entry in self._entries(upstream, kind, key)]

    def _entries(self, upstream: Upstream, kind: str, key: str) -> list[Entry]:
        listed = getattr(upstream.server, kind)
        known = self._shown.get((upstream.id, kind))
        if known is None or known[0] is not listed:
            entries = [
                {**_worded(upstream, entry), "name": _named(upstream, entry), key: wrapped(upstream.id, entry[key])}
                for entry in listed
                if _addressable(upstream, entry[key])
            ]
            known = self._shown[upstream.id, kind] = (listed, entries)
        return known[1]

    def _prompts(self, offer: Offer) -> dict[str, tuple[Tool, Entry]]:
        called = self._called()
        return {
            name: (whose, {**entry, "name": name})
            for upstream in self._of(offer, PROMPT)
            for own, entry in zip(upstream.server.prompts, self._prompts_of(upstream), strict=True)
            if (name := called.get(whose := Tool(upstream.id, own["name"]))) is not None
        }

    def _prompts_of(self, upstream: Upstream) -> list[Entry]:
        listed = upstream.server.prompts
        known = self._shown.get((upstream.id, PROMPT))
        if known is None or known[0] is not listed:
            known = self._shown[upstream.id, PROMPT] = (listed, [_worded(upstream, entry) for entry in listed])
        return known[1]

    def _called(self) -> dict[Tool, str]:
        """The name of every prompt here; computed again only when a server's list changes."""
        listed = [(one.id, one.config.enabled, one.server.prompts) for one in self._upstreams]
        known = self._prompts_listed
        if len(listed) != len(known) or any(
            now[:2] != then[:2] or now[2] is not then[2] for now, then in zip(listed, known, strict=True)
        ):
            self._prompts_listed, self._prompt_names = listed, prompt_names(self._upstreams, self._own)
        return self._prompt_names

    def _of(self, offer: Offer, what: str) -> list[Upstream]:
        """The servers whose `what` command this caller may run in this room."""
        return [upstream for upstream in self._upstreams if offer.has(names(upstream.id, what).canonical)]


def _worded(upstream: Upstream, entry: Entry) -> Entry:
    """A list entry with its source, its text with hidden characters shown, and Doorward's warnings."""
    shown = in_full_view(entry)
    arguments = {one["name"]: one for one in shown.get("arguments", ())}
    words = Definition(
        name=str(entry.get("name", "")),
        title=str(entry.get("title", "")),
        description=str(entry.get("description", "")),
        input_schema={"properties": arguments},
        digest="",
        whole={},
    )
    lines = [f"From the MCP server {upstream.id}, in that server's own words:"]
    lines.append(shown.get("description") or shown.get("title") or "(none)")
    lines += [f"(Doorward warns: {warning}.)" for warning in suspicion.warnings(words)]
    return {**shown, "description": "\n".join(lines)}


def _addressable(upstream: Upstream, uri: str) -> bool:
    """Whether a URI can be shown and sent back. A URI with hidden characters is not what it looks like."""
    if visible(uri, lines=False) != uri:
        log.warning("server %s: left out a resource, because its URI has hidden characters", upstream.id)
        return False
    return len(upstream.id) + len(uri) < LONGEST - 10


def _named(upstream: Upstream, entry: Entry) -> str:
    name = in_full_view(entry).get("name")
    return f"{upstream.id}_{name}" if isinstance(name, str) and name else upstream.id
