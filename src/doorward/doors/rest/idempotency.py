"""Idempotency keys: a repeated request with the same key returns the first answer and runs nothing.

- Only calls that ran are stored. A refused call changed nothing, so it may run again.
- An answer that contains a secret or is very long is not stored; a repeated request gets an error that says so.
- A command that takes a key itself, such as room/say, is safe to repeat. It runs again when no answer is stored, for
  example after the server died in the middle.
- A stored answer is returned only to a credential with the same reach as the first, and only while the gate would
  still allow the request.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from doorward.commands.context import Services
from doorward.config.home import Home
from doorward.core import redact
from doorward.core.command import shorten
from doorward.core.errors import BadParams, Conflict, DoorwardError, LedgerUnavailable
from doorward.core.model import Caller, Outcome
from doorward.core.model import Request as Asked
from doorward.doors.http.call_stream import CLIENT_CLOSED
from doorward.doors.http.problems import HTTP_STATUS, MEDIA_TYPE, HttpProblem
from doorward.doors.rest.request_reader import JSON
from doorward.doors.rest.sse import principal_of
from doorward.gate.executions.notices import Notice, StartedNotice, Watcher
from doorward.gate.gate import Gate
from doorward.store import idempotency as sql

log = logging.getLogger(__name__)

HEADER = "idempotency-key"
MAX_STORED_BYTES = 200_000
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


class IdempotencyKeys:
    def __init__(self, gate: Gate, services: Services) -> None:
        self._gate = gate
        self._approvals = services.approvals
        self._registry = services.registry
        self._store = services.store
        self._clock = services.clock
        self._kept = sql.retention_seconds(services.settings.limits)
        self._secret = Home(services.home).load_key()
        self._running: set[tuple[str, str]] = set()

    async def respond(
        self,
        request: Request,
        asked: Asked,
        body: bytes,
        outcome: Callable[[Asked, Watcher | None], Awaitable[Outcome | None]],
        shown: Callable[[Outcome | None], Response],
    ) -> Response:
        """Answer a request, or return the stored answer of the same request with the same key."""
        key = _read_key(request)
        if not key:
            return shown(await outcome(asked, None))
        asked, repeatable = self._pass_key(asked, key)
        asker = self._gate.caller(asked.credential)
        caller, fingerprint = _key_owner(asker), self._fingerprint(request, body)
        if (caller, key) in self._running:
            raise _key_in_use()
        self._running.add((caller, key))
        try:
            before = await self._find_or_reserve(caller, key, fingerprint)
            if before is not None and not await self._is_still_useful(asker, before):
                await self._store.write(sql.release(caller, key))
                before = await self._find_or_reserve(caller, key, fingerprint)
            if before is not None and not (repeatable and before["body"] is None):
                refused = await self._current_refusal(asker, asked)
                return _replay(before) if refused is None else shown(refused)
            began = _StartedCall()
            ended = await outcome(asked, began.watch)
            response = shown(ended)
            await self._store_answer(caller, key, ended, began.call, response)
            return response
        finally:
            self._running.discard((caller, key))

    def _pass_key(self, asked: Asked, key: str) -> tuple[Asked, bool]:
        """The request, with the key as a parameter if its command takes one, and whether it is safe to repeat."""
        try:
            name = self._registry.resolve(asked.command).facts.idempotency_param
        except DoorwardError:
            name = ""
        if not name or asked.ticket:
            return asked, False
        return msgspec.structs.replace(asked, params={name: key, **(asked.params or {})}), True

    def _fingerprint(self, request: Request, body: bytes) -> str:
        """A keyed hash of the request, so that nobody can guess a password in it from the database."""
        digest = hashlib.blake2b(key=self._secret, digest_size=32)
        for part in (request.method.encode(), request.url.path.encode(), str(request.url.query).encode(), body):
            digest.update(len(part).to_bytes(8, "big") + part)
        return digest.hexdigest()

    def refuse_key(self, request: Request) -> None:
        """Refuse a key on a request whose answer cannot be stored."""
        if _read_key(request):
            raise BadParams("A streamed answer cannot be repeated. Leave out the Idempotency-Key.")

    async def _find_or_reserve(self, caller: str, key: str, fingerprint: str) -> dict[str, Any] | None:
        """The stored record of the same request. If there is none, reserve the key and return None."""
        now = self._clock.now()
        found = await sql.find(self._store, caller, key, now - self._kept)
        if found is None:
            try:
                await self._store.write(*sql.begin(caller, key, fingerprint, now, now - self._kept))
            except Conflict as error:
                raise _key_in_use() from error
            return None
        if found["asked"] != fingerprint:
            raise HttpProblem("key_reused", "This Idempotency-Key was used for another request. Use a new key.")
        return found

    async def _is_still_useful(self, caller: Caller, before: dict[str, Any]) -> bool:
        """Whether a stored answer is still useful. One with an expired or decided ticket is not."""
        if before["status"] != HTTP_STATUS["approval_needed"] or before["body"] is None:
            return True
        ticket = msgspec.json.decode(before["body"], type=_WaitingAnswer).ticket
        return (await self._approvals.find(caller.tenant, ticket)).state in ("pending", "approved")

    async def _current_refusal(self, caller: Caller, asked: Asked) -> Outcome | None:
        """The gate's recorded refusal, if it would no longer allow this request; else None.

        `Gate.handle` runs only after `Gate.explain` refused, with no await in between that could change the decision.
        A request with a ticket cannot run again anyway, because the ticket is used up.
        """
        try:
            meant = asked
            if asked.ticket and asked.params is None:
                approval = await self._approvals.find(caller.tenant, asked.ticket)
                command = asked.command or approval.command
                meant = msgspec.structs.replace(asked, command=command, room=approval.room)
            allowed = (await self._gate.explain(meant))["decision"] == "allowed"
        except DoorwardError:
            allowed = False
        return None if allowed else await self._gate.handle(asked)

    async def _store_answer(
        self, caller: str, key: str, outcome: Outcome | None, began: str, response: Response
    ) -> None:
        """Store the answer. If that fails, a repeated request gets an error that says that no answer is stored.

        When the client disconnected there is no answer, but the call that started for it is stored.
        """
        body = bytes(response.body)
        text = body.decode()
        plain = len(body) <= MAX_STORED_BYTES and redact.text(text) == text
        if outcome is not None and outcome.status == "refused":
            statement = sql.release(caller, key)
        else:
            call = outcome.call if outcome is not None else began
            keep = body if plain and outcome is not None else None
            statement = sql.finish(caller, key, call, response.status_code, keep)
        try:
            await self._store.write(statement, durable=False)
        except LedgerUnavailable as error:
            log.warning("an answer could not be stored for its idempotency key: %s", error)


class _StartedCall:
    """Remembers the id of the call that a request started."""

    def __init__(self) -> None:
        self.call = ""

    def watch(self, notice: Notice) -> None:
        if isinstance(notice, StartedNotice):
            self.call = notice.execution


class _WaitingAnswer(msgspec.Struct, frozen=True):
    """The ticket in a stored answer of a call that waits for approval."""

    ticket: str


def _replay(found: dict[str, Any]) -> Response:
    """The stored answer as a response."""
    if found["body"] is None and (not found["call"] or found["status"] == CLIENT_CLOSED):
        raise HttpProblem(
            "not_kept",
            "This request was sent before but never answered: the server stopped, or the client disconnected. Check "
            "the ledger for its effects. To run it again, use a new key.",
            call=found["call"],
        )
    if found["body"] is None:
        raise HttpProblem(
            "not_kept",
            "This request was answered before, but its answer was not stored: it contained a secret or was very long. "
            "Look at its execution, or use a new key.",
            call=found["call"],
        )
    media = JSON if found["status"] < 400 else MEDIA_TYPE
    headers = {"Idempotency-Replayed": "true", "Cache-Control": "no-store"}
    if found["call"]:
        headers["Doorward-Call"] = found["call"]
    return Response(found["body"], found["status"], headers, media)


def _key_in_use() -> HttpProblem:
    return HttpProblem(
        "key_in_use",
        "A request with this Idempotency-Key is still running. Wait for its answer.",
        headers={"Retry-After": "1"},
    )


def _read_key(request: Request) -> str:
    """The hash of the request's key, or "" when it has none."""
    given = request.headers.getlist(HEADER)
    if not given:
        return ""
    if len(given) != 1 or not _KEY.fullmatch(given[0]):
        raise BadParams(
            f"Idempotency-Key must be one word of 1 to 200 visible characters; given {shorten(', '.join(given))}."
        )
    return hashlib.sha256(given[0].encode()).hexdigest()


def _key_owner(caller: Caller) -> str:
    """The owner of a key: a caller, with the reach of its credential."""
    rooms = "*" if caller.rooms is None else " ".join(sorted(caller.rooms))
    parts = (*principal_of(caller), caller.access.label, rooms)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
