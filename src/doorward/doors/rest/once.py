"""Idempotency keys: whoever asks again with the same key gets the first answer again, and nothing runs twice.

Only what ran is remembered. A refusal changed nothing, so the same may be asked again; an answer that holds a secret,
or is very long, is not kept, and asking again says so. A command that takes a key itself, such as room/say, does
nothing twice by that, so it is asked again where no answer is kept, be it that the server died in the middle. A kept
answer is given to a credential that reaches just as far as the first, and only while the gate would still let it ask.
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

from doorward import redact
from doorward.backends.context import Services
from doorward.command import shortened
from doorward.doors.live import HUNG_UP
from doorward.doors.problem import MEDIA_TYPE
from doorward.doors.rest.problems import HttpProblem
from doorward.doors.rest.reading import JSON
from doorward.doors.rest.sse import principal_of
from doorward.doors.statuses import HTTP_STATUS
from doorward.errors import BadParams, Conflict, DoorwardError, LedgerUnavailable
from doorward.executions.notices import Notice, Started, Watch
from doorward.gate.gate import Gate
from doorward.home import Home
from doorward.model import Caller, Outcome
from doorward.model import Request as Asked
from doorward.store import answers as sql

log = logging.getLogger(__name__)

HEADER = "idempotency-key"
LONGEST_BODY = 200_000
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


class Once:
    def __init__(self, gate: Gate, services: Services) -> None:
        self._gate = gate
        self._approvals = services.approvals
        self._registry = services.registry
        self._store = services.store
        self._clock = services.clock
        self._kept = sql.kept_seconds(services.settings.limits)
        self._secret = Home(services.home).key()
        self._running: set[tuple[str, str]] = set()

    async def answer(
        self,
        request: Request,
        asked: Asked,
        body: bytes,
        outcome: Callable[[Asked, Watch | None], Awaitable[Outcome | None]],
        shown: Callable[[Outcome | None], Response],
    ) -> Response:
        """The answer to a request, or the one that was given before to the same request with the same key."""
        key = _key(request)
        if not key:
            return shown(await outcome(asked, None))
        asked, repeatable = self._repeatable(asked, key)
        asker = self._gate.caller(asked.credential)
        caller, fingerprint = _who(asker), self._fingerprint(request, body)
        if (caller, key) in self._running:
            raise _in_use()
        self._running.add((caller, key))
        try:
            before = await self._before(caller, key, fingerprint)
            if before is not None and not await self._holds(asker, before):
                await self._store.write(sql.release(caller, key))
                before = await self._before(caller, key, fingerprint)
            if before is not None and not (repeatable and before["body"] is None):
                refused = await self._refusal(asker, asked)
                return _again(before) if refused is None else shown(refused)
            began = _Began()
            ended = await outcome(asked, began.watch)
            response = shown(ended)
            await self._remember(caller, key, ended, began.call, response)
            return response
        finally:
            self._running.discard((caller, key))

    def _repeatable(self, asked: Asked, key: str) -> tuple[Asked, bool]:
        """What is asked, with the key in it where its command takes one: that can be asked again at any time."""
        try:
            name = self._registry.resolve(asked.command).facts.once_by
        except DoorwardError:
            name = ""
        if not name or asked.ticket:
            return asked, False
        return msgspec.structs.replace(asked, params={name: key, **(asked.params or {})}), True

    def _fingerprint(self, request: Request, body: bytes) -> str:
        """Exactly what was asked, as a keyed hash: nobody can guess a password in it from the database."""
        digest = hashlib.blake2b(key=self._secret, digest_size=32)
        for part in (request.method.encode(), request.url.path.encode(), str(request.url.query).encode(), body):
            digest.update(len(part).to_bytes(8, "big") + part)
        return digest.hexdigest()

    def not_here(self, request: Request) -> None:
        """Refuse a key where no answer could be given again."""
        if _key(request):
            raise BadParams("An answer that is streamed cannot be given again; leave out the Idempotency-Key.")

    async def _before(self, caller: str, key: str, fingerprint: str) -> dict[str, Any] | None:
        """What is known of the same request before; None when there was none, and then the key is taken for it."""
        now = self._clock.now()
        found = await sql.find(self._store, caller, key, now - self._kept)
        if found is None:
            try:
                await self._store.write(*sql.begin(caller, key, fingerprint, now, now - self._kept))
            except Conflict as error:
                raise _in_use() from error
            return None
        if found["asked"] != fingerprint:
            raise HttpProblem("key_reused", "This Idempotency-Key was used for another request; take a new key.")
        return found

    async def _holds(self, caller: Caller, before: dict[str, Any]) -> bool:
        """Whether an answer is still worth giving: a ticket that can lead to nothing any more is not."""
        if before["status"] != HTTP_STATUS["approval_needed"] or before["body"] is None:
            return True
        ticket = msgspec.json.decode(before["body"], type=_Parked).ticket
        return (await self._approvals.find(caller.tenant, ticket)).state in ("pending", "approved")

    async def _refusal(self, caller: Caller, asked: Asked) -> Outcome | None:
        """How the gate refuses what it would not let this caller ask for any more, with its record; else None.

        The gate is asked itself only once it is known that it refuses, and with nothing awaited in between that could
        change its mind; what came with a ticket cannot run again anyway, since the ticket is spent.
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

    async def _remember(self, caller: str, key: str, outcome: Outcome | None, began: str, response: Response) -> None:
        """What was answered; when that cannot be stored, a second request is told that it is not kept.

        Whoever hung up has no answer, but the call that began for it.
        """
        body = bytes(response.body)
        text = body.decode()
        plain = len(body) <= LONGEST_BODY and redact.text(text) == text
        if outcome is not None and outcome.status == "refused":
            statement = sql.release(caller, key)
        else:
            call = outcome.call if outcome is not None else began
            keep = body if plain and outcome is not None else None
            statement = sql.finish(caller, key, call, response.status_code, keep)
        try:
            await self._store.write(statement, durable=False)
        except LedgerUnavailable as error:
            log.warning("an answer could not be kept for its key: %s", error)


