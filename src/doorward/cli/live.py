"""Live view of a running command: its output as it arrives, and a progress line while there is none."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time

import click

from doorward.executions.notices import Asked, Notice, Output, Progress, Started
from doorward.visible import visible

_QUIET = 1.0
"""Seconds without output after which the progress line shows."""
_SPINNER = "|/-\\"
_ERASE = "\r\x1b[K"


class Live:
    """View of one running command. In a pipe, nothing is shown before the outcome."""

    def __init__(self, as_json: bool) -> None:
        self.execution = ""
        """Id of the execution, once it is known."""
        self.known = asyncio.Event()
        """Set once the id is known."""
        self.told = False
        """Whether output was shown, so that it is not repeated at the end."""
        self.stopping = False
        """Whether the person pressed Ctrl-C."""
        self.alone = False
        """Whether the command runs in this process, without a server."""
        self.shows = sys.stdout.isatty() and not as_json
        """Whether output is shown as it arrives."""
        self.draws = sys.stderr.isatty() and not as_json
        """Whether a progress line may be drawn and erased."""
        self.again = "exits at once"
        """What a second Ctrl-C does."""
        self._drawn = False
        self._line_open = False
        self._queued = False
        self._progress = Progress(None)
        self._begun = self._heard = time.monotonic()

    def notice(self, notice: Notice) -> None:
        if isinstance(notice, Started):
            self.execution, self._queued = notice.execution, notice.queued
            self._begun = self._heard = time.monotonic()
            self.known.set()
        elif isinstance(notice, Progress):
            self._progress = notice
        elif isinstance(notice, Asked):
            self._show_question(notice)
        elif isinstance(notice, Output) and self.shows:
            self._show(notice)

    def passed_over(self, notice: Notice) -> None:
        """Called for a notice that was dropped and will not be shown."""

    def tick(self) -> None:
        """Draw the progress line when it is due. Called a few times a second."""
        now = time.monotonic()
        if not self.draws or self.stopping or self._line_open or now - self._heard < _QUIET or _in_background():
            return
        self.draw(f"{_SPINNER[int(now * 8) % len(_SPINNER)]} {self._said(now - self._begun)}")

    def draw(self, line: str) -> None:
        """Draw a temporary line, which the next output erases."""
        if self.draws:
            click.echo(f"{_ERASE}{line[: shutil.get_terminal_size().columns - 1]}", nl=False, err=True)
            self._drawn = True

    def heard(self) -> None:
        """Restart the delay before the progress line shows."""
        self._heard = time.monotonic()

    def write(self, text: str, *, err: bool = False) -> None:
        """Write text that is already safe for a terminal; it may end in the middle of a line."""
        self._erase()
        self.heard()
        self._line_open = not text.endswith("\n")
        click.echo(text, nl=False, err=err)

    def stop(self) -> None:
        """Handle Ctrl-C."""
        self.stopping = True
        self.rest()
        if self.draws:
            click.echo(f"Cancelling. Ctrl-C again {self.again}.", err=True)

    def rest(self) -> None:
        """Move the cursor to the start of an empty line."""
        self._erase()
        if self._line_open:
            click.echo()
            self._line_open = False

    def _show(self, notice: Output) -> None:
        self.told = True
        self.write(safe(notice.text), err=notice.stream == "stderr")

    def _show_question(self, asked: Asked) -> None:
        """Show a question from an MCP server. The call waits for the answer."""
        if not self.draws:
            return
        self.rest()
        what = f" {visible(asked.message)}" if asked.message else " a question that is shown to people only"
        click.echo(f"{asked.server} asks:{what}", err=True)
        answer = f"Answer in another terminal: doorward approvals answer {asked.question}"
        if self.alone:
            answer = "Answering needs a running server: start `doorward up`, then run the command again."
        click.echo(f"  {answer}", err=True)
        self.heard()

    def _said(self, seconds: float) -> str:
        if self._queued:
            return f"{seconds:.0f} s  queued"
        fraction = self._progress.fraction
        parts = [f"{seconds:.0f} s", f"{fraction:.0%}" if fraction is not None else "", self._progress.message]
        return visible("  ".join(part for part in parts if part), lines=False)

    def _erase(self) -> None:
        if self._drawn:
            click.echo(_ERASE, nl=False, err=True)
            self._drawn = False


def _in_background() -> bool:
    """Whether another job owns the terminal, so that nothing may be drawn on it."""
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) != os.getpgrp()
    except OSError:  # not the terminal that this process belongs to
        return False


def safe(text: str) -> str:
    """Escape control characters, so that a program's output cannot move the cursor or hide text."""
    return visible(text.replace("\r\n", "\n"))
