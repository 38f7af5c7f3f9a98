"""tools/list: the tools that a room offers a caller, cached as bytes until they change."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.backends.context import Services
from doorward.doors.mcp import answers, paging
from doorward.doors.mcp.ask import Ask
from doorward.doors.mcp.definitions import defined, listed
from doorward.doors.mcp.extras import Extras
from doorward.doors.mcp.offers import Offer, Offers
from doorward.doors.mcp.owntools import RESUMING, SEARCH, few
from doorward.doors.mcp.peer import Listing
from doorward.doors.mcp.versions import Era

_KIND = "tools"


class Tools:
    def __init__(self, services: Services, offers: Offers, extras: Extras) -> None:
        self._settings = services.settings.mcp
        self._offers = offers
        self._extras = extras

    async def listed(self, ask: Ask) -> bytes:
        """One page of the list, as an encoded result."""
        after = paging.position(_KIND, ask.params.get("cursor"))
        offer, era, listing = self._offers.of(ask.caller, ask.peer.room), ask.era, ask.peer.listing
        fresh = self._offers.fresh_ms
        if after:
            return self._page(offer, era, listing, after, fresh)
        return offer.made((_KIND, era, listing, fresh), lambda: self._page(offer, era, listing, after, fresh))

    def searching(self, offer: Offer, listing: Listing) -> bool:
        """Whether the client gets a short list, with a search for the rest."""
        return self.should_search(offer, listing) and offer.has(SEARCH)

    def should_search(self, offer: Offer, listing: Listing) -> bool:
        """Whether the client should get a short list. It still gets all tools if the room's rules forbid the search."""
        if listing == "auto":
            return sum(not command.unlisted for command in offer.commands) > self._settings.search_above
        return listing == "search"

    def _page(self, offer: Offer, era: Era, listing: Listing, after: str, fresh_ms: int) -> bytes:
        named = offer.made((_KIND, listing), lambda: self._named(offer, listing))
        shown, cursor = paging.page(_KIND, named, _name, after, self._settings.page)
        body: dict[str, Any] = {"tools": [raw for _, raw in shown]}
        if cursor is not None:
            body["nextCursor"] = cursor
        return answers.cacheable(era, body, fresh_ms)

    def _named(self, offer: Offer, listing: Listing) -> list[tuple[str, msgspec.Raw]]:
        """Every listed tool, sorted by name."""
        if self.searching(offer, listing):
            named = few(offer)
        else:
            named = [listed(defined(command, offer.policy)) for command in offer.commands if not command.unlisted]
            named.append(listed(RESUMING))
        return sorted([*named, *(listed(tool) for tool in self._extras.tools)], key=_name)


def _name(pair: tuple[str, msgspec.Raw]) -> str:
    return pair[0]
