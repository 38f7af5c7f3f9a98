"""What a person sees while the keeper works: what it thinks with, each thing it does, and its answer as it comes."""

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
"""Columns of a line about one call where there is no terminal to say how many there are."""
_MARKS = {
    "done": ("done", "green"),
    "failed": ("failed", "red"),
    "refused": ("refused", "red"),
    "parked": ("waits for a person", "yellow"),
}
_REASON = 300
LAST = "last"
"""As a session: the one that was used last."""


class Thinking(Live):
    """One request to the keeper on its way. What it does is told on the error stream, its answer on the other."""

    def __init__(self, as_json: bool, model: str = "", ticket: str = "") -> None:
        """`model` is what is known already to be thought with, `ticket` what this goes on with."""
        super().__init__(as_json)
        self.ticket = ticket
        self.session = ""
        """The session it takes place in, once it is known."""
        self._tells = not as_json
        self.model = model
        self._notes: list[str] = []
        self._begun_call = ""
        self._written = ""
        """What was shown of the answer so far."""

    def begin(self) -> None:
        """Before anything is known: something has to be seen at once."""
        self.draw("asking the keeper")

    def notice(self, notice: Notice) -> None:
        if isinstance(notice, Step):
            self.heard()
            self._step(notice.kind, notice.data)
        elif not isinstance(notice, Output):  # what its calls write comes with them, as their result
            super().notice(notice)

    def pause(self, answer: Mapping[str, Any]) -> None:
        """It waits for the person at this very terminal, who is asked next and need not be told how to answer."""
        self._end_call("")
        self.rest()
        self._tell_notes(answer)

    def finish(self, answer: Mapping[str, Any]) -> None:
        """The answer, as far as it was not shown yet, and what else should be known."""
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
            click.echo(f"{click.style('not done', fg='red', bold=True)} {visible(str(answer['error']))}", err=True)

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
        """What should be known beside the answer; most of it was told when it came up, and is not told again."""
        for note in map(str, answer.get("notes", ())):
            if note not in self._notes:
                self._notes.append(note)
                self._told(click.style(visible(note), dim=True))

    def _thinks(self, model: str, state: str) -> None:
        self._written = ""
        if state == "loading":  # once it has been read, it thinks, and that is told then
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
        """How it ended stands behind what it was, on one line that is written once."""
        line, self._begun_call = line or self._begun_call, ""
        if not line:
            return
        word, colour = _MARKS.get(status, (status or "begun", "yellow"))
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
    """A call of the keeper's as somebody would type it, on one line."""
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
    """Exactly what would run and what it would change, for the person who is to decide."""
    whose = "a person's" if detail.get("cannotDecide") else "your"
    lines = [f"{detail['command']} waits for {whose} word. It would run exactly:"]
    lines += _indented(str(detail.get("shown", "")))
    difference = str(detail.get("difference") or "")
    if difference:
        lines.append("What is known of it:" if str(detail["command"]).startswith("mcp/") else "It would change:")
        lines += map(_coloured, _indented(difference))
    if detail.get("why"):
        lines.append(indented(visible(str(detail["why"])), columns(), 0))
    if detail.get("cannotDecide"):
        lines.append(indented(visible(str(detail["cannotDecide"])), columns(), 0))
        lines.append(f"Whoever may decides with: doorward approvals approve {detail['id']}")
    return lines


def waiting(answer: Mapping[str, Any], given: str = "") -> str:
    """The ticket of what waits for a person, if anything does; the last such call is the one that stopped the work.

    With none, it is the one that was `given` to go on with: nobody has decided about that yet.
    """
    calls: Sequence[Mapping[str, Any]] = answer.get("toolCalls") or ()
    if answer.get("ended") != "waiting":
        return ""
    return next((str(one["ticket"]) for one in reversed(calls) if one.get("ticket")), given)


def last_used(sessions: Sequence[Mapping[str, Any]], room: str) -> str:
    """The id of the newest of these sessions in that room, or outside any."""
    found = next((str(one["session"]) for one in sessions if one.get("room", "") == room), "")
    if not found:
        where = f"in the room {room}" if room else "outside rooms"
        raise click.UsageError(f"You have no session {where} yet; leave --session out to begin one.")
    return found


def _typed(params: Mapping[str, Any]) -> list[str]:
    return [
        f"--{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in params.items()
    ]


def _fitting(line: str, behind: int = 0) -> str:
    """As much of a line as fits beside what stands behind it."""
    room = (columns() if sys.stdout.isatty() else 0) or _WIDEST
    room -= behind + 3
    if cells(line) <= room:
        return line
    return wrapped(line, max(room - 1, 20), 0, 0)[0] + "…"


def _coloured(line: str) -> str:
    """A line of a difference, in the colour of what is added or taken away."""
    colours = {"+": "green", "-": "red"}
    return click.style(line, fg=colours[line[2]]) if line[2:3] in colours else line


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in visible(text).rstrip("\n").splitlines()]
