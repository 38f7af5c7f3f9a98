"""Terminal view of a room: messages, call cards and approvals as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import click
import msgspec

from doorward.cli import report
from doorward.cli.text_wrap import display_width, terminal_width, wrap_indented, wrap_line
from doorward.core.escape_invisible import escape_invisible
from doorward.core.model import KEEPER, Kind
from doorward.rooms.message import Attachment, Card, File

_STATE_LABELS = {
    "waiting": "checking",
    "running": "running",
    "parked": "waiting for approval",
    "done": "done",
    "refused": "refused",
    "failed": "failed",
}
_STATE_COLOURS = {"parked": "yellow", "done": "green", "refused": "red", "failed": "red"}
_SENDER_COLOURS = {"ai": "cyan", "human": "green"}
_MAX_PARAMS_CHARS = 200
_INDENT = 6
"""Indentation of the lines of a message after the first."""


class ChatMessage(msgspec.Struct, frozen=True, rename="camel"):
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
    def author(self) -> str:
        """The sender. Every person's keeper has the same name, so its owner is added."""
        return f"{self.sender} for {self.on_behalf_of}" if self.sender == KEEPER and self.on_behalf_of else self.sender


class RoomView:
    """Formats messages, and remembers those on screen so that an edit shows as one and nothing is shown twice."""

    def __init__(self, columns: Callable[[], int] = terminal_width) -> None:
        """`columns` returns the current width of the screen; 0 turns wrapping off."""
        self._columns = columns
        self._texts: dict[str, str] = {}
        self._cards: dict[tuple[str, int], str] = {}

    def format_message(self, told: dict[str, Any]) -> list[str]:
        """Return the lines for a new or changed message; empty when nothing is new."""
        message = msgspec.convert(told, ChatMessage)
        return [*self._format_text(message), *self._format_attachments(message)]

    def _format_text(self, message: ChatMessage) -> Iterator[str]:
        before = self._texts.get(message.id)
        gone = message.deleted_at is not None
        text = "" if gone else message.text
        self._texts[message.id] = text
        if before is None and gone:
            yield self._format_line(message, "", "(deleted)")
        elif before is None and (text or not message.attachments):
            yield self._format_line(message, text)
        elif gone and before:
            yield self._format_line(message, "", f"(deleted: {_truncate(before)})")
        elif before is not None and text != before:
            yield self._format_line(message, text, "(edited)" if before else "")

    def _format_line(self, message: ChatMessage, text: str, note: str = "") -> str:
        """Format a message with its first line beside the name. Only `note` is styled, because it is our own text."""
        at, sender = message.at.astimezone().strftime("%H:%M"), escape_invisible(message.author, lines=False)
        width, beside = self._columns(), len(at) + display_width(sender) + 3
        lines: list[str] = []
        for line in escape_invisible(text).split("\n") if text else []:
            lines += wrap_line(line, width, _INDENT if lines else beside, _INDENT)
        if note:
            noted = wrap_line(note, width, _INDENT if lines else beside, _INDENT)
            lines += [click.style(one, dim=True) for one in noted]
        first, *rest = lines or [""]
        name = click.style(sender, fg=_SENDER_COLOURS.get(message.kind), bold=True)
        return "\n".join([f"{at} {name}: {first}", *(f"{' ' * _INDENT}{line}" for line in rest)])

    def _format_attachments(self, message: ChatMessage) -> Iterator[str]:
        for place, one in enumerate(message.attachments):
            if isinstance(one, Card):
                yield from self._format_card(message, place, one)
            elif (message.id, place) not in self._cards and isinstance(one, File):
                self._cards[message.id, place] = "shown"
                yield f"      [{escape_invisible(one.name, lines=False)}, {one.media_type}, {one.size:,} bytes]"

    def _format_card(self, message: ChatMessage, place: int, card: Card) -> Iterator[str]:
        if self._cards.get((message.id, place)) == card.state:
            return
        self._cards[message.id, place] = card.state
        state = click.style(_STATE_LABELS[card.state], fg=_STATE_COLOURS.get(card.state))
        code = f" ({card.code})" if card.code and card.state in ("refused", "failed") else ""
        took = f" in {card.seconds:.1f} s" if card.seconds is not None and card.state in ("done", "failed") else ""
        called = f"{escape_invisible(card.command, lines=False)} {_format_params(card.params)}".rstrip()
        width = self._columns()
        ends = f"{state}{code}{took}"
        line = wrap_indented(f"      > {called}:", width, 8)
        fits = not width or display_width(line.rpartition("\n")[2]) + 1 + display_width(click.unstyle(ends)) <= width
        yield f"{line} {ends}" if fits else f"{line}\n        {ends}"
        if card.summary and card.state not in ("waiting", "running"):
            for line in escape_invisible(card.summary).splitlines():
                yield wrap_indented(f"        {line}", width, 8)


def format_approval(shown: dict[str, Any], people: bool, left: float) -> list[str]:
    """Format an approval request: what would run, for whom, and how to decide within the seconds `left`.

    `people` says whether the reader types at a terminal, where one letter is enough.
    """
    by = escape_invisible(str(shown.get("caller", "")), lines=False)
    width = terminal_width()
    head = wrap_indented(f"{shown.get('command', '')} from {by} is waiting for your approval.", width, 0)
    what = escape_invisible(str(shown.get("shown", "")))
    lines = [
        click.style(head, fg="yellow", bold=True),
        "It would run exactly:",
        *(f"  {line}" for line in what.splitlines()),
    ]
    if effect := shown.get("effect") or shown.get("difference"):
        text = effect if isinstance(effect, str) else msgspec.json.encode(effect).decode()
        lines += ["It would change:", *(f"  {line}" for line in escape_invisible(text).splitlines())]
        lines += [f"  {line}" for line in report.describe_rest(shown).splitlines()]
    how = "Type approve or y, or deny or n." if people else "Type approve or deny."
    within = f"It expires in {_format_duration(left)}."
    return [
        *lines,
        wrap_indented(f"{how} {within} ({escape_invisible(str(shown.get('id', '')), lines=False)})", width, 0),
    ]


def format_decision(command: str, state: str, decider: str) -> list[str]:
    """Format a decision. It is shown at once, because the call itself may take a while."""
    did = {"denied": "denied", "pending": "approved, more approvals needed"}.get(state, "approved")
    return [click.style(escape_invisible(f"{decider} {did}: {command}.", lines=False), dim=True)]


def _format_duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"


def _truncate(text: str) -> str:
    one = escape_invisible(text, lines=False)
    return one if len(one) <= 60 else f"{one[:57]}..."


def _format_params(params: Any) -> str:
    if params is None or params == {}:
        return ""
    text = escape_invisible(msgspec.json.encode(params).decode(), lines=False)
    return text if len(text) <= _MAX_PARAMS_CHARS else f"{text[:_MAX_PARAMS_CHARS]}... ({len(text):,} characters)"
