"""Every error of a request, as one tree.

    DoorwardError
    ├── Refused                    nothing ran
    │   ├── NotAuthenticated       no valid credentials
    │   ├── UnknownCommand         no such command for this caller
    │   ├── BadParams              the parameters do not fit the command
    │   ├── NotPermitted           denied by the room's recipe or the caller's access
    │   ├── TooFast                a limit per response, minute or second is used up
    │   ├── Looping                the same call again and again
    │   ├── Overloaded             too many calls running and queued
    │   ├── OutOfEnergy            the caller's pool is empty
    │   ├── NotApproved            denied, expired, or approved for another call
    │   ├── NotFound               the named thing does not exist for this caller
    │   ├── Conflict               it has changed meanwhile, or exists already
    │   ├── Withdrawn              cancelled while it was queued
    │   ├── SandboxUnavailable     programs cannot be confined as required
    │   └── LedgerUnavailable      the record could not be stored, so nothing started
    ├── Failed                     it started
    │   ├── CommandFailed          the command reported a failure
    │   ├── TimedOut               it reached its time limit
    │   ├── Cancelled              stopped by a person or the caller
    │   ├── Unreachable            a service it needs did not answer
    │   ├── Interrupted            the server stopped while it ran
    │   ├── Unrecorded             it ran, but its record could not be stored
    │   └── Broken                 a defect in Doorward
    └── Unusable                   the installation itself is unusable (no call involved)

A message is one sentence that says what is wrong, what would be valid and what was given.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

Retry = Literal["never", "after_fix", "later"]
Effect = Literal["none", "done", "unknown"]


class DoorwardError(Exception):
    """Base of all errors for users. `str(error)` is the sentence they read."""

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
        if retry_after is not None:  # a time to retry implies that a retry helps
            self.retry = "later"
        self.rule = rule
        self.result = result
        """A partial result, such as the output of a failed program."""


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


DEFECT = "This request failed because of a defect in Doorward. The log has the details."
"""The only sentence a door gives for an unexpected exception. The details go to the log."""


class Unusable(DoorwardError):
    """The home folder, a settings file or the machine cannot be used. The message says what to do."""

    code = "unusable"
    retry = "after_fix"


def concrete_errors(root: type[DoorwardError] = DoorwardError) -> list[type[DoorwardError]]:
    """The concrete errors, in the order of the tree. Tests prove that every door maps all of them."""
    children = [child for child in root.__subclasses__() if child.__module__ == __name__]
    return [leaf for child in children for leaf in concrete_errors(child)] if children else [root]
