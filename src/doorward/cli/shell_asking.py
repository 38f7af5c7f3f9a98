"""Confirmations in the shell: suggestions for `@` requests, and approvals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import click

from doorward.cli import report
from doorward.cli.ai_shown import approval
from doorward.cli.shell_screen import told
from doorward.cli.shell_way import ShellWay
from doorward.cli.wrapping import columns, indented
from doorward.errors import DoorwardError
from doorward.visible import visible

Verdict = Literal["accepted", "try", "edit", "no"]
ABOUT = """\
@ takes a request in plain words: @how many rooms do we have
You see the suggested line, its confidence and its safety. Then type
  y  to let the keeper do it and answer; irreversible calls ask again
  e  to edit the line at the prompt and run it yourself
  n  or anything else to do nothing"""
_COLOURS = {"safe": "green", "caution": "yellow", "dangerous": "red"}


class Person(Protocol):
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


class Asking:
    def __init__(self, way: ShellWay, person: Person | None) -> None:
        self._way = way
        self._person = person
        self._last: Mapping[str, Any] = {}

    async def yes(self, question: str) -> bool:
        return self._person is not None and (await self._person.answer(question)).strip().lower() in ("y", "yes")

    async def suggested(self, question: str, folder: str) -> tuple[Verdict, str]:
        """Suggest a line for the request, ask the person, and return their verdict and the line."""
        if not question:
            click.echo(ABOUT)
            return "no", ""
        outcome = await self._way.put("help/suggest", query=question, folder=folder)
        if outcome.status != "done":
            report.complain(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
            return "no", ""
        self._last = found = outcome.result
        if not found["suggestion"]:
            click.echo(indented(visible(found["explanation"]), columns(), 0))
            return ("try", "") if await self.yes("Let the keeper try? [y/N] ") else ("no", "")
        click.echo("\n".join(_shown(found)))
        if self._person is None:
            told("Nothing was run: not a terminal, so you cannot confirm.")
            return "no", ""
        said = (await self._person.answer("Do it? [y/n/e] ")).strip().lower()
        if said in ("e", "edit"):
            return "edit", str(found["suggestion"])
        return ("accepted", "") if said in ("y", "yes") else ("no", "")

    async def accepted(self, question: str) -> None:
        """Report that the suggestion was accepted, so that Doorward learns from it. Failures are ignored."""
        if self._last:
            try:
                await self._way.put("help/accept", query=question, command=str(self._last["command"]))
            except DoorwardError:
                return

    async def approved(self, ticket: str) -> bool | None:
        """Ask the person to approve or deny a ticket. None when they may not decide, or nobody is there."""
        if self._person is None:
            return None
        shown = await self._way.ask("approval/show", id=ticket)
        if shown.status != "done":
            report.complain(shown.status, shown.code, shown.message, shown.hint, shown.rule)
            return None
        click.echo("\n".join(approval(shown.result)))
        if shown.result.get("cannotDecide"):
            return None
        yes = await self.yes("Approve, as yourself? [y/N] ")
        decided = await self._way.ask(f"approval/{'approve' if yes else 'deny'}", id=ticket)
        if decided.status != "done":
            report.complain(decided.status, decided.code, decided.message, decided.hint, decided.rule)
            return None
        return yes


def _shown(found: Mapping[str, Any]) -> list[str]:
    """Format a suggestion: the line, its explanation, its confidence and its safety."""
    safety, reason = str(found["safety"]), str(found["reason"])
    lines = [click.style(visible(str(found["suggestion"]), lines=False), bold=True)]
    lines.append(visible(str(found["explanation"]), lines=False))
    lines.append(f"confidence {found['score']:.0%}{f': {visible(reason, lines=False)}' if reason else ''}")
    lines.append(f"safety: {click.style(safety, fg=_COLOURS.get(safety))}")
    if found["alternatives"]:
        lines.append(f"or: {visible(', '.join(found['alternatives']), lines=False)}")
    return [f"  {indented(line, max(columns() - 2, 0), 2)}" for line in lines]
