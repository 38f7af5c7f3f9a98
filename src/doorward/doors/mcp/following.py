"""Subscriptions at other MCP servers, for the resources that clients here subscribe to."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Iterable

from doorward.backends.context import Services
from doorward.errors import DoorwardError
from doorward.upstream.addressing import unwrapped, wrapped
from doorward.upstream.server import Server

log = logging.getLogger(__name__)


class Following:
    """Calls `told` with the URI, as clients here know it, of each resource that changed."""

    def __init__(self, services: Services, told: Callable[[str], None]) -> None:
        self._upstreams = services.upstreams
        self._told = told
        self._followed: dict[str, _Followed] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def want(self, uris: Iterable[str]) -> None:
        """Subscribe to exactly these URIs. Call it again when servers may have been replaced."""
        wanted: dict[str, set[str]] = {}
        for uri in uris:
            if (found := unwrapped(uri)) is not None:
                wanted.setdefault(found[0], set()).add(found[1])
        if not wanted and not self._followed:
            return
        servers = {upstream.id: upstream.server for upstream in self._upstreams}
        for id in [*self._followed]:
            if id not in servers or self._followed[id].server is not servers[id]:
                self._followed.pop(id).leave()
        for id in {*wanted, *self._followed} & servers.keys():
            self._follow(id, servers[id], frozenset(wanted.get(id, ())))

    def _follow(self, id: str, server: Server, uris: frozenset[str]) -> None:
        followed = self._followed.get(id)
        if followed is None:
            leave = server.on_update(functools.partial(self._updated, id))
            followed = self._followed[id] = _Followed(server, leave)
        if followed.uris != uris:
            followed.uris = uris
            task = asyncio.create_task(_subscribed(server, uris))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if not uris:
            self._followed.pop(id).leave()

    def _updated(self, id: str, uri: str) -> None:
        self._told(wrapped(id, uri))


class _Followed:
    __slots__ = ("leave", "server", "uris")

    def __init__(self, server: Server, leave: Callable[[], None]) -> None:
        self.server = server
        self.leave = leave
        self.uris: frozenset[str] = frozenset()


async def _subscribed(server: Server, uris: frozenset[str]) -> None:
    try:
        await server.subscribe(uris)
    except DoorwardError as error:
        log.warning("cannot subscribe to resources of the server %s: %s", server.id, error.message)
