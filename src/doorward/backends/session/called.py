"""The result of one stage of the session shell: output, errors and exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.backends.session import exit_codes
from doorward.backends.session.exit_codes import NEVER_RAN, WAITS, WRONG_USE
from doorward.command import Blocks
from doorward.model import Outcome, Status

_PROGRAMS = ("sh/", "shell/")
"""The families of programs, built-ins and scripts. Only their results are searched for an exit code or a ticket:
in any other result, such as a stored record, these fields are ordinary data."""
_BASH = "bash"
_VIRTUAL = "vfs/"
"""The family of commands that work through inner calls and report when one waits for approval."""
_encode = msgspec.json.Encoder().encode


class Called(msgspec.Struct, kw_only=True):
    name: str
    """The word that was typed."""
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    command: str = ""
    status: Status = "done"
    call: str = ""
    code: str = ""
    message: str = ""
    retry_after: float | None = None
    """Seconds after which it may be retried, when the refusal is temporary."""
    ticket: str = ""
    """The ticket of the approval that it waits for; empty when it waits for none."""
    streamed: bool = False
    """Whether its output was already streamed to the client."""
    leaves: bool = False
    """Whether the shell should exit."""

    @property
    def stops(self) -> bool:
        """Whether the rest of the pipe is skipped, because this stage never ran or waits for approval."""
        return bool(self.ticket) or self.exit_code in NEVER_RAN or self.status in ("refused", "parked")

    @property
    def is_bad(self) -> bool:
        """Whether it failed. Exit code 1 without an error text is not a failure: `grep`, `test` and `diff` use it."""
        return self.status != "done" or self.exit_code > 1 or bool(self.exit_code and self.stderr)


class StageFault(Exception):
    """A stage that cannot be called, with a message and an exit code."""

    def __init__(self, message: str, exit_code: int = WRONG_USE, ticket: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
        self.ticket = ticket


def faulty(name: str, fault: StageFault) -> Called:
    """The result of a stage that was never called."""
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
    """The result of a stage, from the outcome of its call."""
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
        made.stderr += complaint(name, f"{message} The ticket is {outcome.ticket}. {outcome.hint}")
    elif made.ticket:
        made.exit_code = WAITS
        if outcome.status != "done":  # a built-in prints it itself
            made.stderr += complaint(name, f"{message} {outcome.hint}")
    elif outcome.status == "refused" or (outcome.status == "failed" and not made.exit_code):
        made.exit_code = exit_codes.of(outcome.code, refused=outcome.status == "refused")
        made.stderr += complaint(name, message)
    return made


def _is_programs(outcome: Outcome) -> bool:
    """Whether this is the outcome of a program or a built-in."""
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
        made.stderr += complaint(made.name, f"its output was truncated; {missing} bytes are missing")
        made.exit_code = made.exit_code or 1


def _ticket(outcome: Outcome) -> str:
    """The ticket of the approval that an inner call waits for."""
    says = outcome.command.startswith((*_PROGRAMS, _VIRTUAL)) and isinstance(outcome.result, dict)
    return str(outcome.result.get("ticket", "")) if says else ""


def _printed(outcome: Outcome) -> str:
    """The result of any other command: text as it is, everything else as JSON."""
    result = outcome.result
    if result is None:
        return ""
    text = outcome.text if type(result) is Blocks else result
    if not isinstance(text, str):
        text = msgspec.json.format(_encode(result), indent=2).decode()
    return text if text.endswith("\n") or not text else f"{text}\n"
