"""A peer: one client as the door knows it, and how to reach it."""

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
"""Takes one frame without a trailing line break. It may wait for a slow client, and drops frames for one that is
gone."""

Transport = Literal["http", "stdio"]
Listing = Literal["auto", "all", "search"]

MOST_RUNNING = 64
"""Most requests of one peer that run at once; the gate has its own, lower limit for calls."""


class Peer:
    """A client's identity, room and session. The stateless era uses only identity and room."""

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
        """The credential of the person who can approve through this client, if the door holds one."""
        self.send = send
        self.transport = transport
        self.listing = listing
        self.name = name
        """The session name for the gate's limits; if empty, the gate counts by caller."""
        self.version = ""
        """The version agreed in the handshake; empty before it."""
        self.capabilities: dict[str, Any] = {}
        self.level: Level | None = None
        self.running: dict[Id, asyncio.Task[Any]] = {}
        """Running requests by id, so that they can be cancelled."""
        self.stopping: set[Id] = set()
        """Running requests that the client cancelled; they get no answer."""
        self.tasks: set[asyncio.Task[Any]] = set()
        self.waiting: dict[Id, asyncio.Future[dict[str, Any]]] = {}
        """Server requests that the client has not answered yet."""
        self.subscribed: set[str] = set()
        self.outbox: Outbox | None = None
        """Notifications that belong to no request; created by the handshake."""
        self.telling: asyncio.Task[None] | None = None
        """The task that sends them, on a transport where the client does not fetch them."""
        self._next = 0

    def question(self) -> tuple[Id, asyncio.Future[dict[str, Any]]]:
        """An id for a server request, and the future of its answer."""
        self._next += 1
        id = f"{new_id()}-{self._next}"
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.waiting[id] = future
        return id, future

    def answered(self, response: Response) -> None:
        """Hand an answer to the request that waits for it. A late answer is ignored."""
        future = self.waiting.pop(response.id, None)
        if future is None or future.done():
            return
        if response.error is None:
            future.set_result(response.result)
        else:
            future.set_exception(WireError(response.error["code"], response.error["message"][:1_000]))

    def cancel(self, id: Any) -> None:
        """Cancel a running request for the client; an ended or unknown one is ignored."""
        known = isinstance(id, str | int) and not isinstance(id, bool)  # True equals 1 in Python, but is not a valid id
        task = self.running.get(id) if known else None
        if task is not None and id not in self.stopping:
            self.stopping.add(id)
            task.cancel()
