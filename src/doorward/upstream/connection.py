"""The transport interface between a session and its server, and the choice of a transport.

There are two implementations. With a process, all messages share its streams; over HTTP, each request has its own
response or stream. So `send` gets the request's id, and a received message carries the request it belongs to, where the
transport knows it. No method here waits for the server except `close`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from doorward.core.errors import DoorwardError, Unreachable
from doorward.upstream.config import ServerConfig


class RequestRejected(Unreachable):
    """The server rejected a request without a JSON-RPC response.

    A server of an older protocol version does that to a newer request, so negotiation then tries the older version.
    """


class NotProcessed(Unreachable):
    """The server certainly did not process the request, so it is safe to send it again."""


class MessageReceiver(Protocol):
    """Receives what a connection delivers. Called on the event loop, never from within `send`."""

    def received(self, frame: bytes, answering: int | None = None) -> None:
        """A message arrived, without its line break. `answering` is the request on whose stream it arrived."""

    def unanswered(self, id: int, error: DoorwardError, *, again: bool = False) -> None:
        """This request will get no answer; the connection stays open.

        `again` means that the server certainly did not process it, so it is safe to send it again.
        """

    def lost(self, error: DoorwardError, *, again: bool = False) -> None:
        """The connection ended by itself. Called at most once, not after `close`. `again`: reconnect at once."""

    def noted(self, line: str) -> None:
        """A line for the server's log that is not a message, such as a line on its standard error."""


class UpstreamConnection(Protocol):
    @property
    def process(self) -> int | None:
        """The server's process id; None over HTTP."""

    @property
    def confinement(self) -> str:
        """The sandbox level of its process; empty over HTTP."""

    def send(
        self, frame: bytes, *, id: int | None = None, method: str = "", params: Mapping[str, Any] | None = None
    ) -> None:
        """Send one message, without a line break. `id`, `method` and `params` repeat what is in it.

        A request has all three, a notification has no id, and a response has neither id nor method. Raises Unreachable
        when the server does not accept it; then nothing was sent.
        """

    def drop(self, id: int, notice: bytes) -> None:
        """Abandon a request. `notice` is the cancellation message, for transports that send one."""

    def agreed(self, version: str) -> None:
        """Set the negotiated protocol version. Until then, a request's `_meta` carries the version."""

    def admit(self, tools: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the tools that this transport can call, and a sentence for each that it cannot.

        A transport that needs the definitions for calls keeps them.
        """

    def rest(self, seconds: float) -> None:
        """Pause reading and delivery for this long; 0 resumes at once.

        This slows down a server that sends too many unsolicited messages. A transport with a limited stream for each
        request may ignore it.
        """

    async def close(self) -> None:
        """Close everything. It is safe to call twice, also while it is closing."""


Connect = Callable[[ServerConfig, MessageReceiver], Awaitable[UpstreamConnection]]
"""Opens a connection; raises Unreachable or another DoorwardError with the reason when it fails."""


def connect_by_transport(process: Connect, remote: Connect) -> Connect:
    """Connect to each server with the transport in its configuration."""

    async def connect(config: ServerConfig, receiver: MessageReceiver) -> UpstreamConnection:
        return await (process if config.transport == "stdio" else remote)(config, receiver)

    return connect
