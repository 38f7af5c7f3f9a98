"""What a built-in has while it runs: who asks and where, what was piped in, and how it speaks."""

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
"""How many characters a built-in prints; what is more is cut, and said to be."""
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
        """Print a text as it is."""
        if self._room < 0:
            return
        if len(text) > self._room:
            self.complain(f"the output is cut after {MOST} characters")
            text = text[: self._room]
            self._room = -1
        else:
            self._room -= len(text)
        self._out.append(text)

    @property
    def full(self) -> bool:
        """Whether nothing that is said any more would be printed, so that there is no use in making it."""
        return self._room < 0

    def line(self, text: object = "") -> None:
        self.say(f"{text}\n")

    def table(self, rows: Sequence[Mapping[str, Any]], fields: Sequence[str] = ()) -> None:
        """Print objects as a table; on a screen long cells are cut, into a pipe they are not."""
        self.say(table(rows, fields, columns=self.columns))

    def complain(self, text: str, code: int = 1) -> None:
        """Say on one line what is wrong; the first exit code that is more than a plain failure stays."""
        self._err.append(f"{self.word}: {' '.join(text.split())}\n")
        self._code = max(self._code, code)

    def remark(self, text: str) -> None:
        """Say something on the side that is no failure, such as that something was left out."""
        self._err.append(f"{self.word}: {text}\n")

    def repeat(self, text: str) -> None:
        """Pass on what somebody else complained of, as it is."""
        self._err.append(text if text.endswith("\n") or not text else f"{text}\n")

    def ends(self, code: int) -> None:
        """The exit code, where it says something by itself."""
        self._code = code

    def report(self, error: DoorwardError, about: str = "") -> None:
        """Say what went wrong, in the words of such tools where there are any."""
        if isinstance(error, NotFound) and about:
            self.complain(f"{about}: {_MISSING}")
            return
        if isinstance(error, Waits):
            self.ticket = error.ticket
        told = f"{about}: {error.message}" if about else error.message
        self.complain(f"{told} {error.hint}" if isinstance(error, Waits) else told, exit_code(error))

    def path(self, word: str) -> str:
        """The one spelling of a path as it was typed here."""
        return self.tree.absolute(word, self.session.cwd)

    async def ask(self, command: str, /, **params: Any) -> Any:
        """What another command gives, asked for in this caller's name."""
        return await asked(self.ctx, command, **params)

    async def keep(self) -> None:
        """Store what was changed in the session."""
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
    """What such an end is among exit codes. A path or value that is not valid is a plain failure of the built-in."""
    if isinstance(error, Waits):
        return WAITS
    return 1 if isinstance(error, BadParams) else of(error.code, refused=isinstance(error, Refused))
