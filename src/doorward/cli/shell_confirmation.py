"""Confirmations in the shell: suggestions for `@` requests, and approvals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import click

from doorward.cli import report
from doorward.cli.ai_view import format_approval
from doorward.cli.approvals import can_hold
from doorward.cli.shell_transport import ShellTransport
from doorward.cli.shell_view import print_shell_note
from doorward.cli.text_wrap import terminal_width, wrap_indented
from doorward.core.errors import DoorwardError
from doorward.core.escape_invisible import escape_invisible

Verdict = Literal["accepted", "try", "edit", "no"]
QUESTION_HELP = """\
@ takes a request in plain words: @how many rooms do we have
You see the suggested line, its confidence and its safety. Then type
  y  to let the keeper do it and answer; irreversible calls ask again
  e  to edit the line at the prompt and run it yourself
  n  or anything else to do nothing"""
_SAFETY_COLOURS = {"safe": "green", "caution": "yellow", "dangerous": "red"}


class PersonAtTerminal(Protocol):
    """The person at the terminal."""

    async def answer(self, question: str) -> str:
        """Ask a question and return the answer; empty when they decline."""
        ...

    def earlier(self) -> list[str]:
        """Return the lines they entered, oldest first."""
        ...

    def remember(self, line: str) -> None:
        """Add the expansion of a `!` line to the history."""
        ...


class ShellConfirmation:
    def __init__(self, way: ShellTransport, person: PersonAtTerminal | None) -> None:
        self._transport = way
        self._person = person
        self._last_suggestion: Mapping[str, Any] = {}

    async def confirm(self, question: str) -> bool:
        return self._person is not None and (await self._person.answer(question)).strip().lower() in ("y", "yes")

    async def suggest(self, question: str, folder: str) -> tuple[Verdict, str]:
        """Suggest a line for the request, ask the person, and return their verdict and the line."""
        if not question:
            click.echo(QUESTION_HELP)
            return "no", ""
        outcome = await self._transport.run_in_room("help/suggest", query=question, folder=folder)
        if outcome.status != "done":
            report.print_error(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
            return "no", ""
        self._last_suggestion = found = outcome.result
        if not found["suggestion"]:
            click.echo(wrap_indented(escape_invisible(found["explanation"]), terminal_width(), 0))
            return ("try", "") if await self.confirm("Let the keeper try? [y/N] ") else ("no", "")
        click.echo("\n".join(_format_suggestion(found)))
        if self._person is None:
            print_shell_note("Nothing was run: not a terminal, so you cannot confirm.")
            return "no", ""
        said = (await self._person.answer("Do it? [y/n/e] ")).strip().lower()
        if said in ("e", "edit"):
            return "edit", str(found["suggestion"])
        return ("accepted", "") if said in ("y", "yes") else ("no", "")

    async def report_accepted(self, question: str) -> None:
        """Report that the suggestion was accepted, so that Doorward learns from it. Failures are ignored."""
        if self._last_suggestion:
            try:
                await self._transport.run_in_room(
                    "help/accept", query=question, command=str(self._last_suggestion["command"])
                )
            except DoorwardError:
                return

    async def ask_for_approval(self, ticket: str) -> bool | None:
        """Ask the person to approve or deny a ticket. None when they may not decide, or nobody is there."""
        if self._person is None:
            return None
        shown = await self._transport.ask("approval/show", id=ticket)
        if shown.status != "done":
            report.print_error(shown.status, shown.code, shown.message, shown.hint, shown.rule)
            return None
        click.echo("\n".join(format_approval(shown.result)))
        if shown.result.get("cannotDecide"):
            return None
        if can_hold(shown.result):
            await self._transport.ask("approval/hold", id=ticket)
        yes = await self.confirm("Approve, as yourself? [y/N] ")
        decided = await self._transport.ask(f"approval/{'approve' if yes else 'deny'}", id=ticket)
        if decided.status != "done":
            report.print_error(decided.status, decided.code, decided.message, decided.hint, decided.rule)
            return None
        return yes


def _format_suggestion(found: Mapping[str, Any]) -> list[str]:
    """Format a suggestion: the line, its explanation, its confidence and its safety."""
    safety, reason = str(found["safety"]), str(found["reason"])
    lines = [click.style(escape_invisible(str(found["suggestion"]), lines=False), bold=True)]
    lines.append(escape_invisible(str(found["explanation"]), lines=False))
    lines.append(f"confidence {found['score']:.0%}{f': {escape_invisible(reason, lines=False)}' if reason else ''}")
    lines.append(f"safety: {click.style(safety, fg=_SAFETY_COLOURS.get(safety))}")
    if found["alternatives"]:
        lines.append(f"or: {escape_invisible(', '.join(found['alternatives']), lines=False)}")
    return [f"  {wrap_indented(line, max(terminal_width() - 2, 0), 2)}" for line in lines]
