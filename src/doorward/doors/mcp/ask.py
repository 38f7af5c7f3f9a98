"""An ask: one request of a client in the door's hands, and what can be said to that client meanwhile."""

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
"""Seconds that a client is given to answer a request of ours, unless whoever asks says otherwise."""
_PARTING = 1.0
"""Seconds to tell a client that a question is taken back, where whoever waited for the answer is gone."""


class Channel(Protocol):
    """The way to a client that belongs to one request of its own."""

    @property
    def open(self) -> bool:
        """Whether anything but the answer can go this way."""

    async def begin(self) -> None:
        """Make sure that something can; Overloaded when that is not so at this moment."""

    async def send(self, frame: bytes) -> None:
        """Send a message that may be missed, such as how far something is: it is dropped where there is no way."""


class Overtaken(Exception):
    """A question to the client was taken back, since its answer no longer matters."""


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
        """Who asks, as the gate knows them; NotAuthenticated when it does not."""
        if self._caller is None:
            self._caller = self.gate.caller(self.peer.credential)
        return self._caller

    async def run(self, command: str, params: Mapping[str, Any]) -> Outcome:
        """A command on behalf of this request, through the gate like any other."""
        outcome = await self.gate.handle(self.wants(command, params))
        if outcome.code == NotAuthenticated.code:
            raise NotAuthenticated(outcome.message, hint=outcome.hint)
        return outcome

    def wants(self, command: str, params: Mapping[str, Any]) -> Request:
        """What the gate is asked for on behalf of this request."""
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
        """What this client says it can do."""
        if self.era is Era.SESSIONS:
            return self.peer.capabilities
        return self.meta.capabilities or {}

    @property
    def responses(self) -> Mapping[str, Any]:
        """What the client found out since it was told that input is required (stateless era)."""
        given = self.params.get("inputResponses")
        if given is None:
            return {}
        if not isinstance(given, dict):
            raise WireError(INVALID_PARAMS, f"{self.method}: `inputResponses` must be an object.")
        return given

    @property
    def state(self) -> str:
        """What the client was told to show when it asks again; empty on a first request. Never to be believed."""
        given = self.params.get("requestState", "")
        if not isinstance(given, str):
            raise WireError(INVALID_PARAMS, f"{self.method}: `requestState` must be the text that was given.")
        return given

    def text(self, key: str) -> str:
        """A parameter that must be there and must be a text."""
        value = self.params.get(key)
        if not isinstance(value, str) or not value:
            raise WireError(INVALID_PARAMS, f"{self.method}: parameter {key!r} must be given, as a text.")
        return value

    def need(self, capability: str) -> None:
        """Refuse to go on with a client that did not say it can do this."""
        if capability not in self.capabilities:
            raise WireError(
                MISSING_CAPABILITY,
                f"{self.method} needs a client that declares the capability {capability!r}.",
                {"requiredCapabilities": {capability: {}}},
            )

    @property
    def level(self) -> Level | None:
        """From which level on this client wants messages; None when it wants none."""
        return self.peer.level or "info" if self.era is Era.SESSIONS else self.meta.level

    async def notify(self, method: str, params: Any) -> None:
        """Tell the client something about this request."""
        await self.channel.send(frames.notification(method, params))

    async def log(self, level: Level, data: Any, logger: str = "") -> None:
        """A message for the client's log, if it asked for messages as grave as this."""
        least = self.level
        if least is None or LEVELS.index(level) < LEVELS.index(least):
            return
        await self.notify("notifications/message", {"level": level, "logger": logger or "doorward", "data": data})

    async def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        """How far this request is, if the client asked to be told."""
        if self.meta.progress is None:
            return
        told: dict[str, Any] = {"progressToken": self.meta.progress, "progress": progress}
        if total is not None:
            told["total"] = total
        if message:
            told["message"] = message
        await self.notify("notifications/progress", told)

    async def request(
        self, method: str, params: Any, patience: float = PATIENCE, needless: asyncio.Future[None] | None = None
    ) -> dict[str, Any]:
        """Ask the client something and wait for its answer (era of sessions). TimeoutError when it says nothing.

        Once `needless` is done the question is taken back and Overtaken is raised, unless the answer is there.
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
            await self._take_back(id, "There was no answer in time.")
            raise
        except asyncio.CancelledError:
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(_PARTING):
                    await self._take_back(id, "The call that it was about was cancelled.")
            raise
        finally:
            self.peer.waiting.pop(id, None)
        await self._take_back(id, "It was decided elsewhere.")
        raise Overtaken

    async def _take_back(self, id: Id, reason: str) -> None:
        await self.notify("notifications/cancelled", {"requestId": id, "reason": reason})
