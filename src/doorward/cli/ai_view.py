"""Terminal view of a keeper request: the model, each tool call, and the answer as it streams."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from doorward.cli import report
from doorward.cli.live_view import LiveView, escape_output
from doorward.cli.text_wrap import display_width, terminal_width, wrap_indented, wrap_line
from doorward.core.escape_invisible import escape_invisible
from doorward.gate.executions.notices import Notice, OutputNotice, StepNotice

_DEFAULT_WIDTH = 160
"""Width of the line for a tool call when there is no terminal."""
_STATUS_LABELS = {
    "done": ("done", "green"),
    "failed": ("failed", "red"),
    "refused": ("refused", "red"),
    "parked": ("waiting for approval", "yellow"),
}
_MAX_REASON_CHARS = 300
LAST_SESSION = "last"
"""Session name that means the most recent session."""


class KeeperView(LiveView):
    """View of one keeper request. Activity goes to standard error, the answer to standard output."""

    def __init__(self, as_json: bool, model: str = "", ticket: str = "") -> None:
        """`model` is the model already announced; `ticket` is the approval that this request continues."""
        super().__init__(as_json)
        self.ticket = ticket
        self.session = ""
        """Id of the session, once the server reports it."""
        self._verbose = not as_json
        self.model = model
        self._shown_notes: list[str] = []
        self._open_call = ""
        self._shown_answer = ""
        """The part of the answer that is already on screen."""

    def begin(self) -> None:
        """Draw a first line at once, before the server answers."""
        self.draw("asking the keeper")

    def handle_notice(self, notice: Notice) -> None:
        if isinstance(notice, StepNotice):
            self.reset_delay()
            self._handle_step(notice.kind, notice.data)
        elif not isinstance(notice, OutputNotice):  # the output of a tool call comes with its result
            super().handle_notice(notice)

    def pause(self, answer: Mapping[str, Any]) -> None:
        """End the view before asking the person at this terminal for an approval."""
        self._end_call("")
        self.end_line()
        self._print_notes(answer)

    def finish(self, answer: Mapping[str, Any]) -> None:
        """Show the rest of the answer, its notes and its error."""
        self._end_call("")
        response = escape_output(str(answer.get("response", ""))).strip()
        if response and self._shown_answer.strip() != response:
            self.end_line()
            click.echo("\n".join(wrap_indented(line, terminal_width(), 0) for line in response.split("\n")))
        elif self._shown_answer:
            self.end_line()
        self._shown_answer = ""
        self._print_notes(answer)
        if answer.get("error") and answer["error"] != answer.get("response"):
            click.echo(
                f"{click.style('failed', fg='red', bold=True)} {escape_invisible(str(answer['error']))}", err=True
            )

    def _handle_step(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "session":
            self.session = str(data.get("sessionId", ""))
        elif kind == "thinking":
            self._show_model(str(data.get("model", "")), str(data.get("state", "")))
        elif kind == "tool_started":
            self._begin_call(format_call(data))
        elif kind == "tool_finished":
            self._end_call(str(data.get("status", "")), format_call(data), str(data.get("output", "")))
        elif kind == "note":
            self._end_call("")
            self._print_notes({"notes": [data.get("text", "")]})
        elif kind == "text" and self.shows_output:
            self._write_answer(str(data.get("delta", "")))

    def _print_notes(self, answer: Mapping[str, Any]) -> None:
        """Show the answer's notes, except those already shown while it ran."""
        for note in map(str, answer.get("notes", ())):
            if note not in self._shown_notes:
                self._shown_notes.append(note)
                self._print_line(click.style(escape_invisible(note), dim=True))

    def _show_model(self, model: str, state: str) -> None:
        self._shown_answer = ""
        if state == "loading":  # a second event follows when the model is loaded
            self.draw(f"loading {escape_invisible(model, lines=False)} into memory")
            return
        if model and model != self.model:
            self.model = model
            self._print_line(click.style(f"Thinking with {escape_invisible(model, lines=False)}.", dim=True))

    def _begin_call(self, line: str) -> None:
        self._end_call("")
        self._open_call = line
        self.end_line()
        self.draw(f"  {_truncate(line)}")

    def _end_call(self, status: str, line: str = "", output: str = "") -> None:
        """Write one line with the call and its outcome."""
        line, self._open_call = line or self._open_call, ""
        if not line:
            return
        word, colour = _STATUS_LABELS.get(status, (status or "started", "yellow"))
        self._print_line(f"  {_truncate(line, len(word) + 2)}  {click.style(word, fg=colour)}")
        if status in ("failed", "refused") and output:
            self._print_line(click.style(f"    {escape_invisible(output[:_MAX_REASON_CHARS], lines=False)}", dim=True))

    def _print_line(self, line: str) -> None:
        if self._verbose:
            self.end_line()
            click.echo(line, err=True)

    def _write_answer(self, delta: str) -> None:
        shown = escape_output(delta) if self._shown_answer else escape_output(delta).lstrip()
        if shown:
            self._shown_answer += shown
            self.write(shown)


