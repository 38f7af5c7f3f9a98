"""The MCP door: takes frames from any transport, works on several at once, and sends the answers back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from doorward.backends.context import Services
from doorward.doors.mcp import results
from doorward.doors.mcp.ask import Ask, Channel
from doorward.doors.mcp.engine import Engine
from doorward.doors.mcp.extras import Extras
from doorward.doors.mcp.outbox import Outbox
from doorward.doors.mcp.peer import MOST_RUNNING, Listing, Peer, Send, Transport
from doorward.doors.mcp.subscriptions import warning
from doorward.doors.mcp.versions import Era, not_spoken
from doorward.errors import DoorwardError, NotAuthenticated
from doorward.gate.gate import Gate
from doorward.ids import new_id
from doorward.model import Credential
from doorward.wire import frames, meta
from doorward.wire.codes import INVALID_PARAMS, INVALID_REQUEST, STATELESS, SUPPORTED
from doorward.wire.frames import Notification, Request, Response, WireError
from doorward.wire.meta import Meta

__all__ = ["McpDoor", "Peer", "Send"]


class McpDoor:
    """One for a house, whatever the transports. `extras` are what tests add."""

    def __init__(self, gate: Gate, services: Services, extras: Extras | None = None) -> None:
        self.gate = gate
        self.services = services
        self.engine = Engine(gate, services, extras or Extras())

    def peer(
        self,
        credential: Credential,
        room: str,
        person: Credential | None,
        send: Send,
        transport: Transport,
        tools: Listing | None = None,
    ) -> Peer:
        """One client connection of a transport that has connections.

        `person` is the credential of the human who may approve through this client, if the door holds one.
        """
        listing = tools or self.services.settings.mcp.tools
        return Peer(credential, room, person, send, transport, listing, f"mcp:{new_id()}")

    async def receive(self, peer: Peer, text: bytes) -> None:
        """Take one frame. Work goes on beside this; answers come through the peer's `send`."""
        try:
            frame = frames.read(text, self.services.settings.mcp.largest_message)
        except WireError as error:
            await peer.send(error.frame())
            return
        if isinstance(frame, Response):
            peer.answered(frame)
        elif isinstance(frame, Notification):
            self.notified(peer, frame)
        elif len(peer.tasks) >= MOST_RUNNING:
            busy = WireError(INVALID_REQUEST, f"{MOST_RUNNING} requests are being worked on; wait for one to end.")
            await peer.send(busy.frame(frame.id))
        else:
            self._start(peer, self._respond(peer, frame))

    def leave(self, peer: Peer) -> None:
        """Forget a client for which nothing runs."""
        self.engine.subscriptions.leave(peer)

    async def close(self, peer: Peer) -> None:
        """The client is gone: cancel what still runs for it, and wait until that has left its record."""
        self.leave(peer)
        tasks = [*peer.tasks, peer.telling] if peer.telling is not None else [*peer.tasks]
        for request in list(peer.running):
            peer.cancel(request)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def notified(self, peer: Peer, notification: Notification) -> None:
        """What a client says without waiting for an answer. What is not known here is for others, and left alone."""
        if notification.method == "notifications/cancelled":
            peer.cancel(notification.params.get("requestId"))

    def stop(self) -> None:
        """The house closes: end the streams that only listen, each with a last word instead of a cut.

        Clients on this machine are left alone: their relays take them to whoever keeps the house next.
        """
        self.engine.subscriptions.close()

    def announce(self, kind: str) -> None:
        """Tell clients that the list of `tools`, `prompts` or `resources` changed, when extras change it."""
        self.engine.subscriptions.announce(kind)

    def era(self, peer: Peer, request: Request, said: Meta) -> Era:
        """Which era a request belongs to, where the transport has no headers to say so."""
        if said.version is not None or (not peer.version and request.method == "server/discover"):
            self.check_meta(request, said)
            return Era.STATELESS
        if peer.version or request.method in ("initialize", "ping"):
            return Era.SESSIONS
        raise WireError(
            INVALID_REQUEST,
            f"{request.method}: send `initialize` first, or name the version of the protocol in `_meta`"
            f" as {meta.VERSION!r}; this server speaks {', '.join(SUPPORTED)}.",
        )

    @staticmethod
    def check_meta(request: Request, said: Meta) -> None:
        """Refuse a stateless request that does not say all it must about itself."""
        if said.version is None:
            raise WireError(INVALID_PARAMS, f"{request.method}: {meta.VERSION!r} is missing in `_meta`.")
        if said.version != STATELESS:
            raise not_spoken(said.version)
        if said.capabilities is None:
            raise WireError(INVALID_PARAMS, f"{request.method}: {meta.CAPABILITIES!r} is missing in `_meta`.")

    async def answer(
        self, peer: Peer, era: Era, request: Request, said: Meta, channel: Channel, task: asyncio.Task[Any]
    ) -> bytes | None:
        """The frame that answers a request; None when the client has cancelled it, by its id, and wants none.

        `task` is the one that this runs in, which is cancelled then.
        """
        if request.id in peer.running:
            raise WireError(INVALID_REQUEST, f"A request with the id {request.id!r} is being worked on already.")
        peer.running[request.id] = task
        try:
            ask = Ask(self.gate, peer, era, request.id, request.method, request.params, said, channel)
            frame = frames.answer(request.id, await self.engine.answer(ask))
        except asyncio.CancelledError:
            if request.id not in peer.stopping:
                raise
            task.uncancel()
            return None
        except (WireError, DoorwardError):
            if request.id not in peer.stopping:
                raise
            return None
        else:
            return None if request.id in peer.stopping else frame
        finally:
            del peer.running[request.id]
            peer.stopping.discard(request.id)

    async def _respond(self, peer: Peer, request: Request) -> None:
        try:
            said = meta.read(request.method, request.params)
            era = self.era(peer, request, said)
            frame = await self.answer(peer, era, request, said, _Direct(peer), current_task())
        except WireError as error:
            frame = error.frame(request.id)
        except DoorwardError as error:
            frame = results.refusal(error).frame(request.id)
        if frame is not None:
            await peer.send(frame)
        if peer.outbox is not None and peer.telling is None:
            peer.telling = asyncio.create_task(self.tell(peer, peer.outbox, peer.send))

    async def tell(self, peer: Peer, outbox: Outbox, send: Send) -> None:
        """Send a client with a session its news as they come. One whose credential no longer holds is told so."""
        try:
            while (news := await self.engine.subscriptions.news(outbox)) is not None:
                for frame in news:
                    await send(frame)
        except NotAuthenticated as error:
            word = warning(peer.level or "info", f"Nothing more is told here: {error.message}")
            if word is not None:
                await send(word)

    def _start(self, peer: Peer, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        peer.tasks.add(task)
        task.add_done_callback(peer.tasks.discard)


def current_task(loop: asyncio.AbstractEventLoop | None = None) -> asyncio.Task[Any]:
    """The task that works on a request, of which there must be one, or nobody could cancel it."""
    task = asyncio.current_task(loop)
    if task is None:
        raise RuntimeError("a request is answered in a task")
    return task


class _Direct:
    """The channel of a transport on which everything goes one way."""

    open = True

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def begin(self) -> None:
        """It is always there."""

    async def send(self, frame: bytes) -> None:
        await self._peer.send(frame)
