"""What one line of the shell shows: its output as it comes, then what did not come before the end."""

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
    """Unlike a single command it shows what comes in a pipe too: a script is read as it goes on."""

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
        """The rest of what a line wrote: what came by pieces was the beginning of it."""
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
        """On a terminal nothing that was written may move the cursor; in a pipe it goes on just as it is."""
        if (sys.stderr if err else sys.stdout).isatty():
            self.write(_fitting(safe(text)) if err else safe(text), err=err)
        else:
            click.echo(text, nl=False, err=err, color=True)


def _fitting(text: str) -> str:
    """Complaints are sentences, so their lines are broken between words."""
    return "\n".join(indented(line, columns(), 0) for line in text.split("\n"))


def exit_code(status: str, code: str) -> int:
    """What a shell would give for a line that the gate did not let through, or that did not end by itself."""
    return _CODES.get(code, _STATUSES[status])


def told(line: str) -> None:
    """A word of the shell itself, beside what commands write."""
    click.echo("\n".join(click.style(one, dim=True) for one in line.split("\n")), err=True)
