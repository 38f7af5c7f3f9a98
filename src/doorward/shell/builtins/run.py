"""One run of a built-in: its context, session and input, and its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.core.errors import BadParams, DoorwardError, NotFound, Refused
from doorward.core.escape_invisible import to_storable
from doorward.shell.builtins.formatting import format_table
from doorward.shell.results import WAITING, exit_code_for
from doorward.shell.session import ShellSession
from doorward.shell.vfs.inner_calls import InnerCallWaiting, call_inner
from doorward.shell.vfs.tree import VirtualTree


class BuiltinResult(TypedDict):
    stdout: Annotated[str, Meta(description="The output")]
    stderr: Annotated[str, Meta(description="The error output")]
    exitCode: Annotated[int, Meta(description="0 done, 1 failed, 2 wrong usage, 75 waiting, 126 refused")]
    ticket: NotRequired[Annotated[str, Meta(description="The ticket of the approval that an inner call waits for")]]
    leaves: NotRequired[Annotated[bool, Meta(description="Whether the shell should exit")]]


def make_result(stdout: str = "", stderr: str = "", code: int = 0) -> BuiltinResult:
    return {"stdout": stdout, "stderr": stderr, "exitCode": code}


MAX_OUTPUT = 1_000_000
"""Maximum characters that a built-in prints; longer output is truncated with a message."""
_MISSING = "No such file or directory"


class BuiltinRun:
    """One run of a built-in."""

    def __init__(self, ctx: Context, word: str, session: ShellSession, piped: str, columns: int) -> None:
        self.ctx = ctx
        self.word = word
        self.session = session
        self.piped = piped
        self.columns = columns
        self.tree = VirtualTree(ctx)
        self.exits = False
        self.ticket = ""
        self._out: list[str] = []
        self._err: list[str] = []
        self._remaining = MAX_OUTPUT
        self._code = 0

    def write(self, text: str) -> None:
        """Print a text without a line end."""
        if self._remaining < 0:
            return
        if len(text) > self._remaining:
            self.write_error(f"the output was truncated after {MAX_OUTPUT} characters")
            text = text[: self._remaining]
            self._remaining = -1
        else:
            self._remaining -= len(text)
        self._out.append(text)

    @property
    def is_full(self) -> bool:
        """Whether the output limit is reached, so that further output would be dropped."""
        return self._remaining < 0

    def write_line(self, text: object = "") -> None:
        self.write(f"{text}\n")

    def write_table(self, rows: Sequence[Mapping[str, Any]], fields: Sequence[str] = ()) -> None:
        """Print objects as a table; long cells are truncated on a screen, but not in a pipe."""
        self.write(format_table(rows, fields, columns=self.columns))

    def write_error(self, text: str, code: int = 1) -> None:
        """Print an error on one line; the highest exit code is kept."""
        self._err.append(f"{self.word}: {' '.join(text.split())}\n")
        self._code = max(self._code, code)

    def write_note(self, text: str) -> None:
        """Print a note to the error output that is not a failure, such as that a list is incomplete."""
        self._err.append(f"{self.word}: {text}\n")

    def write_stderr(self, text: str) -> None:
        """Print the error output of an inner command unchanged."""
        self._err.append(text if text.endswith("\n") or not text else f"{text}\n")

    def set_exit_code(self, code: int) -> None:
        """Set the exit code."""
        self._code = code

    def report_error(self, error: DoorwardError, about: str = "") -> None:
        """Print an error, with the usual Unix message when there is one."""
        if isinstance(error, NotFound) and about:
            self.write_error(f"{about}: {_MISSING}")
            return
        if isinstance(error, InnerCallWaiting):
            self.ticket = error.ticket
        told = f"{about}: {error.message}" if about else error.message
        self.write_error(
            f"{told} {error.hint}" if isinstance(error, InnerCallWaiting) else told, error_exit_code(error)
        )

    def absolute_path(self, word: str) -> str:
        """The absolute path for a typed path."""
        return self.tree.absolute(word, self.session.cwd)

    async def call(self, command: str, /, **params: Any) -> Any:
        """Call another command as this caller and return its result."""
        return await call_inner(self.ctx, command, **params)

    async def save_session(self) -> None:
        """Store the changed session."""
        await self.ctx.services.sessions.save(self.session)

    def result(self) -> BuiltinResult:
        said: BuiltinResult = {
            "stdout": to_storable("".join(self._out)),
            "stderr": to_storable("".join(self._err)),
            "exitCode": self._code,
        }
        if self.ticket:
            said["ticket"] = self.ticket
        if self.exits:
            said["leaves"] = True
        return said


def error_exit_code(error: DoorwardError) -> int:
    """The exit code for an error. An invalid path or value is a plain failure of the built-in, exit code 1."""
    if isinstance(error, InnerCallWaiting):
        return WAITING
    return 1 if isinstance(error, BadParams) else exit_code_for(error.code, refused=isinstance(error, Refused))
