"""Every way a request can end badly, as one tree.

    DoorwardError
    ├── Refused                    nothing ran
    │   ├── NotAuthenticated       nobody vouches for the caller
    │   ├── UnknownCommand         no such command, or not for this caller
    │   ├── BadParams              the parameters do not fit the command
    │   ├── NotPermitted           the room's recipe or the caller's access says no
    │   ├── TooFast                a limit per response, minute or second is used up
    │   ├── Looping                the same call for the third time in a minute
    │   ├── Overloaded             no free place to run or to wait
    │   ├── OutOfEnergy            the caller's pool is empty
    │   ├── NotApproved            no human said yes, or not to this
    │   ├── NotFound               what the call names does not exist for this caller
    │   ├── Conflict               it changed since, or it exists already
    │   ├── Withdrawn              somebody cancelled it while it waited for its turn
    │   ├── SandboxUnavailable     programs may not run here, or not confined as well as they must be
    │   └── LedgerUnavailable      the record could not be stored, so nothing started
    ├── Failed                     it started
    │   ├── CommandFailed          the command itself said so
    │   ├── TimedOut               it took longer than it may
    │   ├── Cancelled              the caller or an operator stopped it
    │   ├── Unreachable            something it needs did not answer
    │   ├── Interrupted            the process died in the middle
    │   ├── Unrecorded             it ran, but its record could not be stored
    │   └── Broken                 a defect of ours
    └── Unusable                   this installation cannot be used as it is (no call involved)

A message is one sentence that says what is wrong, what would be valid and what was given.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

Retry = Literal["never", "after_fix", "later"]
Effect = Literal["none", "done", "unknown"]


class DoorwardError(Exception):
    """Anything Doorward says no with; `str(error)` is the sentence for the user."""

    code: ClassVar[str] = "error"
    retry: Retry = "never"
    effect: ClassVar[Effect] = "none"

    def __init__(
        self, message: str, *, hint: str = "", retry_after: float | None = None, rule: str = "", result: Any = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.retry_after = retry_after
        if retry_after is not None:  # whoever says when to come back means that one may
            self.retry = "later"
        self.rule = rule
        self.result = result
        """What there is to show for a failure all the same, such as what a program wrote before it ended badly."""


class Refused(DoorwardError):
    code = "refused"


class NotAuthenticated(Refused):
    code = "not_authenticated"
    retry = "after_fix"


class UnknownCommand(Refused):
    code = "unknown_command"
    retry = "after_fix"


class BadParams(Refused):
    code = "bad_params"
    retry = "after_fix"


class NotPermitted(Refused):
    code = "not_permitted"


class TooFast(Refused):
    code = "too_fast"
    retry = "later"


class Looping(Refused):
    code = "looping"
    retry = "later"


class Overloaded(Refused):
    code = "overloaded"
    retry = "later"


class OutOfEnergy(Refused):
    code = "out_of_energy"
    retry = "later"


class NotApproved(Refused):
    code = "not_approved"


class NotFound(Refused):
    code = "not_found"
    retry = "after_fix"


class Conflict(Refused):
    code = "conflict"
    retry = "after_fix"


class Withdrawn(Refused):
    code = "withdrawn"


class SandboxUnavailable(Refused):
    code = "sandbox_unavailable"
    retry = "after_fix"


class LedgerUnavailable(Refused):
    code = "ledger_unavailable"
    retry = "later"


class Failed(DoorwardError):
    code = "failed"
    effect = "unknown"


class CommandFailed(Failed):
    code = "command_failed"
    retry = "after_fix"


class TimedOut(Failed):
    code = "timed_out"
    retry = "later"


class Cancelled(Failed):
    code = "cancelled"


class Unreachable(Failed):
    code = "unreachable"
    retry: Retry = "later"


class Interrupted(Failed):
    code = "interrupted"


class Unrecorded(Failed):
    code = "unrecorded"


class Broken(Failed):
    code = "broken"


DEFECT = "This request failed because of a defect in Doorward; the log has the details."
"""What a door says when something broke that should not; never more, since the rest is for the log."""


class Unusable(DoorwardError):
    """The home folder, a settings file or the machine is not fit for use; the message says what to do."""

    code = "unusable"
    retry = "after_fix"


def leaves(root: type[DoorwardError] = DoorwardError) -> list[type[DoorwardError]]:
    """The errors that are really raised, in the order of the tree; doors prove their maps against it."""
    children = [child for child in root.__subclasses__() if child.__module__ == __name__]
    return [leaf for child in children for leaf in leaves(child)] if children else [root]
