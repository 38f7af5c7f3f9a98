"""Subscriptions at other MCP servers, for the resources that clients here subscribe to."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Iterable

from doorward.commands.context import Services
from doorward.core.errors import DoorwardError
from doorward.upstream.resources import unwrap_uri, wrap_uri
from doorward.upstream.server import ServerClient

log = logging.getLogger(__name__)


class UpstreamSubscriptions:
    """Calls `told` with the URI, as clients here know it, of each resource that changed."""

    def __init__(self, services: Services, told: Callable[[str], None]) -> None:
        self._upstreams = services.upstreams
        self._on_change = told
        self._followed: dict[str, _FollowedServer] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def set_uris(self, uris: Iterable[str]) -> None:
        """Subscribe to exactly these URIs. Call it again when servers may have been replaced."""
        wanted: dict[str, set[str]] = {}
        for uri in uris:
            if (found := unwrap_uri(uri)) is not None:
                wanted.setdefault(found[0], set()).add(found[1])
        if not wanted and not self._followed:
            return
        servers = {upstream.id: upstream.server for upstream in self._upstreams}
        for id in [*self._followed]:
            if id not in servers or self._followed[id].server is not servers[id]:
                self._followed.pop(id).leave()
        for id in {*wanted, *self._followed} & servers.keys():
            self._follow_server(id, servers[id], frozenset(wanted.get(id, ())))

    def _follow_server(self, id: str, server: ServerClient, uris: frozenset[str]) -> None:
        followed = self._followed.get(id)
        if followed is None:
            leave = server.on_update(functools.partial(self._handle_update, id))
            followed = self._followed[id] = _FollowedServer(server, leave)
        if followed.uris != uris:
            followed.uris = uris
            task = asyncio.create_task(_subscribe(server, uris))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if not uris:
            self._followed.pop(id).leave()

    def _handle_update(self, id: str, uri: str) -> None:
        self._on_change(wrap_uri(id, uri))


class _FollowedServer:
    __slots__ = ("leave", "server", "uris")

    def __init__(self, server: ServerClient, leave: Callable[[], None]) -> None:
        self.server = server
        self.leave = leave
        self.uris: frozenset[str] = frozenset()


async def _subscribe(server: ServerClient, uris: frozenset[str]) -> None:
    try:
        await server.subscribe(uris)
    except DoorwardError as error:
        log.warning("cannot subscribe to resources of the server %s: %s", server.id, error.message)
