"""Live view of one shell line: its output as it arrives, then the rest at the end."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from doorward.cli.live import Live, safe
from doorward.cli.wrapping import columns, indented
from doorward.executions.notices import Notice, Output

WRONG, WAITS, REFUSED, UNKNOWN, TIMED_OUT, STOPPED = 2, 75, 126, 127, 124, 130
_CODES = {
    "bad_params": WRONG,
    "unknown_command": UNKNOWN,
    "timed_out": TIMED_OUT,
    "cancelled": STOPPED,
    "withdrawn": STOPPED,
}
_STATUSES = {"done": 0, "failed": 1, "refused": REFUSED, "parked": WAITS}


class Screen(Live):
    """View of one shell line. Unlike a single command, it shows output as it arrives in a pipe too."""

    def __init__(self) -> None:
        super().__init__(as_json=False)
        self.shows = True
        self._seen = {"stdout": 0, "stderr": 0}

    def notice(self, notice: Notice) -> None:
        if isinstance(notice, Output):
            self._seen[notice.stream] += len(notice.text)
        super().notice(notice)

    def passed_over(self, notice: Notice) -> None:
        if isinstance(notice, Output):
            self._seen[notice.stream] += len(notice.text)

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write the rest of the output, after the pieces that are already shown."""
        self.rest_of("stdout", str(result.get("stdout", "")))
        self.rest_of("stderr", str(result.get("stderr", "")))
        self.rest()

    def rest_of(self, stream: str, text: str) -> None:
        text = text[self._seen[stream] :]
        if text:
            self._put(text, stream == "stderr")

    def _show(self, notice: Output) -> None:
        self.told = True
        self._put(notice.text, notice.stream == "stderr")

    def _put(self, text: str, err: bool) -> None:
        """Write text: escaped on a terminal, so that it cannot move the cursor; unchanged in a pipe."""
        if (sys.stderr if err else sys.stdout).isatty():
            self.write(_fitting(safe(text)) if err else safe(text), err=err)
        else:
            click.echo(text, nl=False, err=err, color=True)


def _fitting(text: str) -> str:
    """Wrap error messages between words."""
    return "\n".join(indented(line, columns(), 0) for line in text.split("\n"))


def exit_code(status: str, code: str) -> int:
    """Return the shell exit code for a line that the gate refused or that was stopped."""
    return _CODES.get(code, _STATUSES[status])


def told(line: str) -> None:
    """Print a message of the shell itself, dimmed, on standard error."""
    click.echo("\n".join(click.style(one, dim=True) for one in line.split("\n")), err=True)
