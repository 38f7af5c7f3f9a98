"""How a call ended, and what is told on its way, as the server writes them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from doorward.errors import DoorwardError, Effect, Retry, leaves

_NO_LIMITS = ("looping", "not_approved")
"""Refusals that may say when to come back, and are about something else than how much one asks for."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How a call ended."""

    status: Literal["done", "refused", "failed", "parked"]
    code: str
    message: str = ""
    call: str = ""
    """Its id: the execution, and the name of its records in the ledger."""
    command: str = ""
    result: Any = None
    text: str = ""
    """The result as a model reads it."""
    retry: Retry = "never"
    effect: Effect = "none"
    """Whether anything changed; `unknown` when nobody can say."""
    hint: str = ""
    rule: str = ""
    retry_after: float | None = None
    ticket: str = ""
    """What to come back with: for a parked call once a person has said yes, and for one that a limit stopped then."""
    cached: bool = False
    dry_run: bool = False
    truncated: int = 0
    """The full size in characters when the text was cut, else 0."""

    @property
    def done(self) -> bool:
        return self.status == "done"

    @property
    def parked(self) -> bool:
        return self.status == "parked"

    def error(self) -> DoorwardError | None:
        """Why it is not done, as the error that `run` raises for it; None when it is done."""
        if self.done:
            return None
        if self.parked:
            return Parked(self)
        error = told(
            self.code, self.message, hint=self.hint, retry_after=self.retry_after, rule=self.rule, result=self.result
        )
        return with_ticket(error, self.ticket) if self.ticket else error

    def limited(self) -> bool:
        """Whether a limit refused it that says when to come back."""
        return self.status == "refused" and self.retry_after is not None and self.code not in _NO_LIMITS


class Parked(DoorwardError):
    """The call waits for a person. `outcome.ticket` resumes it after a yes; `outcome.result` says what would run."""

    code = "approval_needed"
    retry = "later"

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message, hint=outcome.hint, rule=outcome.rule, result=outcome.result)
        self.outcome = outcome
        self.ticket = outcome.ticket


class Started(msgspec.Struct, frozen=True, tag_field="type", tag="started"):
    """The call was let in. One that has to wait is told of twice: when it waits, and when it begins."""

    execution: str
    command: str
    queued: bool = False


class Output(msgspec.Struct, frozen=True, tag_field="type", tag="output"):
    stream: Literal["stdout", "stderr"]
    text: str


class Progress(msgspec.Struct, frozen=True, tag_field="type", tag="progress"):
    fraction: float | None
    """How much is done, from 0 to 1; None when nobody can know."""
    message: str = ""


Notice = Started | Output | Progress


class Happened(msgspec.Struct, frozen=True):
    """Something happened on the server."""

    name: str
    """Such as `approval:requested`."""
    data: dict[str, Any]
    at: str = ""
    id: str = ""


def with_ticket(error: DoorwardError, ticket: str) -> DoorwardError:
    """An error that kept an approved call from running, with the `ticket` that still resumes it, as `Parked` has one.

    Trying twice is safe: an approval is good for one run, so what did run is not run again.
    """
    vars(error)["ticket"] = ticket
    how = f"The ticket still holds: resume({ticket!r}) runs what a person approved, if it did not run yet."
    if how not in error.hint:
        error.hint = f"{error.hint} {how}".strip()
    return error


_KINDS = {kind.code: kind for kind in leaves()}


def told(
    code: str,
    message: str,
    *,
    otherwise: str = "broken",
    hint: str = "",
    retry_after: float | None = None,
    rule: str = "",
    result: Any = None,
) -> DoorwardError:
    """An error as the server told it; one with a code that this version does not know is taken for `otherwise`."""
    kind = _KINDS.get(code) or _KINDS[otherwise]
    return kind(message, hint=hint, retry_after=retry_after, rule=rule, result=result)
