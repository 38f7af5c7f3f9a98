"""The outcome of a call, and the notices while it runs, in the server's wire format."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from doorward.core.errors import DoorwardError, Effect, Retry, concrete_errors

_NOT_RATE_LIMITS = ("looping", "not_approved")
"""Refusals with a `retry_after` that are not rate limits."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The outcome of a call."""

    status: Literal["done", "refused", "failed", "parked"]
    code: str
    message: str = ""
    call: str = ""
    """Id of the call: its execution, and the key of its ledger records."""
    command: str = ""
    result: Any = None
    text: str = ""
    """The result as text for a model."""
    retry: Retry = "never"
    effect: Effect = "none"
    """Whether anything changed; `unknown` when that cannot be determined."""
    hint: str = ""
    rule: str = ""
    retry_after: float | None = None
    ticket: str = ""
    """Resumes the call: after an approval, or after a limit stopped an approved call."""
    cached: bool = False
    dry_run: bool = False
    truncated: int = 0
    """Full size in characters when the text was truncated, else 0."""

    @property
    def done(self) -> bool:
        return self.status == "done"

    @property
    def parked(self) -> bool:
        return self.status == "parked"

    def error(self) -> DoorwardError | None:
        """Return the error that `run` raises for this outcome; None when it is done."""
        if self.done:
            return None
        if self.parked:
            return Parked(self)
        error = error_from_code(
            self.code, self.message, hint=self.hint, retry_after=self.retry_after, rule=self.rule, result=self.result
        )
        return attach_ticket(error, self.ticket) if self.ticket else error

    def is_rate_limited(self) -> bool:
        """Whether a rate limit refused it, with a time to retry."""
        return self.status == "refused" and self.retry_after is not None and self.code not in _NOT_RATE_LIMITS


class Parked(DoorwardError):
    """The call is waiting for approval. `ticket` resumes it once approved; `outcome.result` says what would run."""

    code = "approval_needed"
    retry = "later"

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message, hint=outcome.hint, rule=outcome.rule, result=outcome.result)
        self.outcome = outcome
        self.ticket = outcome.ticket


class Started(msgspec.Struct, frozen=True, tag_field="type", tag="started"):
    """The call was accepted. A queued call sends this twice: when it is queued, and when it starts."""

    execution: str
    command: str
    queued: bool = False


class Output(msgspec.Struct, frozen=True, tag_field="type", tag="output"):
    stream: Literal["stdout", "stderr"]
    text: str


class Progress(msgspec.Struct, frozen=True, tag_field="type", tag="progress"):
    fraction: float | None
    """Fraction done, from 0 to 1; None when unknown."""
    message: str = ""


Notice = Started | Output | Progress


class ServerEvent(msgspec.Struct, frozen=True):
    """An event on the server."""

    name: str
    """Such as `approval:requested`."""
    data: dict[str, Any]
    at: str = ""
    id: str = ""


def attach_ticket(error: DoorwardError, ticket: str) -> DoorwardError:
    """Attach the ticket to an error that kept an approved call from running.

    Resuming again is safe: an approval is valid for one run, so a call that did run is not run twice.
    """
    vars(error)["ticket"] = ticket
    how = f"The ticket is still valid: resume({ticket!r}) runs the approved call, unless it has already run."
    if how not in error.hint:
        error.hint = f"{error.hint} {how}".strip()
    return error


_ERRORS_BY_CODE = {kind.code: kind for kind in concrete_errors()}


def error_from_code(
    code: str,
    message: str,
    *,
    otherwise: str = "broken",
    hint: str = "",
    retry_after: float | None = None,
    rule: str = "",
    result: Any = None,
) -> DoorwardError:
    """Rebuild an error from the server's response; an unknown code becomes `otherwise`."""
    kind = _ERRORS_BY_CODE.get(code) or _ERRORS_BY_CODE[otherwise]
    return kind(message, hint=hint, retry_after=retry_after, rule=rule, result=result)
