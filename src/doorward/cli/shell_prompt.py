"""The shell's prompt on a terminal: room, folder and last exit code, with completion and highlighting."""

from __future__ import annotations

from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output

from doorward.cli.shell_colours import STYLE, Colours
from doorward.cli.shell_completing import Completing
from doorward.cli.shell_history import Kept
from doorward.cli.shell_known import Known
from doorward.cli.shell_words import unfinished
from doorward.visible import visible

_WIDEST = 40
"""Maximum columns of the folder in the prompt; a longer one loses its start."""


class GivenUp(Exception):
    """Ctrl-C at the prompt. A plain exception, because a KeyboardInterrupt would end the program."""


class Left(Exception):
    """Ctrl-D at the prompt."""


class Prompt:
    def __init__(
        self, room: str, known: Known, history: Path, *, given: Input | None = None, drawn: Output | None = None
    ) -> None:
        self.status = 0
        """Exit code of the last line."""
        self.kept = Kept(history)
        self._room = visible(room, lines=False)
        self._known = known
        self._given, self._drawn = given, drawn
        self._session: PromptSession[str] = PromptSession(
            self.message,
            completer=Completing(known),
            complete_while_typing=False,
            lexer=Colours(known),
            style=STYLE,
            auto_suggest=AutoSuggestFromHistory(),
            history=self.kept,
            multiline=Condition(lambda: _goes_on(get_app().current_buffer.text)),
            prompt_continuation="> ",
            key_bindings=_keys(),
            interrupt_exception=GivenUp,
            eof_exception=Left,
            input=given,
            output=drawn,
        )

    @property
    def buffer(self) -> Buffer:
        """The buffer of the line being typed."""
        return self._session.default_buffer

    async def line(self, begun: str = "") -> str:
        """Prompt for a line. Raises `Left` on Ctrl-D and `GivenUp` on Ctrl-C."""
        return await self._session.prompt_async(default=begun)

    async def answer(self, question: str) -> str:
        """Ask a question; returns an empty string on Ctrl-C or Ctrl-D."""
        asked: PromptSession[str] = PromptSession(
            input=self._given, output=self._drawn, interrupt_exception=GivenUp, eof_exception=Left
        )
        try:
            return await asked.prompt_async(question)
        except (GivenUp, Left):
            return ""

    def earlier(self) -> list[str]:
        """Return the lines entered so far, oldest first."""
        return list(self.kept.get_strings())

    def remember(self, line: str) -> None:
        self.kept.append_string(line)

    def message(self) -> StyleAndTextTuples:
        shown: StyleAndTextTuples = []
        if self._room:
            shown += [("class:room", self._room), ("", " ")]
        shown.append(("class:folder", folder(self._known.cwd)))
        if self.status:
            shown.append(("class:status.failed", f" [{self.status}]"))
        return [*shown, ("", "> ")]


def folder(cwd: str) -> str:
    """Format the folder for the prompt."""
    shown = visible(cwd, lines=False)
    return shown if len(shown) <= _WIDEST else f"…{shown[-_WIDEST + 1 :]}"


def _goes_on(text: str) -> bool:
    """Whether the line is incomplete. A question never is: its quotes are those of a sentence."""
    return not text.startswith(("@", "!")) and unfinished(text)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("c-z")
    def _(event: KeyPressEvent) -> None:
        """Ignore Ctrl-Z at the prompt: there is no foreground job."""

    return keys
