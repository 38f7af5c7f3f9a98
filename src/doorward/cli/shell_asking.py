"""What the shell asks a person: whether a suggestion is meant, and whether what waits may run."""

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
@ takes plain words: @how many rooms do we have
You are shown the line that would do it, how sure the house is of that, and how
safe it is. Then you say
  y  let the keeper do it here, and answer; what cannot be undone asks again
  e  put the line into the prompt, to change it or to run it yourself
  n  or anything else: nothing happens"""
_COLOURS = {"safe": "green", "caution": "yellow", "dangerous": "red"}


class Person(Protocol):
    """Somebody at the terminal, who can be asked."""

    async def answer(self, question: str) -> str:
        """What they type; empty when they would rather not say."""
        ...

    def earlier(self) -> list[str]:
        """The lines they entered, oldest first."""
        ...

    def remember(self, line: str) -> None:
        """Keep a line that they meant by another one, which called it back."""
        ...


class Asking:
    def __init__(self, way: ShellWay, person: Person | None) -> None:
        self._way = way
        self._person = person
        self._last: Mapping[str, Any] = {}

    async def yes(self, question: str) -> bool:
        return self._person is not None and (await self._person.answer(question)).strip().lower() in ("y", "yes")

    async def suggested(self, question: str, folder: str) -> tuple[Verdict, str]:
        """What the person says to the line that would do what they want where they are, and the line."""
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
            told("Nobody is here to say yes, so nothing ran.")
            return "no", ""
        said = (await self._person.answer("Do it? [y/n/e] ")).strip().lower()
        if said in ("e", "edit"):
            return "edit", str(found["suggestion"])
        return ("accepted", "") if said in ("y", "yes") else ("no", "")

    async def accepted(self, question: str) -> None:
        """Tell the house that its suggestion was good; where it does not learn from that, nothing is lost."""
        if self._last:
            try:
                await self._way.put("help/accept", query=question, command=str(self._last["command"]))
            except DoorwardError:
                return

    async def approved(self, ticket: str) -> bool | None:
        """What the person says to exactly this; None when they are not the one to decide, or nobody is there."""
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
    """The line, what it does, how sure the house is of it and why, and how safe it is."""
    safety, reason = str(found["safety"]), str(found["reason"])
    lines = [click.style(visible(str(found["suggestion"]), lines=False), bold=True)]
    lines.append(visible(str(found["explanation"]), lines=False))
    lines.append(f"{found['score']:.0%} sure{f': {visible(reason, lines=False)}' if reason else ''}")
    lines.append(f"safety: {click.style(safety, fg=_COLOURS.get(safety))}")
    if found["alternatives"]:
        lines.append(f"or: {visible(', '.join(found['alternatives']), lines=False)}")
    return [f"  {indented(line, max(columns() - 2, 0), 2)}" for line in lines]
