"""A peer: one client as the door knows it, and the ways to reach it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from doorward.doors.mcp.outbox import Outbox
from doorward.ids import new_id
from doorward.model import Credential
from doorward.wire.frames import Response, WireError
from doorward.wire.ids import Id
from doorward.wire.meta import Level

Send = Callable[[bytes], Awaitable[None]]
"""Takes one frame, without a line break at its end. It may wait for a slow client; it drops what a gone one cannot
get."""

Transport = Literal["http", "stdio"]
Listing = Literal["auto", "all", "search"]

MOST_RUNNING = 64
"""How many requests of one peer are worked on at once; the gate has its own, lower limit for calls."""


class Peer:
    """Who speaks, where, and what was agreed. In the stateless era only the first half of it is used."""

    __slots__ = (
        "_next",
        "capabilities",
        "credential",
        "level",
        "listing",
        "name",
        "outbox",
        "person",
        "room",
        "running",
        "send",
        "stopping",
        "subscribed",
        "tasks",
        "telling",
        "transport",
        "version",
        "waiting",
    )

    def __init__(
        self,
        credential: Credential,
        room: str,
        person: Credential | None,
        send: Send,
        transport: Transport,
        listing: Listing,
        name: str = "",
    ) -> None:
        self.credential = credential
        self.room = room
        self.person = person
        """The credential of a person who may be asked for approval through this client, if the door holds one."""
        self.send = send
        self.transport = transport
        self.listing = listing
        self.name = name
        """The session as the gate counts by it; empty lets the gate count by caller."""
        self.version = ""
        """The version that a handshake agreed on; empty while there was none."""
        self.capabilities: dict[str, Any] = {}
        self.level: Level | None = None
        self.running: dict[Id, asyncio.Task[Any]] = {}
        """Requests being worked on, by their id, so that they can be cancelled."""
        self.stopping: set[Id] = set()
        """Those of them that the client has cancelled, and that get no answer."""
        self.tasks: set[asyncio.Task[Any]] = set()
        self.waiting: dict[Id, asyncio.Future[dict[str, Any]]] = {}
        """Requests of ours that the client has yet to answer."""
        self.subscribed: set[str] = set()
        self.outbox: Outbox | None = None
        """Where news that belong to no request wait for the client; made by the handshake."""
        self.telling: asyncio.Task[None] | None = None
        """What sends those news, on a transport where nobody comes for them."""
        self._next = 0

    def question(self) -> tuple[Id, asyncio.Future[dict[str, Any]]]:
        """An id for a request of ours, and the future of its answer."""
        self._next += 1
        id = f"{new_id()}-{self._next}"
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.waiting[id] = future
        return id, future

    def answered(self, response: Response) -> None:
        """Hand an answer to whoever waits for it; one that nobody waits for came too late and means nothing."""
        future = self.waiting.pop(response.id, None)
        if future is None or future.done():
            return
        if response.error is None:
            future.set_result(response.result)
        else:
            future.set_exception(WireError(response.error["code"], response.error["message"][:1_000]))

    def cancel(self, id: Any) -> None:
        """Stop working on a request, at the client's word; one that is over already cannot be stopped."""
        known = isinstance(id, str | int) and not isinstance(id, bool)  # to Python true is 1, and no id to anybody else
        task = self.running.get(id) if known else None
        if task is not None and id not in self.stopping:
            self.stopping.add(id)
            task.cancel()
