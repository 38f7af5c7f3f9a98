"""What a person sees while a command runs: its output as it comes, and a line of progress while nothing comes."""

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
"""Seconds without output after which the line of progress shows."""
_SPINNER = "|/-\\"
_ERASE = "\r\x1b[K"


class Live:
    """One command on its way. In a pipe nothing is shown before the outcome."""

    def __init__(self, as_json: bool) -> None:
        self.execution = ""
        """The id of the execution, once it is known."""
        self.known = asyncio.Event()
        """Set once it is."""
        self.told = False
        """Whether output was shown, so that it is not shown again at the end."""
        self.stopping = False
        """Whether the person at the terminal asked for the end."""
        self.alone = False
        """Whether no server runs, so that nobody but this program is in the house."""
        self.shows = sys.stdout.isatty() and not as_json
        """Whether what comes is shown while it comes."""
        self.draws = sys.stderr.isatty() and not as_json
        """Whether a line may be drawn that is erased again."""
        self.again = "leaves at once"
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
        """Something came that is not going to be shown."""

    def tick(self) -> None:
        """Called a few times a second: draw the line of progress when it is time for one."""
        now = time.monotonic()
        if not self.draws or self.stopping or self._line_open or now - self._heard < _QUIET or _in_background():
            return
        self.draw(f"{_SPINNER[int(now * 8) % len(_SPINNER)]} {self._said(now - self._begun)}")

    def draw(self, line: str) -> None:
        """A line that stands there until something else is shown."""
        if self.draws:
            click.echo(f"{_ERASE}{line[: shutil.get_terminal_size().columns - 1]}", nl=False, err=True)
            self._drawn = True

    def heard(self) -> None:
        """Something came, so the line of progress waits again."""
        self._heard = time.monotonic()

    def write(self, text: str, *, err: bool = False) -> None:
        """A piece of text that hides nothing, which others may follow on the same line."""
        self._erase()
        self.heard()
        self._line_open = not text.endswith("\n")
        click.echo(text, nl=False, err=err)

    def stop(self) -> None:
        """The person pressed Ctrl-C."""
        self.stopping = True
        self.rest()
        if self.draws:
            click.echo(f"Cancelling. Ctrl-C again {self.again}.", err=True)

    def rest(self) -> None:
        """Leave the cursor at the beginning of an empty line."""
        self._erase()
        if self._line_open:
            click.echo()
            self._line_open = False

    def _show(self, notice: Output) -> None:
        self.told = True
        self.write(safe(notice.text), err=notice.stream == "stderr")

    def _show_question(self, asked: Asked) -> None:
        """The call stands still until a person answers, so this shows wherever a person may see it."""
        if not self.draws:
            return
        self.rest()
        what = f" {visible(asked.message)}" if asked.message else " something that only a person is shown"
        click.echo(f"{asked.server} asks:{what}", err=True)
        answer = f"Answer in another terminal: doorward approvals answer {asked.question}"
        if self.alone:
            answer = "Nobody can answer while no server runs: start `doorward up`, and run it again."
        click.echo(f"  {answer}", err=True)
        self.heard()

    def _said(self, seconds: float) -> str:
        if self._queued:
            return f"{seconds:.0f} s  waiting for a free place"
        fraction = self._progress.fraction
        parts = [f"{seconds:.0f} s", f"{fraction:.0%}" if fraction is not None else "", self._progress.message]
        return visible("  ".join(part for part in parts if part), lines=False)

    def _erase(self) -> None:
        if self._drawn:
            click.echo(_ERASE, nl=False, err=True)
            self._drawn = False


def _in_background() -> bool:
    """Whether the terminal belongs to another job at this moment, on whose lines nothing should be drawn."""
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) != os.getpgrp()
    except OSError:  # not the terminal that this process belongs to
        return False


def safe(text: str) -> str:
    """What a program wrote, without the power to move the cursor or to hide anything."""
    return visible(text.replace("\r\n", "\n"))