def format_call(data: Mapping[str, Any]) -> str:
    """Format a keeper's tool call as one line, the way a person would type it."""
    name, given = str(data.get("name", "")), data.get("input")
    given = given if isinstance(given, Mapping) else {}
    if name == "run_command" and isinstance(given.get("command"), str):
        params = given.get("params")
        words = [given["command"], *_format_params(params if isinstance(params, Mapping) else {})]
    elif name == "write_file":
        words = [name, str(given.get("path", "")), f"({len(str(given.get('content', '')))} characters)"]
    else:
        words = [name, *(str(value) for value in given.values())]
    return escape_invisible(" ".join(words), lines=False)


def format_approval(detail: Mapping[str, Any]) -> list[str]:
    """Format an approval request: exactly what would run and what it would change."""
    whose = "another person's" if detail.get("cannotDecide") else "your"
    lines = [f"{detail['command']} is waiting for {whose} approval. It would run exactly:"]
    lines += _indent_lines(str(detail.get("shown", "")))
    difference = str(detail.get("difference") or "")
    if difference:
        lines.append("About this tool:" if str(detail["command"]).startswith("mcp/") else "It would change:")
        lines += map(_colour_diff_line, _indent_lines(difference))
        lines += _indent_lines(report.describe_rest(detail))
    if detail.get("why"):
        lines.append(wrap_indented(escape_invisible(str(detail["why"])), terminal_width(), 0))
    if detail.get("cannotDecide"):
        lines.append(wrap_indented(escape_invisible(str(detail["cannotDecide"])), terminal_width(), 0))
        lines.append(f"Someone who may decide runs: doorward approvals approve {detail['id']}")
    return lines


def find_pending_ticket(answer: Mapping[str, Any], given: str = "") -> str:
    """Return the ticket the answer is waiting for, or an empty string.

    The last call with a ticket is the one that stopped the work. Without one, the ticket `given` with the request is
    still undecided.
    """
    calls: Sequence[Mapping[str, Any]] = answer.get("toolCalls") or ()
    if answer.get("ended") != "waiting":
        return ""
    return next((str(one["ticket"]) for one in reversed(calls) if one.get("ticket")), given)


def find_last_session(sessions: Sequence[Mapping[str, Any]], room: str) -> str:
    """Return the id of the newest session in that room, or outside rooms."""
    found = next((str(one["session"]) for one in sessions if one.get("room", "") == room), "")
    if not found:
        where = f"in the room {room}" if room else "outside rooms"
        raise click.UsageError(f"You have no session {where} yet; omit --session to start one.")
    return found


def _format_params(params: Mapping[str, Any]) -> list[str]:
    return [
        f"--{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in params.items()
    ]


def _truncate(line: str, behind: int = 0) -> str:
    """Truncate a line so that it and `behind` more columns fit."""
    room = (terminal_width() if sys.stdout.isatty() else 0) or _DEFAULT_WIDTH
    room -= behind + 3
    if display_width(line) <= room:
        return line
    return wrap_line(line, max(room - 1, 20), 0, 0)[0] + "…"


def _colour_diff_line(line: str) -> str:
    """Colour a line of a diff: green for added, red for removed."""
    colours = {"+": "green", "-": "red"}
    return click.style(line, fg=colours[line[2]]) if line[2:3] in colours else line


def _indent_lines(text: str) -> list[str]:
    return [f"  {line}" for line in escape_invisible(text).rstrip("\n").splitlines()]
