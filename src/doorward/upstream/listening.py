"""How a server is made to tell what changed.

Up to 2025-11-25 it tells of its lists unasked, and of a resource when that was subscribed to. Since 2026-07-28 it tells
on the stream of a standing request, which says what is wanted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from doorward.errors import DoorwardError
from doorward.upstream.session import Session

_MOST_RENEWALS = 20
"""How often a stream is opened anew in short order; a server that ends every one of them is left alone."""
_LONG = 30.0
"""Seconds after which the end of a stream counts as ordinary."""
_WITHIN = 10.0

_LISTS = {"tools": "toolsListChanged", "resources": "resourcesListChanged", "prompts": "promptsListChanged"}


class Listening:
    def __init__(self, session: Session, capabilities: dict[str, Any], ended: Callable[[], None]) -> None:
        self.over = False
        """Whether the stream ended and can be opened anew."""
        self._session = session
        self._ended = ended
        self._lists = {
            told: True
            for name, told in _LISTS.items()
            if type(capabilities.get(name)) is dict and capabilities[name].get("listChanged") is True
        }
        resources = capabilities.get("resources")
        self._subscribes = type(resources) is dict and resources.get("subscribe") is True
        self._uris: frozenset[str] = frozenset()
        self._stream: int | None = None
        self._since = 0.0
        self._renewals = 0

    async def begin(self, uris: frozenset[str]) -> None:
        if self._session.modern:
            self._uris = uris if self._subscribes else frozenset()
            self.renew()
        else:
            await self.follow(uris)

    async def follow(self, uris: frozenset[str]) -> None:
        """Be told when these resources change. One that the server does not let itself be asked for is noted."""
        if not self._subscribes or uris == self._uris:
            return
        before, self._uris = self._uris, uris
        if self._session.modern:
            self.renew()
            return
        for method, some in (("resources/subscribe", uris - before), ("resources/unsubscribe", before - uris)):
            for uri in sorted(some):
                try:
                    await self._session.request(method, {"uri": uri}, within=_WITHIN)
                except DoorwardError as error:
                    self._session.news.noted("fault", error.message)

    def renew(self) -> None:
        """Open the stream for what is wanted now, before the one that was open is closed."""
        before, self._stream, self.over = self._stream, None, False
        wanted: dict[str, Any] = dict(self._lists)
        if self._uris:
            wanted["resourceSubscriptions"] = sorted(self._uris)
        now = asyncio.get_running_loop().time()
        self._renewals = self._renewals + 1 if now - self._since < _LONG else 1
        self._since = now
        if wanted and self._renewals <= _MOST_RENEWALS:
            try:
                self._stream = self._session.listen({"notifications": wanted}, self._gone)
            except DoorwardError as error:
                self._session.news.noted("fault", f"it cannot be listened to: {error.message}")
        if before is not None:
            self._session.hush(before)

    def _gone(self, refused: bool) -> None:
        if refused:
            self._session.news.noted("fault", "it refuses to tell of changes")
        elif self._stream is not None:
            self.over = True
            self._ended()
        self._stream = None
