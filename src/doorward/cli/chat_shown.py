"""How a room looks in a terminal: each message, each step of a call, and each question to a person, as lines."""

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
    "waiting": "is being looked at",
    "running": "runs",
    "parked": "waits for a person",
    "done": "done",
    "refused": "refused",
    "failed": "failed",
}
_COLOURS = {"parked": "yellow", "done": "green", "refused": "red", "failed": "red"}
_KINDS = {"ai": "cyan", "human": "green"}
_LONGEST_PARAMS = 200
_INDENT = 6
"""Columns before whatever goes on below the first line of a message."""


class Said(msgspec.Struct, frozen=True, rename="camel"):
    """A message, as far as a terminal shows it."""

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
        """Who said it. The keepers of two people have one name, so whose it is stands beside it."""
        return f"{self.sender} for {self.on_behalf_of}" if self.sender == KEEPER and self.on_behalf_of else self.sender


class Shown:
    """What of a room is on the screen, so that a message that changed is told as a change and nothing comes twice."""

    def __init__(self, columns: Callable[[], int] = columns) -> None:
        """`columns` says how wide the screen is by now; 0 for one that breaks no lines."""
        self._columns = columns
        self._texts: dict[str, str] = {}
        self._cards: dict[tuple[str, int], str] = {}

    def message(self, told: dict[str, Any]) -> list[str]:
        """The lines for a message that came or changed; none when there is nothing new to see."""
        message = msgspec.convert(told, Said)
        return [*self._said(message), *self._attached(message)]

    def _said(self, message: Said) -> Iterator[str]:
        before = self._texts.get(message.id)
        gone = message.deleted_at is not None
        text = "" if gone else message.text
        self._texts[message.id] = text
        if before is None and gone:
            yield self._line(message, "", "(taken back)")
        elif before is None and (text or not message.attachments):
            yield self._line(message, text)
        elif gone and before:
            yield self._line(message, "", f"(took back: {_short(before)})")
        elif before is not None and text != before:
            yield self._line(message, text, "(changed)" if before else "")

    def _line(self, message: Said, text: str, note: str = "") -> str:
        """A message with its first line beside the name. Only `note` is styled: it is ours, and others' text is not."""
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
    """What waits for a person: exactly what would run, by whom, and how to answer within the seconds that are `left`,
    which `people` at a terminal can with one letter."""
    by = visible(str(shown.get("caller", "")), lines=False)
    width = columns()
    head = indented(f"{shown.get('command', '')} of {by} waits for your approval.", width, 0)
    what = visible(str(shown.get("shown", "")))
    lines = [
        click.style(head, fg="yellow", bold=True),
        "It would run exactly:",
        *(f"  {line}" for line in what.splitlines()),
    ]
    if effect := shown.get("effect") or shown.get("difference"):
        text = effect if isinstance(effect, str) else msgspec.json.encode(effect).decode()
        lines += ["It would change:", *(f"  {line}" for line in visible(text).splitlines())]
    how = "Say yes with approve or y, no with deny or n." if people else "Say yes with approve, no with deny."
    within = f"It waits {_span(left)}; then it counts as no."
    return [*lines, indented(f"{how} {within} ({visible(str(shown.get('id', '')), lines=False)})", width, 0)]


def decision(command: str, state: str, decider: str) -> list[str]:
    """That somebody decided, said at once: what came of it may take a while."""
    did = {"denied": "denied", "pending": "said yes, and more people must"}.get(state, "approved")
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
