"""The permit: proof that a call may run. A test pins that `issue` is the only place that makes one."""

from __future__ import annotations

from doorward.core.model import Permit
from doorward.gate.recorder import Recorder
from doorward.gate.run import Run


async def issue(run: Run, recorder: Recorder) -> Permit:
    """Store the start of the call, where it must be stored, and permit the call. Uses its approval up.

    Conflict: the approval was used or withdrawn meanwhile. LedgerUnavailable: the start could not be stored.
    """
    admitted, approval = run.admitted, run.approval
    if run.records_start:
        await recorder.start(admitted, run.approval_id, *([approval.use] if approval else []))
    return Permit(
        admitted.call,
        admitted.ruling,
        admitted.timeout,
        admitted.reserved,
        effect=approval.effect if approval else None,
    )
