"""Live view of one shell line: its output as it arrives, then the rest at the end."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from doorward.cli.live_view import LiveView, escape_output
from doorward.cli.text_wrap import terminal_width, wrap_indented
from doorward.gate.executions.notices import Notice, OutputNotice

EXIT_USAGE, EXIT_WAITING, EXIT_REFUSED, EXIT_UNKNOWN_COMMAND, EXIT_TIMED_OUT, EXIT_STOPPED = 2, 75, 126, 127, 124, 130
_CODES = {
    "bad_params": EXIT_USAGE,
    "unknown_command": EXIT_UNKNOWN_COMMAND,
    "timed_out": EXIT_TIMED_OUT,
    "cancelled": EXIT_STOPPED,
    "withdrawn": EXIT_STOPPED,
}
_STATUSES = {"done": 0, "failed": 1, "refused": EXIT_REFUSED, "parked": EXIT_WAITING}


class ScriptView(LiveView):
    """View of one shell line. Unlike a single command, it shows output as it arrives in a pipe too."""

    def __init__(self) -> None:
        super().__init__(as_json=False)
        self.shows_output = True
        self._shown_chars = {"stdout": 0, "stderr": 0}

    def handle_notice(self, notice: Notice) -> None:
        if isinstance(notice, OutputNotice):
            self._shown_chars[notice.stream] += len(notice.text)
        super().handle_notice(notice)

    def skip_notice(self, notice: Notice) -> None:
        if isinstance(notice, OutputNotice):
            self._shown_chars[notice.stream] += len(notice.text)

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write the rest of the output, after the pieces that are already shown."""
        self.write_rest("stdout", str(result.get("stdout", "")))
        self.write_rest("stderr", str(result.get("stderr", "")))
        self.end_line()

    def write_rest(self, stream: str, text: str) -> None:
        text = text[self._shown_chars[stream] :]
        if text:
            self._put(text, stream == "stderr")

    def _show_output(self, notice: OutputNotice) -> None:
        self.output_shown = True
        self._put(notice.text, notice.stream == "stderr")

    def _put(self, text: str, err: bool) -> None:
        """Write text: escaped on a terminal, so that it cannot move the cursor; unchanged in a pipe."""
        if (sys.stderr if err else sys.stdout).isatty():
            self.write(_wrap_errors(escape_output(text)) if err else escape_output(text), err=err)
        else:
            click.echo(text, nl=False, err=err, color=True)


def _wrap_errors(text: str) -> str:
    """Wrap error messages between words."""
    return "\n".join(wrap_indented(line, terminal_width(), 0) for line in text.split("\n"))


def exit_code(status: str, code: str) -> int:
    """Return the shell exit code for a line that the gate refused or that was stopped."""
    return _CODES.get(code, _STATUSES[status])


def print_shell_note(line: str) -> None:
    """Print a message of the shell itself, dimmed, on standard error."""
    click.echo("\n".join(click.style(one, dim=True) for one in line.split("\n")), err=True)
