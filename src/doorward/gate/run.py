"""One admitted call between its approval and its end: everything that the last steps of the gate share."""

from __future__ import annotations

import msgspec

from doorward.core.model import Admitted, Call
from doorward.gate.approver import SettledApproval
from doorward.gate.energy import Reservation
from doorward.gate.executions.execution import Execution
from doorward.gate.slots import NestedPlace, Place


class Run(msgspec.Struct, frozen=True):
    admitted: Admitted
    approval: SettledApproval | None
    """The approval that this call uses up; None when it needs none."""
    execution: Execution
    place: Place | NestedPlace
    reservation: Reservation
    may_cache: bool
    """Whether the caller accepts a cached result."""

    @property
    def call(self) -> Call:
        return self.admitted.call

    @property
    def approval_id(self) -> str:
        return self.approval.id if self.approval else ""

    @property
    def records_start(self) -> bool:
        """Whether the start is stored before the call runs. A read without approval leaves one record, at its end."""
        return self.approval is not None or not self.call.command.reads_only
