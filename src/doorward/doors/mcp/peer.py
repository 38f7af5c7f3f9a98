"""A peer: one client as the door knows it, with the notifications that wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from doorward.core.ids import new_id
from doorward.core.model import Credential
from doorward.core.wire.frames import WireError, WireResponse
from doorward.core.wire.ids import Id
from doorward.core.wire.meta import LogLevel

MAX_QUEUED = 256


class Outbox:
    """Frames by subject. A newer frame replaces the older one about the same subject."""

    def __init__(self) -> None:
        self._frames: dict[str, bytes] = {}
        self._more = asyncio.Event()
        self._closed = False

    def put(self, about: str, frame: bytes) -> None:
        self._frames.pop(about, None)
        self._frames[about] = frame
        if len(self._frames) > MAX_QUEUED:
            del self._frames[next(iter(self._frames))]
        self._more.set()

    def close(self) -> None:
        self._closed = True
        self._more.set()

    async def take(self, seconds: float) -> dict[str, bytes] | None:
        """All waiting frames as soon as there are any; empty after `seconds` without one; None once closed."""
        if not self._frames and not self._closed:
            self._more.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._more.wait()
            except TimeoutError:
                return {}
        if not self._frames and self._closed:
            return None
        taken, self._frames = self._frames, {}
        return taken


Send = Callable[[bytes], Awaitable[None]]
"""Takes one frame without a trailing line break. It may wait for a slow client, and drops frames for one that is
gone."""

Transport = Literal["http", "stdio"]
ToolListing = Literal["auto", "all", "search"]

MAX_RUNNING = 64
"""Most requests of one peer that run at once; the gate has its own, lower limit for calls."""


class Peer:
    """A client's identity, room and session. The stateless era uses only identity and room."""

    __slots__ = (
        "_next",
        "address",
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
        listing: ToolListing,
        name: str = "",
        address: str = "",
    ) -> None:
        self.address = address
        """The network address of the client; empty for a client on this machine."""
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
        self.level: LogLevel | None = None
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

    def new_request(self) -> tuple[Id, asyncio.Future[dict[str, Any]]]:
        """An id for a server request, and the future of its answer."""
        self._next += 1
        id = f"{new_id()}-{self._next}"
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.waiting[id] = future
        return id, future

    def handle_response(self, response: WireResponse) -> None:
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
