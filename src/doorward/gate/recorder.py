"""Steps 7 and 10: the ledger records of a call, before it runs and after it ended."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from doorward.config.settings import Settings
from doorward.core import redact
from doorward.core.clock import Clock
from doorward.core.command import Command
from doorward.core.errors import Broken, Conflict, LedgerUnavailable, UnknownCommand, Unrecorded
from doorward.core.escape_invisible import to_storable
from doorward.core.model import ANONYMOUS, Admitted, Call, Caller, Request
from doorward.core.registry import Registry
from doorward.gate.energy_pools import Charge
from doorward.gate.run import Run
from doorward.store.ledger.anonymous_refusals import AnonymousRefusals
from doorward.store.ledger.record import Entry, Phase, with_origin
from doorward.store.sqlite import Statement, Store

log = logging.getLogger(__name__)

_MOST_PARAMS = 8_000
_MOST_NOTE = 500
_MOST_READ = 10_000
_encode = msgspec.json.Encoder().encode


class Recorder:
    def __init__(
        self, store: Store, anonymous: AnonymousRefusals, registry: Registry, clock: Clock, settings: Settings
    ) -> None:
        self._store = store
        self._anonymous = anonymous
        self._registry = registry
        self._clock = clock
        self._largest = settings.ledger.largest_value

    async def start(self, admitted: Admitted, approval: str, *also: Statement) -> None:
        """Store the start of a call. When that fails, the call does not begin."""
        entry = self._entry(admitted, approval, "start", "started", "", "", 0.0, 0, self._params(admitted.call))
        await self._store.write(*also, entries=[entry])

    async def end(
        self, run: Run, *also: Statement, status: str, code: str, note: str, charge: Charge | None, duration: int
    ) -> None:
        """Store the end of a call and charge it, in one write.

        When that fails the answer does not leave, and the end of a stored start is owed.
        """
        write = self._store.write if charge is None else charge.write
        spent = 0.0 if charge is None else charge.amount
        started = run.records_start
        params = "" if started else self._params(run.call)
        phase: Phase = "end" if started else "whole"
        entry = self._entry(run.admitted, run.approval_id, phase, status, code, note, spent, duration, params)
        try:
            await write(*also, entries=[entry], durable=started, owed=started)
        except LedgerUnavailable as error:
            if not started:
                raise
            raise Unrecorded(
                f"{run.call.command.name} ran, but its end could not be recorded: {error.message}", hint=error.hint
            ) from error
        except (Conflict, Broken) as refusal:
            log.warning("statements stored with the end of call %s failed: %s", run.call.id, refusal)
            if charge is not None or not started:
                await write(entries=[] if started else [entry], durable=False)

    async def refused(
        self,
        request: Request,
        caller: Caller | None,
        call: Call | None,
        *also: Statement,
        status: str,
        code: str,
        note: str,
        rule: str,
        approval: str = "",
    ) -> None:
        """Store a request that did not run, as far as the gate got with it."""
        who = caller or ANONYMOUS
        given = call.params if call else request.params if request.params is not None else dict(request.args or ())
        command = call.command if call else self._named_command(request.command)
        known = (
            call.known_secrets if call else (*request.known_secrets, *(command.secrets_in(given) if command else ()))
        )
        entry = Entry(
            at=self._clock.wall_us(),
            phase="whole",
            call=call.id if call else "",
            tenant=who.tenant,
            caller=who.id,
            kind=who.kind,
            behalf=who.on_behalf_of,
            door=request.door,
            room=_short(redact.text(request.room)),
            command=command.name if command else _short(redact.text(request.command)),
            tier=command.facts.tier if command else "",
            params=self._redacted(given, command.secret if command else given, known),
            digest=call.digest if call else "",
            rule=rule,
            approval=to_storable(redact.text(approval)),
            reserved=0.0,
            spent=0.0,
            status=status,
            code=code,
            note=with_origin(
                _note(note, redact.collect_secrets(given, command.secret if command else (), known)),
                request.keeper_call,
            ),
            duration=0,
        )
        await self._store.write(*also, entries=[entry], durable=bool(also))

    async def refused_anonymously(self, request: Request, *, code: str, note: str) -> None:
        """Store or count a request without valid credentials. Nothing of it is kept but its command and room.

        Raises TooFast if its address makes too many of them.
        """
        command = self._named_command(request.command)
        entry = Entry(
            at=self._clock.wall_us(),
            phase="whole",
            call="",
            tenant=ANONYMOUS.tenant,
            caller=ANONYMOUS.id,
            kind=ANONYMOUS.kind,
            behalf="",
            door=request.door,
            room=_short(redact.text(request.room)),
            command=command.name if command else _short(redact.text(request.command)),
            tier=command.facts.tier if command else "",
            params="{}",
            digest="",
            rule="",
            approval="",
            reserved=0.0,
            spent=0.0,
            status="refused",
            code=code,
            note=_note(note, request.known_secrets),
            duration=0,
        )
        await self._anonymous.record(entry, request.address)

    def _named_command(self, name: str) -> Command | None:
        """The command that a refused request names. It says which parameters are secret; without it, all are."""
        try:
            return self._registry.resolve(name, ())
        except UnknownCommand:
            return None

    def _entry(
        self,
        admitted: Admitted,
        approval: str,
        phase: Phase,
        status: str,
        code: str,
        note: str,
        spent: float,
        duration: int,
        params: str,
    ) -> Entry:
        call = admitted.call
        caller = call.caller
        return Entry(
            at=self._clock.wall_us(),
            phase=phase,
            call=call.id,
            tenant=caller.tenant,
            caller=caller.id,
            kind=caller.kind,
            behalf=caller.on_behalf_of,
            door=call.door,
            room=call.room,
            command=call.command.name,
            tier=call.command.facts.tier,
            params=params,
            digest=call.digest,
            rule=admitted.ruling.rule,
            approval=approval,
            reserved=admitted.reserved,
            spent=spent,
            status=status,
            code=code,
            note=with_origin(_note(note, call.secrets), call.keeper_call) if note or call.keeper_call else "",
            duration=duration,
        )

    def _params(self, call: Call) -> str:
        return self._redacted(call.params, call.command.secret, call.known_secrets)

    def _redacted(self, given: Mapping[str, Any], secret: Collection[str], known: Collection[str]) -> str:
        if not given:
            return "{}"
        hidden = redact.params(given, secret, known, largest=self._largest)
        try:
            text = _encode(hidden).decode()
        except (UnicodeEncodeError, TypeError):
            text = _encode({"unreadable": to_storable(repr(hidden))[:_MOST_PARAMS]}).decode()
        if len(text) <= _MOST_PARAMS:
            return text
        return _encode({"keys": [_short(key) for key in list(hidden)[:50]], "characters": len(text)}).decode()


def _short(text: str) -> str:
    return to_storable(text[:200])


def _note(text: str, known: Sequence[str]) -> str:
    """A sentence that may be recorded. Secrets are redacted before it is cut, since half a secret is not recognised."""
    if not text:
        return ""
    return to_storable(redact.text(text[:_MOST_READ], known)[:_MOST_NOTE])
