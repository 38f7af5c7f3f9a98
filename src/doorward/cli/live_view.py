"""Live view of a running command: its output as it arrives, and a progress line while there is none."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time

import click

from doorward.core.escape_invisible import escape_invisible
from doorward.gate.executions.notices import (
    Notice,
    OutputNotice,
    ProgressNotice,
    QuestionNotice,
    StartedNotice,
    StepNotice,
)

_PROGRESS_DELAY = 1.0
"""Seconds without output after which the progress line shows."""
_SPINNER = "|/-\\"
_ERASE = "\r\x1b[K"
_NEEDS_SERVER = "Answering needs a running server: start `doorward up`, then run the command again."


class LiveView:
    """View of one running command. In a pipe, nothing is shown before the outcome."""

    def __init__(self, as_json: bool) -> None:
        self.execution = ""
        """Id of the execution, once it is known."""
        self.execution_known = asyncio.Event()
        """Set once the id is known."""
        self.output_shown = False
        """Whether output was shown, so that it is not repeated at the end."""
        self.stopping = False
        """Whether the person pressed Ctrl-C."""
        self.in_process = False
        """Whether the command runs in this process, without a server."""
        self.shows_output = sys.stdout.isatty() and not as_json
        """Whether output is shown as it arrives."""
        self.draws_progress = sys.stderr.isatty() and not as_json
        """Whether a progress line may be drawn and erased."""
        self.second_interrupt = "exits at once"
        """What a second Ctrl-C does."""
        self._drawn = False
        self._line_open = False
        self._queued = False
        self._progress = ProgressNotice(None)
        self._started_at = self._last_output_at = time.monotonic()

    def handle_notice(self, notice: Notice) -> None:
        if isinstance(notice, StartedNotice):
            self.execution, self._queued = notice.execution, notice.queued
            self._started_at = self._last_output_at = time.monotonic()
            self.execution_known.set()
        elif isinstance(notice, ProgressNotice):
            self._progress = notice
        elif isinstance(notice, QuestionNotice):
            self._show_question(notice)
        elif isinstance(notice, StepNotice) and notice.kind == "note":
            self._show_note(str(notice.data["text"]))
        elif isinstance(notice, OutputNotice) and self.shows_output:
            self._show_output(notice)

    def skip_notice(self, notice: Notice) -> None:
        """Called for a notice that was dropped and will not be shown."""

    def tick(self) -> None:
        """Draw the progress line when it is due. Called a few times a second."""
        now = time.monotonic()
        if (
            not self.draws_progress
            or self.stopping
            or self._line_open
            or now - self._last_output_at < _PROGRESS_DELAY
            or _in_background()
        ):
            return
        self.draw(f"{_SPINNER[int(now * 8) % len(_SPINNER)]} {self._format_progress(now - self._started_at)}")

    def draw(self, line: str) -> None:
        """Draw a temporary line, which the next output erases."""
        if self.draws_progress:
            click.echo(f"{_ERASE}{line[: shutil.get_terminal_size().columns - 1]}", nl=False, err=True)
            self._drawn = True

    def reset_delay(self) -> None:
        """Restart the delay before the progress line shows."""
        self._last_output_at = time.monotonic()

    def write(self, text: str, *, err: bool = False) -> None:
        """Write text that is already safe for a terminal; it may end in the middle of a line."""
        self._erase()
        self.reset_delay()
        self._line_open = not text.endswith("\n")
        click.echo(text, nl=False, err=err)

    def stop(self) -> None:
        """Handle Ctrl-C."""
        self.stopping = True
        self.end_line()
        if self.draws_progress:
            click.echo(f"Cancelling. Ctrl-C again {self.second_interrupt}.", err=True)

    def end_line(self) -> None:
        """Move the cursor to the start of an empty line."""
        self._erase()
        if self._line_open:
            click.echo()
            self._line_open = False

    def _show_output(self, notice: OutputNotice) -> None:
        self.output_shown = True
        self.write(escape_output(notice.text), err=notice.stream == "stderr")

    def _show_question(self, asked: QuestionNotice) -> None:
        """Show a question from an MCP server. The call waits for the answer."""
        if not self.draws_progress:
            return
        self.end_line()
        what = f" {escape_invisible(asked.message)}" if asked.message else " a question that is shown to people only"
        click.echo(f"{asked.server} asks:{what}", err=True)
        answer = f"Answer in another terminal: doorward approvals answer {asked.question}"
        click.echo(f"  {_NEEDS_SERVER if self.in_process else answer}", err=True)
        self.reset_delay()

    def _show_note(self, text: str) -> None:
        """Show a note about the call, such as that a part of it waits for a person."""
        if not self.draws_progress:
            return
        self.end_line()
        click.echo(escape_invisible(text, lines=False), err=True)
        if self.in_process:
            click.echo(f"  {_NEEDS_SERVER}", err=True)
        self.reset_delay()

    def _format_progress(self, seconds: float) -> str:
        if self._queued:
            return f"{seconds:.0f} s  queued"
        fraction = self._progress.fraction
        parts = [f"{seconds:.0f} s", f"{fraction:.0%}" if fraction is not None else "", self._progress.message]
        return escape_invisible("  ".join(part for part in parts if part), lines=False)

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


def escape_output(text: str) -> str:
    """Escape control characters, so that a program's output cannot move the cursor or hide text."""
    return escape_invisible(text.replace("\r\n", "\n"))
