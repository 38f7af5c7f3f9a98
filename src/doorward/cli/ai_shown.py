"""Terminal view of a keeper request: the model, each tool call, and the answer as it streams."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from doorward.cli.live import Live, safe
from doorward.cli.wrapping import cells, columns, indented, wrapped
from doorward.executions.notices import Notice, Output, Step
from doorward.visible import visible

_WIDEST = 160
"""Width of the line for a tool call when there is no terminal."""
_MARKS = {
    "done": ("done", "green"),
    "failed": ("failed", "red"),
    "refused": ("refused", "red"),
    "parked": ("waiting for approval", "yellow"),
}
_REASON = 300
LAST = "last"
"""Session name that means the most recent session."""


class Thinking(Live):
    """View of one keeper request. Activity goes to standard error, the answer to standard output."""

    def __init__(self, as_json: bool, model: str = "", ticket: str = "") -> None:
        """`model` is the model already announced; `ticket` is the approval that this request continues."""
        super().__init__(as_json)
        self.ticket = ticket
        self.session = ""
        """Id of the session, once the server reports it."""
        self._tells = not as_json
        self.model = model
        self._notes: list[str] = []
        self._begun_call = ""
        self._written = ""
        """The part of the answer that is already on screen."""

    def begin(self) -> None:
        """Draw a first line at once, before the server answers."""
        self.draw("asking the keeper")

    def notice(self, notice: Notice) -> None:
        if isinstance(notice, Step):
            self.heard()
            self._step(notice.kind, notice.data)
        elif not isinstance(notice, Output):  # the output of a tool call comes with its result
            super().notice(notice)

    def pause(self, answer: Mapping[str, Any]) -> None:
        """End the view before asking the person at this terminal for an approval."""
        self._end_call("")
        self.rest()
        self._tell_notes(answer)

    def finish(self, answer: Mapping[str, Any]) -> None:
        """Show the rest of the answer, its notes and its error."""
        self._end_call("")
        response = safe(str(answer.get("response", ""))).strip()
        if response and self._written.strip() != response:
            self.rest()
            click.echo("\n".join(indented(line, columns(), 0) for line in response.split("\n")))
        elif self._written:
            self.rest()
        self._written = ""
        self._tell_notes(answer)
        if answer.get("error") and answer["error"] != answer.get("response"):
            click.echo(f"{click.style('failed', fg='red', bold=True)} {visible(str(answer['error']))}", err=True)

    def _step(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "session":
            self.session = str(data.get("sessionId", ""))
        elif kind == "thinking":
            self._thinks(str(data.get("model", "")), str(data.get("state", "")))
        elif kind == "tool_started":
            self._begin_call(called(data))
        elif kind == "tool_finished":
            self._end_call(str(data.get("status", "")), called(data), str(data.get("output", "")))
        elif kind == "note":
            self._end_call("")
            self._tell_notes({"notes": [data.get("text", "")]})
        elif kind == "text" and self.shows:
            self._write(str(data.get("delta", "")))

    def _tell_notes(self, answer: Mapping[str, Any]) -> None:
        """Show the answer's notes, except those already shown while it ran."""
        for note in map(str, answer.get("notes", ())):
            if note not in self._notes:
                self._notes.append(note)
                self._told(click.style(visible(note), dim=True))

    def _thinks(self, model: str, state: str) -> None:
        self._written = ""
        if state == "loading":  # a second event follows when the model is loaded
            self.draw(f"loading {visible(model, lines=False)} into memory")
            return
        if model and model != self.model:
            self.model = model
            self._told(click.style(f"Thinking with {visible(model, lines=False)}.", dim=True))

    def _begin_call(self, line: str) -> None:
        self._end_call("")
        self._begun_call = line
        self.rest()
        self.draw(f"  {_fitting(line)}")

    def _end_call(self, status: str, line: str = "", output: str = "") -> None:
        """Write one line with the call and its outcome."""
        line, self._begun_call = line or self._begun_call, ""
        if not line:
            return
        word, colour = _MARKS.get(status, (status or "started", "yellow"))
        self._told(f"  {_fitting(line, len(word) + 2)}  {click.style(word, fg=colour)}")
        if status in ("failed", "refused") and output:
            self._told(click.style(f"    {visible(output[:_REASON], lines=False)}", dim=True))

    def _told(self, line: str) -> None:
        if self._tells:
            self.rest()
            click.echo(line, err=True)

    def _write(self, delta: str) -> None:
        shown = safe(delta) if self._written else safe(delta).lstrip()
        if shown:
            self._written += shown
            self.write(shown)


def called(data: Mapping[str, Any]) -> str:
    """Format a keeper's tool call as one line, the way a person would type it."""
    name, given = str(data.get("name", "")), data.get("input")
    given = given if isinstance(given, Mapping) else {}
    if name == "run_command" and isinstance(given.get("command"), str):
        params = given.get("params")
        words = [given["command"], *_typed(params if isinstance(params, Mapping) else {})]
    elif name == "write_file":
        words = [name, str(given.get("path", "")), f"({len(str(given.get('content', '')))} characters)"]
    else:
        words = [name, *(str(value) for value in given.values())]
    return visible(" ".join(words), lines=False)


def approval(detail: Mapping[str, Any]) -> list[str]:
    """Format an approval request: exactly what would run and what it would change."""
    whose = "another person's" if detail.get("cannotDecide") else "your"
    lines = [f"{detail['command']} is waiting for {whose} approval. It would run exactly:"]
    lines += _indented(str(detail.get("shown", "")))
    difference = str(detail.get("difference") or "")
    if difference:
        lines.append("About this tool:" if str(detail["command"]).startswith("mcp/") else "It would change:")
        lines += map(_coloured, _indented(difference))
    if detail.get("why"):
        lines.append(indented(visible(str(detail["why"])), columns(), 0))
    if detail.get("cannotDecide"):
        lines.append(indented(visible(str(detail["cannotDecide"])), columns(), 0))
        lines.append(f"Someone who may decide runs: doorward approvals approve {detail['id']}")
    return lines


def waiting(answer: Mapping[str, Any], given: str = "") -> str:
    """Return the ticket the answer is waiting for, or an empty string.

    The last call with a ticket is the one that stopped the work. Without one, the ticket `given` with the request is
    still undecided.
    """
    calls: Sequence[Mapping[str, Any]] = answer.get("toolCalls") or ()
    if answer.get("ended") != "waiting":
        return ""
    return next((str(one["ticket"]) for one in reversed(calls) if one.get("ticket")), given)


def last_used(sessions: Sequence[Mapping[str, Any]], room: str) -> str:
    """Return the id of the newest session in that room, or outside rooms."""
    found = next((str(one["session"]) for one in sessions if one.get("room", "") == room), "")
    if not found:
        where = f"in the room {room}" if room else "outside rooms"
        raise click.UsageError(f"You have no session {where} yet; omit --session to start one.")
    return found


def _typed(params: Mapping[str, Any]) -> list[str]:
    return [
        f"--{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in params.items()
    ]


def _fitting(line: str, behind: int = 0) -> str:
    """Truncate a line so that it and `behind` more columns fit."""
    room = (columns() if sys.stdout.isatty() else 0) or _WIDEST
    room -= behind + 3
    if cells(line) <= room:
        return line
    return wrapped(line, max(room - 1, 20), 0, 0)[0] + "…"


def _coloured(line: str) -> str:
    """Colour a line of a diff: green for added, red for removed."""
    colours = {"+": "green", "-": "red"}
    return click.style(line, fg=colours[line[2]]) if line[2:3] in colours else line


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in visible(text).rstrip("\n").splitlines()]
