"""One run of a built-in: its context, session and input, and methods to print output and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doorward.backends.context import Context
from doorward.backends.session.builtins.printed import Printed
from doorward.backends.session.builtins.showing import table
from doorward.backends.session.exit_codes import WAITS, of
from doorward.backends.session.session import Session
from doorward.backends.vfs.asking import Waits, asked
from doorward.backends.vfs.tree import Tree
from doorward.errors import BadParams, DoorwardError, NotFound, Refused
from doorward.visible import storable

MOST = 1_000_000
"""Maximum characters that a built-in prints; longer output is truncated with a message."""
_MISSING = "No such file or directory"


class Speaker:
    """One run of a built-in."""

    def __init__(self, ctx: Context, word: str, session: Session, piped: str, columns: int) -> None:
        self.ctx = ctx
        self.word = word
        self.session = session
        self.piped = piped
        self.columns = columns
        self.tree = Tree(ctx)
        self.leaves = False
        self.ticket = ""
        self._out: list[str] = []
        self._err: list[str] = []
        self._room = MOST
        self._code = 0

    def say(self, text: str) -> None:
        """Print a text without a line end."""
        if self._room < 0:
            return
        if len(text) > self._room:
            self.complain(f"the output was truncated after {MOST} characters")
            text = text[: self._room]
            self._room = -1
        else:
            self._room -= len(text)
        self._out.append(text)

    @property
    def full(self) -> bool:
        """Whether the output limit is reached, so that further output would be dropped."""
        return self._room < 0

    def line(self, text: object = "") -> None:
        self.say(f"{text}\n")

    def table(self, rows: Sequence[Mapping[str, Any]], fields: Sequence[str] = ()) -> None:
        """Print objects as a table; long cells are truncated on a screen, but not in a pipe."""
        self.say(table(rows, fields, columns=self.columns))

    def complain(self, text: str, code: int = 1) -> None:
        """Print an error on one line; the highest exit code is kept."""
        self._err.append(f"{self.word}: {' '.join(text.split())}\n")
        self._code = max(self._code, code)

    def remark(self, text: str) -> None:
        """Print a note to the error output that is not a failure, such as that a list is incomplete."""
        self._err.append(f"{self.word}: {text}\n")

    def repeat(self, text: str) -> None:
        """Print the error output of an inner command unchanged."""
        self._err.append(text if text.endswith("\n") or not text else f"{text}\n")

    def ends(self, code: int) -> None:
        """Set the exit code."""
        self._code = code

    def report(self, error: DoorwardError, about: str = "") -> None:
        """Print an error, with the usual Unix message when there is one."""
        if isinstance(error, NotFound) and about:
            self.complain(f"{about}: {_MISSING}")
            return
        if isinstance(error, Waits):
            self.ticket = error.ticket
        told = f"{about}: {error.message}" if about else error.message
        self.complain(f"{told} {error.hint}" if isinstance(error, Waits) else told, exit_code(error))

    def path(self, word: str) -> str:
        """The absolute path for a typed path."""
        return self.tree.absolute(word, self.session.cwd)

    async def ask(self, command: str, /, **params: Any) -> Any:
        """Call another command as this caller and return its result."""
        return await asked(self.ctx, command, **params)

    async def keep(self) -> None:
        """Store the changed session."""
        await self.ctx.house.sessions.save(self.session)

    def result(self) -> Printed:
        said: Printed = {
            "stdout": storable("".join(self._out)),
            "stderr": storable("".join(self._err)),
            "exitCode": self._code,
        }
        if self.ticket:
            said["ticket"] = self.ticket
        if self.leaves:
            said["leaves"] = True
        return said


def exit_code(error: DoorwardError) -> int:
    """The exit code for an error. An invalid path or value is a plain failure of the built-in, exit code 1."""
    if isinstance(error, Waits):
        return WAITS
    return 1 if isinstance(error, BadParams) else of(error.code, refused=isinstance(error, Refused))
