"""Requests that do not run: refused, or parked until a person approves them. Both leave a record."""

from __future__ import annotations

from doorward.core.errors import LedgerUnavailable, Looping, Refused, TooFast
from doorward.core.model import Outcome
from doorward.gate import outcomes
from doorward.gate.approver import Parked
from doorward.gate.progress import Progress
from doorward.gate.publisher import Publisher
from doorward.gate.recorder import Recorder
from doorward.gate.resolver import Resolver


class Refusals:
    def __init__(self, recorder: Recorder, publisher: Publisher, resolver: Resolver) -> None:
        self._recorder = recorder
        self._publisher = publisher
        self._resolver = resolver

    async def refuse(self, progress: Progress, refusal: Refused) -> Outcome:
        request, caller, call = progress.request, progress.caller, progress.call
        note = "" if isinstance(refusal, Looping) else refusal.message  # a loop's message quotes a result
        try:
            if progress.is_anonymous:
                await self._recorder.refused_anonymously(request, code=refusal.code, note=note)
            else:
                await self._recorder.refused(
                    request,
                    caller,
                    call,
                    status="refused",
                    code=refusal.code,
                    note=note,
                    rule=refusal.rule,
                    approval=request.ticket[:64],
                )
        except (LedgerUnavailable, TooFast) as error:
            refusal = error
        outcome = outcomes.refused(refusal, call, self._resolver.named(caller, request, refusal))
        if call is not None and not isinstance(refusal, LedgerUnavailable):
            self._publisher.answered(call, outcome, 0.0)
        return outcome

    async def park(self, progress: Progress, parked: Parked) -> Outcome:
        approval, call = parked.approval, progress.call
        if call is None:
            raise TypeError("only a resolved call can be parked")
        try:
            await self._recorder.refused(
                progress.request,
                progress.caller,
                call,
                parked.store,
                status="parked",
                code="approval_needed",
                note=outcomes.waiting(approval),
                rule=parked.rule,
                approval=approval.id,
            )
        except LedgerUnavailable as error:
            return outcomes.refused(error, call, progress.request)
        self._publisher.parked(approval)
        return outcomes.parked(call.id, approval, parked.rule)
