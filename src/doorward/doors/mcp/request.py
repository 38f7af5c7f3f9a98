"""An MCP request, the messages its client gets while it runs, and the signed state it carries."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from doorward.core.clock import Clock
from doorward.core.errors import NotAuthenticated, TooFast
from doorward.core.model import Caller, Outcome, Request
from doorward.core.wire import frames
from doorward.core.wire.codes import INVALID_PARAMS, MISSING_CAPABILITY
from doorward.core.wire.frames import WireError
from doorward.core.wire.ids import Id
from doorward.core.wire.meta import LOG_LEVELS, LogLevel, RequestMeta
from doorward.doors.mcp.peer import Peer
from doorward.doors.mcp.versions import Era
from doorward.gate.gate import Gate

DOOR = "mcp"
REQUEST_TIMEOUT = 300.0
"""Seconds that a client has to answer a server request by default."""
_WITHDRAW_TIMEOUT = 1.0
"""Seconds to withdraw a server request after the call that sent it was cancelled."""


class RequestChannel(Protocol):
    """The connection to a client that belongs to one of its requests."""

    @property
    def open(self) -> bool:
        """Whether messages other than the answer can be sent."""

    async def begin(self) -> None:
        """Open the channel; Overloaded when that is not possible now."""

    async def send(self, frame: bytes) -> None:
        """Send a message that the client can miss, such as progress. A closed channel drops it."""


class RequestWithdrawn(Exception):
    """A server request was withdrawn, because its answer no longer matters."""


class McpRequest:
    __slots__ = ("_caller", "channel", "era", "gate", "id", "meta", "method", "params", "peer")

    def __init__(
        self,
        gate: Gate,
        peer: Peer,
        era: Era,
        id: Id,
        method: str,
        params: dict[str, Any],
        meta: RequestMeta,
        channel: RequestChannel,
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

    async def run_command(self, command: str, params: Mapping[str, Any]) -> Outcome:
        """Run a command for this request through the gate."""
        outcome = await self.gate.handle(self.build_gate_request(command, params))
        check_authenticated(outcome)
        return outcome

    def build_gate_request(self, command: str, params: Mapping[str, Any]) -> Request:
        """Build the gate request for a command of this client."""
        return Request(
            command=command,
            credential=self.peer.credential,
            door=DOOR,
            room=self.peer.room,
            params=params,
            session=self.peer.name,
            address=self.peer.address,
        )

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The capabilities that the client declared."""
        if self.era is Era.SESSIONS:
            return self.peer.capabilities
        return self.meta.capabilities or {}

    @property
    def input_responses(self) -> Mapping[str, Any]:
        """The client's answers to an earlier `input_required` result (stateless era)."""
        given = self.params.get("inputResponses")
        if given is None:
            return {}
        if not isinstance(given, dict):
            raise WireError(INVALID_PARAMS, f"{self.method}: `inputResponses` must be an object.")
        return given

    @property
    def request_state(self) -> str:
        """The `requestState` that the client sends back; empty on a first request. Never trust it without its seal."""
        given = self.params.get("requestState", "")
        if not isinstance(given, str):
            raise WireError(INVALID_PARAMS, f"{self.method}: `requestState` must be the string that the server sent.")
        return given

    def require_string(self, key: str) -> str:
        """A required string parameter."""
        value = self.params.get(key)
        if not isinstance(value, str) or not value:
            raise WireError(INVALID_PARAMS, f"{self.method}: parameter {key!r} is required and must be a string.")
        return value

    def require_capability(self, capability: str) -> None:
        """Refuse a client that did not declare this capability."""
        if capability not in self.capabilities:
            raise WireError(
                MISSING_CAPABILITY,
                f"{self.method} needs a client that declares the capability {capability!r}.",
                {"requiredCapabilities": {capability: {}}},
            )

    @property
    def log_level(self) -> LogLevel | None:
        """The lowest log level that the client wants; None if it wants no log messages."""
        return self.peer.level or "info" if self.era is Era.SESSIONS else self.meta.level

    async def notify(self, method: str, params: Any) -> None:
        """Send the client a notification about this request."""
        await self.channel.send(frames.notification(method, params))

    async def send_log(self, level: LogLevel, data: Any, logger: str = "") -> None:
        """Send a log message, if the client wants this level."""
        least = self.log_level
        if least is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(least):
            return
        await self.notify("notifications/message", {"level": level, "logger": logger or "doorward", "data": data})

    async def send_progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        """Send progress, if the client asked for it."""
        if self.meta.progress is None:
            return
        params: dict[str, Any] = {"progressToken": self.meta.progress, "progress": progress}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        await self.notify("notifications/progress", params)

    async def send_request(
        self, method: str, params: Any, patience: float = REQUEST_TIMEOUT, needless: asyncio.Future[None] | None = None
    ) -> dict[str, Any]:
        """Send the client a request and wait for the answer (session era). TimeoutError when no answer comes.

        Once `needless` is done, the request is withdrawn and RequestWithdrawn is raised, unless the answer is already
        there. A TimeoutError that is set on `needless` counts as no answer in time.
        """
        id, answer = self.peer.new_request()
        try:
            async with asyncio.timeout(patience):
                await self.channel.begin()
                await self.channel.send(frames.request(id, method, params))
                either: list[asyncio.Future[Any]] = [answer] if needless is None else [answer, needless]
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            if needless is not None:
                needless.result()
        except TimeoutError:
            await self._withdraw(id, "No answer in time.")
            raise
        except asyncio.CancelledError:
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(_WITHDRAW_TIMEOUT):
                    await self._withdraw(id, "The call was cancelled.")
            raise
        finally:
            self.peer.waiting.pop(id, None)
        await self._withdraw(id, "Already decided elsewhere.")
        raise RequestWithdrawn

    async def _withdraw(self, id: Id, reason: str) -> None:
        await self.notify("notifications/cancelled", {"requestId": id, "reason": reason})


