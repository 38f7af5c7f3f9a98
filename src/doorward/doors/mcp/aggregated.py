"""Resources and prompts of other servers, as this door lists them: under the name of their server, to whoever may read
them. What is listed follows from the offer, like everything else that is listed."""

from __future__ import annotations

from typing import Any

from doorward.backends.context import Services
from doorward.doors.mcp.offers import Offer
from doorward.upstream.addressing import LONGEST, wrapped
from doorward.upstream.naming import Tool
from doorward.upstream.readable import PROMPT, READ, in_full_view, names, prompt_names
from doorward.upstream.upstream import Upstream

Entry = dict[str, Any]


class Aggregated:
    def __init__(self, services: Services, own_prompts: tuple[str, ...]) -> None:
        """`own_prompts` are names that no server's prompt can have."""
        self._upstreams = services.upstreams
        self._own = own_prompts
        self._shown: dict[tuple[str, str], tuple[Any, list[Entry]]] = {}
        """What each server's lists became, since all callers that see them see the same."""
        self._prompts_listed: list[tuple[str, bool, Any]] = []
        self._prompt_names: dict[Tool, str] = {}

    def resources(self, offer: Offer) -> list[Entry]:
        return offer.made("upstream resources", lambda: self._listed(offer, "resources", "uri"))

    def templates(self, offer: Offer) -> list[Entry]:
        return offer.made("upstream templates", lambda: self._listed(offer, "resource_templates", "uriTemplate"))

    def prompts(self, offer: Offer) -> dict[str, tuple[Tool, Entry]]:
        """By the name that each has here: whose it is, and how it is listed."""
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
                {**in_full_view(entry), "name": _named(upstream, entry), key: wrapped(upstream.id, entry[key])}
                for entry in listed
                if len(upstream.id) + len(entry[key]) < LONGEST - 10
            ]
            known = self._shown[upstream.id, kind] = (listed, entries)
        return known[1]

    def _prompts(self, offer: Offer) -> dict[str, tuple[Tool, Entry]]:
        called = self._called()
        return {
            name: (whose, {**in_full_view(entry), "name": name})
            for upstream in self._of(offer, PROMPT)
            for entry in upstream.server.prompts
            if (name := called.get(whose := Tool(upstream.id, entry["name"]))) is not None
        }

    def _called(self) -> dict[Tool, str]:
        """What all prompts are called here; worked out again only when a server lists others."""
        listed = [(one.id, one.config.enabled, one.server.prompts) for one in self._upstreams]
        known = self._prompts_listed
        if len(listed) != len(known) or any(
            now[:2] != then[:2] or now[2] is not then[2] for now, then in zip(listed, known, strict=True)
        ):
            self._prompts_listed, self._prompt_names = listed, prompt_names(self._upstreams, self._own)
        return self._prompt_names

    def _of(self, offer: Offer, what: str) -> list[Upstream]:
        """The servers that this caller may have this of, here."""
        return [upstream for upstream in self._upstreams if offer.has(names(upstream.id, what).canonical)]


def _named(upstream: Upstream, entry: Entry) -> str:
    name = in_full_view(entry).get("name")
    return f"{upstream.id}_{name}" if isinstance(name, str) and name else upstream.id
