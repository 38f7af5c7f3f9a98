"""An MCP request, and the messages that its client can get while it runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Protocol

from doorward.doors.mcp.peer import Peer
from doorward.doors.mcp.versions import Era
from doorward.errors import NotAuthenticated
from doorward.gate.gate import Gate
from doorward.model import Caller, Outcome, Request
from doorward.wire import frames
from doorward.wire.codes import INVALID_PARAMS, MISSING_CAPABILITY
from doorward.wire.frames import WireError
from doorward.wire.ids import Id
from doorward.wire.meta import LEVELS, Level, Meta

DOOR = "mcp"
PATIENCE = 300.0
"""Seconds that a client has to answer a server request by default."""
_PARTING = 1.0
"""Seconds to withdraw a server request after the call that sent it was cancelled."""


class Channel(Protocol):
    """The connection to a client that belongs to one of its requests."""

    @property
    def open(self) -> bool:
        """Whether messages other than the answer can be sent."""

    async def begin(self) -> None:
        """Open the channel; Overloaded when that is not possible now."""

    async def send(self, frame: bytes) -> None:
        """Send a message that the client can miss, such as progress. A closed channel drops it."""


class Overtaken(Exception):
    """A server request was withdrawn, because its answer no longer matters."""


class Ask:
    __slots__ = ("_caller", "channel", "era", "gate", "id", "meta", "method", "params", "peer")

    def __init__(
        self,
        gate: Gate,
        peer: Peer,
        era: Era,
        id: Id,
        method: str,
        params: dict[str, Any],
        meta: Meta,
        channel: Channel,
    ) -> None:
        self.gate = gate
        self.peer = peer
        self.era = era
        self.id = id
        self.method = method
        self.params = params
        self.meta = meta
        self.channel = channel
        self._caller: Caller | None = None

    @property
    def caller(self) -> Caller:
        """The caller as the gate identifies it; NotAuthenticated if the credential is not valid."""
        if self._caller is None:
            self._caller = self.gate.caller(self.peer.credential)
        return self._caller

    async def run(self, command: str, params: Mapping[str, Any]) -> Outcome:
        """Run a command for this request through the gate."""
        outcome = await self.gate.handle(self.wants(command, params))
        if outcome.code == NotAuthenticated.code:
            raise NotAuthenticated(outcome.message, hint=outcome.hint)
        return outcome

    def wants(self, command: str, params: Mapping[str, Any]) -> Request:
        """Build the gate request for a command of this client."""
        return Request(
            command=command,
            credential=self.peer.credential,
            door=DOOR,
            room=self.peer.room,
            params=params,
            session=self.peer.name,
        )

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The capabilities that the client declared."""
        if self.era is Era.SESSIONS:
            return self.peer.capabilities
        return self.meta.capabilities or {}

    @property
    def responses(self) -> Mapping[str, Any]:
        """The client's answers to an earlier `input_required` result (stateless era)."""
        given = self.params.get("inputResponses")
        if given is None:
            return {}
        if not isinstance(given, dict):
            raise WireError(INVALID_PARAMS, f"{self.method}: `inputResponses` must be an object.")
        return given

    @property
    def state(self) -> str:
        """The `requestState` that the client sends back; empty on a first request. Never trust it without its seal."""
        given = self.params.get("requestState", "")
        if not isinstance(given, str):
            raise WireError(INVALID_PARAMS, f"{self.method}: `requestState` must be the string that the server sent.")
        return given

    def text(self, key: str) -> str:
        """A required string parameter."""
        value = self.params.get(key)
        if not isinstance(value, str) or not value:
            raise WireError(INVALID_PARAMS, f"{self.method}: parameter {key!r} is required and must be a string.")
        return value

    def need(self, capability: str) -> None:
        """Refuse a client that did not declare this capability."""
        if capability not in self.capabilities:
            raise WireError(
                MISSING_CAPABILITY,
                f"{self.method} needs a client that declares the capability {capability!r}.",
                {"requiredCapabilities": {capability: {}}},
            )

    @property
    def level(self) -> Level | None:
        """The lowest log level that the client wants; None if it wants no log messages."""
        return self.peer.level or "info" if self.era is Era.SESSIONS else self.meta.level

    async def notify(self, method: str, params: Any) -> None:
        """Send the client a notification about this request."""
        await self.channel.send(frames.notification(method, params))

    async def log(self, level: Level, data: Any, logger: str = "") -> None:
        """Send a log message, if the client wants this level."""
        least = self.level
        if least is None or LEVELS.index(level) < LEVELS.index(least):
            return
        await self.notify("notifications/message", {"level": level, "logger": logger or "doorward", "data": data})

    async def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        """Send progress, if the client asked for it."""
        if self.meta.progress is None:
            return
        params: dict[str, Any] = {"progressToken": self.meta.progress, "progress": progress}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        await self.notify("notifications/progress", params)

    async def request(
        self, method: str, params: Any, patience: float = PATIENCE, needless: asyncio.Future[None] | None = None
    ) -> dict[str, Any]:
        """Send the client a request and wait for the answer (session era). TimeoutError when no answer comes.

        Once `needless` is done, the request is withdrawn and Overtaken is raised, unless the answer is already there.
        """
        id, answer = self.peer.question()
        try:
            async with asyncio.timeout(patience):
                await self.channel.begin()
                await self.channel.send(frames.request(id, method, params))
                either: list[asyncio.Future[Any]] = [answer] if needless is None else [answer, needless]
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
        except TimeoutError:
            await self._take_back(id, "No answer in time.")
            raise
        except asyncio.CancelledError:
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(_PARTING):
                    await self._take_back(id, "The call was cancelled.")
            raise
        finally:
            self.peer.waiting.pop(id, None)
        await self._take_back(id, "Already decided elsewhere.")
        raise Overtaken

    async def _take_back(self, id: Id, reason: str) -> None:
        await self.notify("notifications/cancelled", {"requestId": id, "reason": reason})
