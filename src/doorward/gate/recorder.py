"""Steps 7 and 10: what is written down before a call runs and after it ended."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from doorward import redact
from doorward.clock import Clock
from doorward.command import Command
from doorward.errors import Broken, Conflict, LedgerUnavailable, UnknownCommand, Unrecorded
from doorward.model import ANONYMOUS, Call, Caller, Permit, Request
from doorward.record import Entry, Phase, thought
from doorward.registry import Registry
from doorward.settings import Settings
from doorward.store.sqlite import Statement, Store
from doorward.visible import storable

log = logging.getLogger(__name__)

_MOST_PARAMS = 8_000
_MOST_NOTE = 500
_MOST_READ = 10_000
_encode = msgspec.json.Encoder().encode


class Recorder:
    def __init__(self, store: Store, registry: Registry, clock: Clock, settings: Settings) -> None:
        self._store = store
        self._registry = registry
        self._clock = clock
        self._largest = settings.ledger.largest_value

    @staticmethod
    def records_start(permit: Permit) -> bool:
        """Reads leave one record, before their answer; whatever may change something leaves its start as well."""
        return bool(permit.approval) or not permit.call.command.reads_only

    async def start(self, permit: Permit, *also: Statement) -> None:
        """Store that this call begins. When that fails, nothing begins."""
        entry = self._entry(permit, "start", "started", "", "", 0.0, 0, self._params(permit.call))
        await self._store.write(*also, entries=[entry])

    async def end(
        self, permit: Permit, *also: Statement, status: str, code: str, note: str, spent: float, duration: int
    ) -> None:
        """Store how this call ended. When that fails the answer does not leave, and the end of a start is owed."""
        started = self.records_start(permit)
        params = "" if started else self._params(permit.call)
        phase: Phase = "end" if started else "whole"
        entry = self._entry(permit, phase, status, code, note, spent, duration, params)
        try:
            await self._store.write(*also, entries=[entry], durable=started, owed=started)
        except LedgerUnavailable as error:
            if not started:
                raise
            raise Unrecorded(
                f"{permit.call.command.name} ran, but how it ended could not be recorded: {error.message}",
                hint=error.hint,
            ) from error
        except (Conflict, Broken) as refusal:
            log.warning("what call %s leaves beside its record was not stored: %s", permit.call.id, refusal)
            if not started:
                await self._store.write(entries=[entry], durable=False)

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
        """Store a request that did not run, as far as it was understood."""
        who = caller or ANONYMOUS
        given = call.params if call else request.params if request.params is not None else dict(request.args or ())
        command = call.command if call else self._meant(request.command)
        known = call.hides if call else (*request.hides, *(command.secrets_in(given) if command else ()))
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
            approval=storable(redact.text(approval)),
            reserved=0.0,
            spent=0.0,
            status=status,
            code=code,
            note=thought(
                _note(note, redact.secrets(given, command.secret if command else (), known)), request.thought_in
            ),
            duration=0,
        )
        await self._store.write(*also, entries=[entry], durable=bool(also))

    def _meant(self, name: str) -> Command | None:
        """The command of a request that was refused early; it says which parameters are secret. None: all may be."""
        try:
            return self._registry.resolve(name, ())
        except UnknownCommand:
            return None

    def _entry(
        self,
        permit: Permit,
        phase: Phase,
        status: str,
        code: str,
        note: str,
        spent: float,
        duration: int,
        params: str,
    ) -> Entry:
        call = permit.call
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
            rule=permit.ruling.rule,
            approval=permit.approval,
            reserved=permit.reserved,
            spent=spent,
            status=status,
            code=code,
            note=thought(_note(note, call.secrets), call.thought_in) if note or call.thought_in else "",
            duration=duration,
        )

    def _params(self, call: Call) -> str:
        return self._redacted(call.params, call.command.secret, call.hides)

    def _redacted(self, given: Mapping[str, Any], secret: Collection[str], known: Collection[str]) -> str:
        if not given:
            return "{}"
        hidden = redact.params(given, secret, known, largest=self._largest)
        try:
            text = _encode(hidden).decode()
        except (UnicodeEncodeError, TypeError):
            text = _encode({"unreadable": storable(repr(hidden))[:_MOST_PARAMS]}).decode()
        if len(text) <= _MOST_PARAMS:
            return text
        return _encode({"keys": [_short(key) for key in list(hidden)[:50]], "characters": len(text)}).decode()


def _short(text: str) -> str:
    return storable(text[:200])


def _note(text: str, known: Sequence[str]) -> str:
    """A sentence as it may be recorded: cut only once its secrets are hidden, since half a secret looks like none."""
    if not text:
        return ""
    return storable(redact.text(text[:_MOST_READ], known)[:_MOST_NOTE])
