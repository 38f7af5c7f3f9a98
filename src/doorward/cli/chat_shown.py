"""Terminal view of a room: messages, call cards and approvals as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import click
import msgspec

from doorward.cli.wrapping import cells, columns, indented, wrapped
from doorward.model import KEEPER, Kind
from doorward.rooms.message import Attachment, Card, File
from doorward.visible import visible

_WORDS = {
    "waiting": "checking",
    "running": "running",
    "parked": "waiting for approval",
    "done": "done",
    "refused": "refused",
    "failed": "failed",
}
_COLOURS = {"parked": "yellow", "done": "green", "refused": "red", "failed": "red"}
_KINDS = {"ai": "cyan", "human": "green"}
_LONGEST_PARAMS = 200
_INDENT = 6
"""Indentation of the lines of a message after the first."""


class Said(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a message that a terminal shows."""

    id: str
    sender: str
    kind: Kind
    text: str
    at: datetime
    deleted_at: str | None = None
    attachments: tuple[Attachment, ...] = ()
    on_behalf_of: str = ""

    @property
    def by(self) -> str:
        """The sender. Every person's keeper has the same name, so its owner is added."""
        return f"{self.sender} for {self.on_behalf_of}" if self.sender == KEEPER and self.on_behalf_of else self.sender


class Shown:
    """Formats messages, and remembers those on screen so that an edit shows as one and nothing is shown twice."""

    def __init__(self, columns: Callable[[], int] = columns) -> None:
        """`columns` returns the current width of the screen; 0 turns wrapping off."""
        self._columns = columns
        self._texts: dict[str, str] = {}
        self._cards: dict[tuple[str, int], str] = {}

    def message(self, told: dict[str, Any]) -> list[str]:
        """Return the lines for a new or changed message; empty when nothing is new."""
        message = msgspec.convert(told, Said)
        return [*self._said(message), *self._attached(message)]

    def _said(self, message: Said) -> Iterator[str]:
        before = self._texts.get(message.id)
        gone = message.deleted_at is not None
        text = "" if gone else message.text
        self._texts[message.id] = text
        if before is None and gone:
            yield self._line(message, "", "(deleted)")
        elif before is None and (text or not message.attachments):
            yield self._line(message, text)
        elif gone and before:
            yield self._line(message, "", f"(deleted: {_short(before)})")
        elif before is not None and text != before:
            yield self._line(message, text, "(edited)" if before else "")

    def _line(self, message: Said, text: str, note: str = "") -> str:
        """Format a message with its first line beside the name. Only `note` is styled, because it is our own text."""
        at, sender = message.at.astimezone().strftime("%H:%M"), visible(message.by, lines=False)
        width, beside = self._columns(), len(at) + cells(sender) + 3
        lines: list[str] = []
        for line in visible(text).split("\n") if text else []:
            lines += wrapped(line, width, _INDENT if lines else beside, _INDENT)
        if note:
            noted = wrapped(note, width, _INDENT if lines else beside, _INDENT)
            lines += [click.style(one, dim=True) for one in noted]
        first, *rest = lines or [""]
        name = click.style(sender, fg=_KINDS.get(message.kind), bold=True)
        return "\n".join([f"{at} {name}: {first}", *(f"{' ' * _INDENT}{line}" for line in rest)])

    def _attached(self, message: Said) -> Iterator[str]:
        for place, one in enumerate(message.attachments):
            if isinstance(one, Card):
                yield from self._card(message, place, one)
            elif (message.id, place) not in self._cards and isinstance(one, File):
                self._cards[message.id, place] = "shown"
                yield f"      [{visible(one.name, lines=False)}, {one.media_type}, {one.size:,} bytes]"

    def _card(self, message: Said, place: int, card: Card) -> Iterator[str]:
        if self._cards.get((message.id, place)) == card.state:
            return
        self._cards[message.id, place] = card.state
        state = click.style(_WORDS[card.state], fg=_COLOURS.get(card.state))
        code = f" ({card.code})" if card.code and card.state in ("refused", "failed") else ""
        took = f" in {card.seconds:.1f} s" if card.seconds is not None and card.state in ("done", "failed") else ""
        called = f"{visible(card.command, lines=False)} {_params(card.params)}".rstrip()
        width = self._columns()
        ends = f"{state}{code}{took}"
        line = indented(f"      > {called}:", width, 8)
        fits = not width or cells(line.rpartition("\n")[2]) + 1 + cells(click.unstyle(ends)) <= width
        yield f"{line} {ends}" if fits else f"{line}\n        {ends}"
        if card.summary and card.state not in ("waiting", "running"):
            for line in visible(card.summary).splitlines():
                yield indented(f"        {line}", width, 8)


def approval(shown: dict[str, Any], people: bool, left: float) -> list[str]:
    """Format an approval request: what would run, for whom, and how to decide within the seconds `left`.

    `people` says whether the reader types at a terminal, where one letter is enough.
    """
    by = visible(str(shown.get("caller", "")), lines=False)
    width = columns()
    head = indented(f"{shown.get('command', '')} from {by} is waiting for your approval.", width, 0)
    what = visible(str(shown.get("shown", "")))
    lines = [
        click.style(head, fg="yellow", bold=True),
        "It would run exactly:",
        *(f"  {line}" for line in what.splitlines()),
    ]
    if effect := shown.get("effect") or shown.get("difference"):
        text = effect if isinstance(effect, str) else msgspec.json.encode(effect).decode()
        lines += ["It would change:", *(f"  {line}" for line in visible(text).splitlines())]
    how = "Type approve or y, or deny or n." if people else "Type approve or deny."
    within = f"It expires in {_span(left)}."
    return [*lines, indented(f"{how} {within} ({visible(str(shown.get('id', '')), lines=False)})", width, 0)]


def decision(command: str, state: str, decider: str) -> list[str]:
    """Format a decision. It is shown at once, because the call itself may take a while."""
    did = {"denied": "denied", "pending": "approved, more approvals needed"}.get(state, "approved")
    return [click.style(visible(f"{decider} {did}: {command}.", lines=False), dim=True)]


def _span(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"


def _short(text: str) -> str:
    one = visible(text, lines=False)
    return one if len(one) <= 60 else f"{one[:57]}..."


def _params(params: Any) -> str:
    if params is None or params == {}:
        return ""
    text = visible(msgspec.json.encode(params).decode(), lines=False)
    return text if len(text) <= _LONGEST_PARAMS else f"{text[:_LONGEST_PARAMS]}... ({len(text):,} characters)"
