"""Results of the session shell: of one stage and of a script, with their exit codes.

An exit code never tells that a call waits for approval, because any program may end with any code; the ticket does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
from msgspec import Meta, Struct

from doorward.core.command import Blocks
from doorward.core.model import Outcome, Status

WRONG_USAGE, WAITING, TIMED_OUT, REFUSED, UNKNOWN_COMMAND, STOPPED = 2, 75, 124, 126, 127, 130
NEVER_RAN = frozenset((REFUSED, UNKNOWN_COMMAND, STOPPED))
"""The exit codes of commands that did not run, or not to the end."""
_BY_CODE = {
    "bad_params": WRONG_USAGE,
    "unknown_command": UNKNOWN_COMMAND,
    "timed_out": TIMED_OUT,
    "cancelled": STOPPED,
    "withdrawn": STOPPED,
    "not_found": 1,
    "conflict": 1,
}


def exit_code_for(code: str, *, refused: bool) -> int:
    """The exit code for an error code."""
    return _BY_CODE.get(code, REFUSED if refused else 1)


_PROGRAM_FAMILIES = ("sh/", "shell/")
"""The families of programs, built-ins and scripts. Only their results are searched for an exit code or a ticket:
in any other result, such as a stored record, these fields are ordinary data."""
_BASH = "bash"
_VFS_FAMILY = "vfs/"
"""The family of commands that work through inner calls and report when one waits for approval."""
_encode = msgspec.json.Encoder().encode


class StageResult(msgspec.Struct, kw_only=True):
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
    def ends_pipe(self) -> bool:
        """Whether the rest of the pipe is skipped, because this stage never ran or waits for approval."""
        return bool(self.ticket) or self.exit_code in NEVER_RAN or self.status in ("refused", "parked")

    @property
    def is_failed(self) -> bool:
        """Whether it failed. Exit code 1 without an error text is not a failure: `grep`, `test` and `diff` use it."""
        return self.status != "done" or self.exit_code > 1 or bool(self.exit_code and self.stderr)


class StageFault(Exception):
    """A stage that cannot be called, with a message and an exit code."""

    def __init__(self, message: str, exit_code: int = WRONG_USAGE, ticket: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
        self.ticket = ticket


def fault_result(name: str, fault: StageFault) -> StageResult:
    """The result of a stage that was never called."""
    return StageResult(
        name=name,
        stderr=error_line(name, fault.message),
        exit_code=fault.exit_code,
        status="refused",
        ticket=fault.ticket,
    )


def error_line(name: str, sentence: str) -> str:
    return f"{name}: {' '.join(sentence.split())}\n"


def result_from_outcome(name: str, outcome: Outcome) -> StageResult:
    """The result of a stage, from the outcome of its call."""
    message = outcome.message.removeprefix(f"{outcome.command}: ")
    made = StageResult(
        name=name,
        command=outcome.command,
        status=outcome.status,
        call=outcome.call,
        code=outcome.code,
        message=message,
        retry_after=outcome.retry_after if outcome.status == "refused" else None,
        ticket=outcome.ticket or _inner_ticket(outcome),
    )
    if _is_program_result(outcome):
        _copy_program_result(made, outcome.result)
    elif outcome.status == "done":
        made.stdout = _render_result(outcome)
    if outcome.status == "parked":
        made.exit_code = WAITING
        made.stderr += error_line(name, f"{message} The ticket is {outcome.ticket}. {outcome.hint}")
    elif made.ticket:
        made.exit_code = WAITING
        if outcome.status != "done":  # a built-in prints it itself
            made.stderr += error_line(name, f"{message} {outcome.hint}")
    elif outcome.status == "refused" or (outcome.status == "failed" and not made.exit_code):
        made.exit_code = exit_code_for(outcome.code, refused=outcome.status == "refused")
        made.stderr += error_line(name, message)
    return made


def _is_program_result(outcome: Outcome) -> bool:
    """Whether this is the outcome of a program or a built-in."""
    command, result = outcome.command, outcome.result
    if command != _BASH and not command.startswith(_PROGRAM_FAMILIES):
        return False
    return isinstance(result, dict) and "exitCode" in result and isinstance(result.get("stdout"), str)


def _copy_program_result(made: StageResult, result: Mapping[str, Any]) -> None:
    made.stdout, made.stderr = result["stdout"], result.get("stderr", "")
    made.exit_code = result["exitCode"] or 0
    made.leaves = bool(result.get("leaves"))
    if made.stderr and not made.stderr.endswith("\n"):
        made.stderr += "\n"
    missing = result.get("stdoutBytes", 0) - len(made.stdout.encode("utf-8", "replace"))
    if missing > 0 and "\\x" not in made.stdout:
        made.stderr += error_line(made.name, f"its output was truncated; {missing} bytes are missing")
        made.exit_code = made.exit_code or 1


def _inner_ticket(outcome: Outcome) -> str:
    """The ticket of the approval that an inner call waits for."""
    says = outcome.command.startswith((*_PROGRAM_FAMILIES, _VFS_FAMILY)) and isinstance(outcome.result, dict)
    return str(outcome.result.get("ticket", "")) if says else ""


def _render_result(outcome: Outcome) -> str:
    """The result of any other command: text as it is, everything else as JSON."""
    result = outcome.result
    if result is None:
        return ""
    text = outcome.text if type(result) is Blocks else result
    if not isinstance(text, str):
        text = msgspec.json.format(_encode(result), indent=2).decode()
    return text if text.endswith("\n") or not text else f"{text}\n"


class StageRecord(TypedDict):
    """The result of one stage, which is a call of its own."""

    step: Annotated[int, Meta(description="The line of the script it belongs to, from 1")]
    command: str
    status: Status
    exitCode: int
    call: Annotated[str, Meta(description="The id of the call in the ledger")]
    code: NotRequired[str]
    message: NotRequired[str]
    ticket: NotRequired[Annotated[str, Meta(description="The ticket of the approval that it waits for")]]


class ScriptResult(Struct, kw_only=True):
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    steps: list[StageRecord] = []
    bad: bool = False
    """Whether the last command failed. A negative answer, such as exit code 1 of `grep`, is not a failure."""
    message: str = ""
    """The reason of the failure."""
    code: str = ""
    """The error code of the failure, when the last command was a call."""
    retry_after: float | None = None
    """Seconds after which the last command may be retried, when its refusal is temporary."""
    ticket: str = ""
    """The ticket of the approval that the last command waits for; empty when it waits for none."""
    leaves: bool = False
    """Whether the shell should exit."""
