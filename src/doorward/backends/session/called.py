"""What one stage of the session shell came to: what it printed, what it complained of, and its exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.backends.session import exit_codes
from doorward.backends.session.exit_codes import NEVER_RAN, WAITS, WRONG_USE
from doorward.command import Blocks
from doorward.model import Outcome, Status

_PROGRAMS = ("sh/", "shell/")
"""Where programs, built-ins and scripts are. Only of these an exit code or a ticket in the result is read: in that of
any other command, such as a record somebody stored, it is what they wrote."""
_BASH = "bash"
_VIRTUAL = "vfs/"
"""Where commands are that do their work by others, and say when one of those waits."""
_encode = msgspec.json.Encoder().encode


class Called(msgspec.Struct, kw_only=True):
    name: str
    """The word that stood for it."""
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    command: str = ""
    status: Status = "done"
    call: str = ""
    code: str = ""
    message: str = ""
    retry_after: float | None = None
    """In how many seconds it may be asked for again, where it was refused only for now."""
    ticket: str = ""
    """The approval that it waits for; empty when it waits for none."""
    streamed: bool = False
    """Whether whoever watches has seen what it printed already."""
    leaves: bool = False
    """Whether the session is to be left."""

    @property
    def stops(self) -> bool:
        """Whether what stands behind it in the same pipe does not run: it never ran itself, or waits."""
        return bool(self.ticket) or self.exit_code in NEVER_RAN or self.status in ("refused", "parked")

    @property
    def is_bad(self) -> bool:
        """Whether it failed. A plain 1 without a complaint says no, as `grep`, `test` and `diff` do."""
        return self.status != "done" or self.exit_code > 1 or bool(self.exit_code and self.stderr)


class StageFault(Exception):
    """A stage that cannot be called as it stands: the sentence and the exit code."""

    def __init__(self, message: str, exit_code: int = WRONG_USE, ticket: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
        self.ticket = ticket


def faulty(name: str, fault: StageFault) -> Called:
    """A stage that was never called."""
    return Called(
        name=name,
        stderr=complaint(name, fault.message),
        exit_code=fault.exit_code,
        status="refused",
        ticket=fault.ticket,
    )


def complaint(name: str, sentence: str) -> str:
    return f"{name}: {' '.join(sentence.split())}\n"


def called(name: str, outcome: Outcome) -> Called:
    """How a stage ended, from the outcome of its call."""
    message = outcome.message.removeprefix(f"{outcome.command}: ")
    made = Called(
        name=name,
        command=outcome.command,
        status=outcome.status,
        call=outcome.call,
        code=outcome.code,
        message=message,
        retry_after=outcome.retry_after if outcome.status == "refused" else None,
        ticket=outcome.ticket or _ticket(outcome),
    )
    if _is_programs(outcome):
        _as_program(made, outcome.result)
    elif outcome.status == "done":
        made.stdout = _printed(outcome)
    if outcome.status == "parked":
        made.exit_code = WAITS
        made.stderr += complaint(name, f"{message} Its ticket is {outcome.ticket}. {outcome.hint}")
    elif made.ticket:
        made.exit_code = WAITS
        if outcome.status != "done":  # a built-in says so itself
            made.stderr += complaint(name, f"{message} {outcome.hint}")
    elif outcome.status == "refused" or (outcome.status == "failed" and not made.exit_code):
        made.exit_code = exit_codes.of(outcome.code, refused=outcome.status == "refused")
        made.stderr += complaint(name, message)
    return made


def _is_programs(outcome: Outcome) -> bool:
    """Whether this is how a program or a built-in ended."""
    command, result = outcome.command, outcome.result
    if command != _BASH and not command.startswith(_PROGRAMS):
        return False
    return isinstance(result, dict) and "exitCode" in result and isinstance(result.get("stdout"), str)


def _as_program(made: Called, result: Mapping[str, Any]) -> None:
    made.stdout, made.stderr = result["stdout"], result.get("stderr", "")
    made.exit_code = result["exitCode"] or 0
    made.leaves = bool(result.get("leaves"))
    if made.stderr and not made.stderr.endswith("\n"):
        made.stderr += "\n"
    missing = result.get("stdoutBytes", 0) - len(made.stdout.encode("utf-8", "replace"))
    if missing > 0 and "\\x" not in made.stdout:
        made.stderr += complaint(made.name, f"its output was cut: {missing} bytes more were written than are kept")
        made.exit_code = made.exit_code or 1


def _ticket(outcome: Outcome) -> str:
    """The approval that a call inside this one waits for."""
    says = outcome.command.startswith((*_PROGRAMS, _VIRTUAL)) and isinstance(outcome.result, dict)
    return str(outcome.result.get("ticket", "")) if says else ""


def _printed(outcome: Outcome) -> str:
    """The result of any other command: a text as it is, everything else as JSON."""
    result = outcome.result
    if result is None:
        return ""
    text = outcome.text if type(result) is Blocks else result
    if not isinstance(text, str):
        text = msgspec.json.format(_encode(result), indent=2).decode()
    return text if text.endswith("\n") or not text else f"{text}\n"