_encode = msgspec.json.Encoder(order="sorted").encode
_MAC_BYTES = 32


class _SealedState(msgspec.Struct, frozen=True, array_like=True):
    ticket: str
    owner: str
    about: str
    until: float


class StateSealer:
    """Seals and opens `requestState`. The seal proves only that this server wrote it: the gate repeats its checks."""

    def __init__(self, key: bytes, clock: Clock) -> None:
        self._key = hashlib.blake2b(b"what MCP clients carry", key=key, digest_size=32).digest()
        self._clock = clock
        self._read = msgspec.json.Decoder(_SealedState).decode

    def seal(self, ticket: str, caller: Caller, what: Any, until: float) -> str:
        body = _encode(_SealedState(ticket, _caller_key(caller), self._digest(what), until))
        return base64.urlsafe_b64encode(self._mac(body) + body).decode()

    def open(self, text: str, caller: Caller, what: Any) -> str:
        """The ticket in a state that was given to this caller for this exact call and has not expired."""
        try:
            raw = base64.urlsafe_b64decode(text.encode("ascii"))
            mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
            exact = base64.urlsafe_b64encode(raw).decode() == text  # the decoder skips characters that are not Base64
            if not exact or not hmac.compare_digest(mac, self._mac(body)):
                raise _invalid_state("this server did not sign it")
            carried = self._read(body)
        except (ValueError, binascii.Error, msgspec.DecodeError) as error:
            raise _invalid_state("it is malformed") from error
        if carried.owner != _caller_key(caller):
            raise _invalid_state("it belongs to another caller")
        if carried.about != self._digest(what):
            raise _invalid_state("it belongs to another call")
        if carried.until <= self._clock.now():
            raise _invalid_state("it has expired")
        return carried.ticket

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, "sha256")

    def _digest(self, what: Any) -> str:
        return hashlib.blake2b(_encode(what), key=self._key, digest_size=16).hexdigest()


def _caller_key(caller: Caller) -> str:
    return "\x00".join((caller.tenant, caller.id, caller.kind, caller.on_behalf_of))


def _invalid_state(why: str) -> WireError:
    return WireError(
        INVALID_PARAMS, f"The `requestState` is not valid: {why}. Send the request again without `requestState`."
    )


def check_authenticated(outcome: Outcome) -> None:
    """Raise the refusal of a request without valid credentials, which is answered outside any tool result."""
    if outcome.code == NotAuthenticated.code:
        raise NotAuthenticated(outcome.message, hint=outcome.hint)
    if outcome.code == TooFast.code and not outcome.call:
        raise TooFast(outcome.message, hint=outcome.hint, rule=outcome.rule, retry_after=outcome.retry_after)
