"""Step 11: publish events, once the record is stored."""

from __future__ import annotations

from doorward.core.clock import Clock
from doorward.core.events import ApprovalRequested, Bus, CommandExecuted, ExecutionEnded
from doorward.core.model import Call, Outcome
from doorward.gate.approval import Approval
from doorward.gate.executions.execution import Execution


class Publisher:
    def __init__(self, events: Bus, clock: Clock) -> None:
        self._events = events
        self._clock = clock

    def answered(self, call: Call, outcome: Outcome, seconds: float) -> None:
        self._events.publish(
            CommandExecuted(
                tenant=call.caller.tenant,
                at=self._clock.now(),
                call=call.id,
                caller=call.caller.id,
                kind=call.caller.kind,
                room=call.room,
                door=call.door,
                command=call.command.name,
                status=outcome.status,
                code=outcome.code,
                seconds=seconds,
            )
        )

    def ended(self, execution: Execution, seconds: float) -> None:
        """Publish the end of an execution whose start was published."""
        if not execution.is_announced:
            return
        call = execution.call
        self._events.publish(
            ExecutionEnded(
                tenant=call.caller.tenant,
                at=self._clock.now(),
                execution=call.id,
                caller=call.caller.id,
                room=call.room,
                command=call.command.name,
                state=execution.state,
                seconds=seconds,
            )
        )

    def parked(self, approval: Approval) -> None:
        self._events.publish(
            ApprovalRequested(
                tenant=approval.tenant,
                at=approval.created_at,
                approval=approval.id,
                room=approval.room,
                command=approval.command,
                caller=approval.caller,
                behalf=approval.behalf,
                expires_at=approval.expires_at,
            )
        )