class _Began:
    """Hears which call a request became."""

    def __init__(self) -> None:
        self.call = ""

    def watch(self, notice: Notice) -> None:
        if isinstance(notice, Started):
            self.call = notice.execution


class _Parked(msgspec.Struct, frozen=True):
    """What must be known of an answer that says to wait for people."""

    ticket: str


def _again(found: dict[str, Any]) -> Response:
    """The answer that was given before."""
    if found["body"] is None and (not found["call"] or found["status"] == HUNG_UP):
        raise HttpProblem(
            "not_kept",
            "This request was made before and never answered: the server ended, or its caller hung up. If it may have "
            "changed anything, the ledger says so; to ask again, take a new key.",
            call=found["call"],
        )
    if found["body"] is None:
        raise HttpProblem(
            "not_kept",
            "This request was answered before, and its answer is not kept: it held a secret, or was very long. Look at "
            "its execution, or ask with a new key.",
            call=found["call"],
        )
    media = JSON if found["status"] < 400 else MEDIA_TYPE
    headers = {"Idempotency-Replayed": "true", "Cache-Control": "no-store"}
    if found["call"]:
        headers["Doorward-Call"] = found["call"]
    return Response(found["body"], found["status"], headers, media)


def _in_use() -> HttpProblem:
    return HttpProblem(
        "key_in_use",
        "A request with this Idempotency-Key is on its way; wait for its answer.",
        headers={"Retry-After": "1"},
    )


def _key(request: Request) -> str:
    """The hash of the key that a request names, or "" when it names none."""
    given = request.headers.getlist(HEADER)
    if not given:
        return ""
    if len(given) != 1 or not _KEY.fullmatch(given[0]):
        raise BadParams(
            f"An Idempotency-Key is one word of 1 to 200 visible characters; given {shortened(', '.join(given))}."
        )
    return hashlib.sha256(given[0].encode()).hexdigest()


def _who(caller: Caller) -> str:
    """Whose a key is: of one caller, by credentials that reach equally far."""
    rooms = "*" if caller.rooms is None else " ".join(sorted(caller.rooms))
    parts = (*principal_of(caller), caller.access.label, rooms)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
