"""Subscriptions to a server's change notifications.

Up to 2025-11-25 a server announces list changes by itself and resource updates after `resources/subscribe`. Since
2026-07-28 it sends both on the stream of one long-running request, which says what is wanted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from doorward.core.errors import DoorwardError
from doorward.upstream.session import Session

_MAX_RENEWALS = 20
"""How often a stream is reopened in quick succession before Doorward gives up."""
_NORMAL_SECONDS = 30.0
"""A stream that lasted this many seconds ended normally."""
_WITHIN = 10.0

_LISTS = {"tools": "toolsListChanged", "resources": "resourcesListChanged", "prompts": "promptsListChanged"}


class ChangeSubscription:
    def __init__(self, session: Session, capabilities: dict[str, Any], ended: Callable[[], None]) -> None:
        self.over = False
        """Whether the stream ended and can be reopened."""
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

    async def open(self, uris: frozenset[str]) -> None:
        if self._session.is_stateless:
            self._uris = uris if self._subscribes else frozenset()
            self.renew()
        else:
            await self.subscribe(uris)

    async def subscribe(self, uris: frozenset[str]) -> None:
        """Subscribe to these resources. A subscription that the server refuses is logged."""
        if not self._subscribes or uris == self._uris:
            return
        before, self._uris = self._uris, uris
        if self._session.is_stateless:
            self.renew()
            return
        for method, some in (("resources/subscribe", uris - before), ("resources/unsubscribe", before - uris)):
            for uri in sorted(some):
                try:
                    await self._session.request(method, {"uri": uri}, within=_WITHIN)
                except DoorwardError as error:
                    self._session.listener.noted("fault", error.message)

    def renew(self) -> None:
        """Open a stream for the current subscriptions, then close the previous one."""
        before, self._stream, self.over = self._stream, None, False
        wanted: dict[str, Any] = dict(self._lists)
        if self._uris:
            wanted["resourceSubscriptions"] = sorted(self._uris)
        now = asyncio.get_running_loop().time()
        self._renewals = self._renewals + 1 if now - self._since < _NORMAL_SECONDS else 1
        self._since = now
        if wanted and self._renewals <= _MAX_RENEWALS:
            try:
                self._stream = self._session.open_subscription({"notifications": wanted}, self._stream_ended)
            except DoorwardError as error:
                self._session.listener.noted("fault", f"the subscription failed: {error.message}")
        if before is not None:
            self._session.close_subscription(before)

    def _stream_ended(self, refused: bool) -> None:
        if refused:
            self._session.listener.noted("fault", "the server refused the subscription to changes")
        elif self._stream is not None:
            self.over = True
            self._ended()
        self._stream = None
