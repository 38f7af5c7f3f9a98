"""The MCP door: takes frames from any transport, runs several requests at once, and sends the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from doorward.commands.context import Services
from doorward.core.errors import DoorwardError, NotAuthenticated
from doorward.core.ids import new_id
from doorward.core.model import Credential
from doorward.core.wire import frames, meta
from doorward.core.wire.codes import INVALID_PARAMS, INVALID_REQUEST, STATELESS, SUPPORTED
from doorward.core.wire.frames import WireError, WireNotification, WireRequest, WireResponse
from doorward.core.wire.meta import RequestMeta
from doorward.doors.mcp import results
from doorward.doors.mcp.dispatcher import McpDispatcher
from doorward.doors.mcp.peer import MAX_RUNNING, Outbox, Peer, Send, ToolListing, Transport
from doorward.doors.mcp.request import McpRequest, RequestChannel
from doorward.doors.mcp.subscriptions import warning_frame
from doorward.doors.mcp.versions import Era, unsupported_version
from doorward.gate.gate import Gate

__all__ = ["McpDoor", "Peer", "Send"]


class McpDoor:
    """One per server process, for all transports. `dispatcher` is the class that answers the requests."""

    def __init__(self, gate: Gate, services: Services, dispatcher: type[McpDispatcher] = McpDispatcher) -> None:
        self.gate = gate
        self.services = services
        self.dispatcher = dispatcher(gate, services)

    def make_peer(
        self,
        credential: Credential,
        room: str,
        person: Credential | None,
        send: Send,
        transport: Transport,
        tools: ToolListing | None = None,
    ) -> Peer:
        """A client on a transport that has connections.

        `person` is the credential of the human who can approve through this client, if the door holds one.
        """
        listing = tools or self.services.settings.mcp.tools
        return Peer(credential, room, person, send, transport, listing, f"mcp:{new_id()}")

    async def receive(self, peer: Peer, text: bytes) -> None:
        """Take one frame. The work continues in the background; answers go through the peer's `send`."""
        try:
            frame = frames.parse_frame(text, self.services.settings.mcp.largest_message)
        except WireError as error:
            await peer.send(error.frame())
            return
        if isinstance(frame, WireResponse):
            peer.handle_response(frame)
        elif isinstance(frame, WireNotification):
            self.handle_notification(peer, frame)
        elif len(peer.tasks) >= MAX_RUNNING:
            busy = WireError(INVALID_REQUEST, f"{MAX_RUNNING} requests are already running. Wait for one to end.")
            await peer.send(busy.frame(frame.id))
        else:
            self._start(peer, self._respond(peer, frame))

    def forget(self, peer: Peer) -> None:
        """Forget a client that has nothing running."""
        self.dispatcher.subscriptions.remove_session(peer)

    async def close(self, peer: Peer) -> None:
        """Cancel everything that runs for a disconnected client, and wait until its records are stored."""
        self.forget(peer)
        tasks = [*peer.tasks, peer.telling] if peer.telling is not None else [*peer.tasks]
        for request in list(peer.running):
            peer.cancel(request)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def handle_notification(self, peer: Peer, notification: WireNotification) -> None:
        """Handle a notification of a client. Unknown notifications are ignored."""
        if notification.method == "notifications/cancelled":
            peer.cancel(notification.params.get("requestId"))

    def stop(self) -> None:
        """The server stops: end the HTTP streams that only listen, each with a proper last message.

        Stdio clients stay: their relays reconnect them to the next server process.
        """
        self.dispatcher.subscriptions.close()

    def detect_era(self, peer: Peer, request: WireRequest, said: RequestMeta) -> Era:
        """The protocol era of a request, on a transport without headers."""
        if said.version is not None or (not peer.version and request.method == "server/discover"):
            self.check_meta(request, said)
            return Era.STATELESS
        if peer.version or request.method in ("initialize", "ping"):
            return Era.SESSIONS
        raise WireError(
            INVALID_REQUEST,
            f"{request.method}: send `initialize` first, or set the protocol version in `_meta`"
            f" as {meta.VERSION!r}; valid: {', '.join(SUPPORTED)}.",
        )

    @staticmethod
    def check_meta(request: WireRequest, said: RequestMeta) -> None:
        """Refuse a stateless request that lacks a required field of `_meta`."""
        if said.version is None:
            raise WireError(INVALID_PARAMS, f"{request.method}: {meta.VERSION!r} is missing in `_meta`.")
        if said.version != STATELESS:
            raise unsupported_version(said.version)
        if said.capabilities is None:
            raise WireError(INVALID_PARAMS, f"{request.method}: {meta.CAPABILITIES!r} is missing in `_meta`.")

    async def answer(
        self,
        peer: Peer,
        era: Era,
        request: WireRequest,
        said: RequestMeta,
        channel: RequestChannel,
        task: asyncio.Task[Any],
    ) -> bytes | None:
        """The frame that answers a request; None if the client cancelled it by its id and expects no answer.

        `task` is the current task, which such a cancellation cancels.
        """
        if request.id in peer.running:
            raise WireError(INVALID_REQUEST, f"A request with the id {request.id!r} is already running.")
        peer.running[request.id] = task
        try:
            ask = McpRequest(self.gate, peer, era, request.id, request.method, request.params, said, channel)
            frame = frames.answer(request.id, await self.dispatcher.dispatch(ask))
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

    async def _respond(self, peer: Peer, request: WireRequest) -> None:
        try:
            said = meta.parse_meta(request.method, request.params)
            era = self.detect_era(peer, request, said)
            frame = await self.answer(peer, era, request, said, _PeerChannel(peer), current_task())
        except WireError as error:
            frame = error.frame(request.id)
        except DoorwardError as error:
            frame = results.refusal(error).frame(request.id)
        if frame is not None:
            await peer.send(frame)
        if peer.outbox is not None and peer.telling is None:
            peer.telling = asyncio.create_task(self.send_notifications(peer, peer.outbox, peer.send))

    async def send_notifications(self, peer: Peer, outbox: Outbox, send: Send) -> None:
        """Send a session its notifications as they come, and a last warning once its credential is no longer valid."""
        try:
            while (news := await self.dispatcher.subscriptions.next_frames(outbox)) is not None:
                for frame in news:
                    await send(frame)
        except NotAuthenticated as error:
            word = warning_frame(peer.level or "info", f"No more notifications: {error.message}")
            if word is not None:
                await send(word)

    def _start(self, peer: Peer, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        peer.tasks.add(task)
        task.add_done_callback(peer.tasks.discard)


def current_task(loop: asyncio.AbstractEventLoop | None = None) -> asyncio.Task[Any]:
    """The task that handles a request. It must exist, so that the request can be cancelled."""
    task = asyncio.current_task(loop)
    if task is None:
        raise RuntimeError("a request must be handled in a task")
    return task


class _PeerChannel:
    """The channel of a transport that carries everything on one connection."""

    open = True

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def begin(self) -> None:
        """It is always open."""

    async def send(self, frame: bytes) -> None:
        await self._peer.send(frame)
