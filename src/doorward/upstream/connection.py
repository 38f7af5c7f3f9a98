"""One live way to a server: what a session asks of it, and what it tells the session.

Two kinds stand behind it. On the streams of a process every message goes the same way; over HTTP each request has an
answer, or a stream, of its own. So whatever is sent says which request it is, and whatever arrives says, where the
transport knows, which request it belongs to. No method here waits for the server except `close`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from doorward.errors import DoorwardError, Unreachable
from doorward.upstream.config import ServerConfig


class Rejected(Unreachable):
    """The server turned a request away without an answer of the protocol.

    A server of the older era does that to a request of the newer one, so whoever negotiates then tries the older.
    """


class Unsent(Unreachable):
    """The server did certainly nothing of what it was asked, so that the same may be asked once more."""


class Receiver(Protocol):
    """Where a connection delivers. It calls these on the event loop and never from within `send`."""

    def received(self, frame: bytes, answering: int | None = None) -> None:
        """One message as it came, without its line break; `answering` is the request on whose stream it arrived."""

    def unanswered(self, id: int, error: DoorwardError, *, again: bool = False) -> None:
        """This one request gets no answer any more, and the connection lives on.

        `again` means that the server certainly did nothing, so that the same may be sent once more.
        """

    def lost(self, error: DoorwardError, *, again: bool = False) -> None:
        """It ended by itself; said at most once, and not after `close`. `again`: a new one is worth trying at once."""

    def noted(self, line: str) -> None:
        """Something for the log of this server that is no message, such as a line on its standard error."""


class Connection(Protocol):
    @property
    def process(self) -> int | None:
        """The process that a server of our own making runs in; None over HTTP."""

    @property
    def confinement(self) -> str:
        """How well its process is held, as the sandbox calls it; empty over HTTP."""

    def send(
        self, frame: bytes, *, id: int | None = None, method: str = "", params: Mapping[str, Any] | None = None
    ) -> None:
        """Send one message, which ends with its last brace. `id`, `method` and `params` say again what is in it.

        A request has all three, a notification no id, and an answer of ours neither id nor method. Raises an
        Unreachable when the server does not take it, and then nothing was sent.
        """

    def drop(self, id: int, notice: bytes) -> None:
        """Nobody waits for this request any more. `notice` tells the server so, where a message is how one says it."""

    def agreed(self, version: str) -> None:
        """The version that both sides speak from now on; before that a request's `_meta` says it."""

    def admit(self, tools: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
        """Of these definitions, those that can be called this way, and a sentence for each that cannot.

        A transport that has to know the definitions to make a call keeps them from here on.
        """

    def rest(self, seconds: float) -> None:
        """Deliver nothing for this long, and read no further; 0 goes on at once.

        A server that says more than anybody asked for is slowed down this way. A transport in which each request has
        a stream of its own, and a limit to it, need not do anything here.
        """

    async def close(self) -> None:
        """Leave nothing behind. It may be called twice, and also while it is being closed."""


Connect = Callable[[ServerConfig, Receiver], Awaitable[Connection]]
"""Makes a connection; raises an Unreachable (or another DoorwardError) that says why there is none."""
