"""A pending call, and the notifications that its client gets while it runs.

A call that ends quickly gets only its response, so a client may read exactly one line for each request. A slow call
also gets notifications before its response: that it started, its output, its elapsed time and how it ended.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from doorward.doors.line import frames
from doorward.doors.line.client import Client
from doorward.doors.line.frames import Id
from doorward.doors.line.results import Style
from doorward.executions.notices import Notice, Output, Progress, Started
from doorward.model import Outcome, Request

Notify = Literal["slow", "all", "none"]
NOTIFY: tuple[Notify, ...] = ("slow", "all", "none")
"""Which calls send notifications: slow ones, all, or none."""
_LONGEST_PIECE = 8_192


class Pending:
    __slots__ = (
        "_doing",
        "_spoke",
        "_told",
        "_waits",
        "_written",
        "began",
        "client",
        "execution",
        "id",
        "notify",
        "out_of_time",
        "request",
        "style",
        "task",
        "tool",
        "withdrawn",
    )

    def __init__(self, id: Id, tool: str, client: Client, request: Request, style: Style, notify: Notify) -> None:
        self.id = id
        self.tool = tool
        self.client = client
        self.request = request
        self.style = style
        self.notify = notify
        self.began = 0.0
        """When it was passed to the gate, by the event loop's clock; 0 while it waits."""
        self.execution = ""
        """The id that the gate gave it; empty until then."""
        self.task: asyncio.Task[None] | None = None
        self.out_of_time = False
        self.withdrawn = False
        self._told = False
        self._waits = False
        self._spoke = 0.0
        self._written: list[Output] = []
        self._doing: Progress | None = None

    def hear(self, notice: Notice) -> None:
        """Store a notice from the gate until it is due."""
        if isinstance(notice, Started):
            self.execution = notice.execution
            self._waits = notice.queued
        elif self.notify == "none":
            return
        elif isinstance(notice, Output):
            self._written.append(notice)
        elif isinstance(notice, Progress):
            self._doing = notice

    def news(self, now: float, quiet: float, every: float) -> bytes:
        """The notifications that are due, as lines."""
        if self.notify == "none" or not self.execution:
            return b""
        lines = []
        if not self._told:
            if self.notify == "slow" and now - self.began < quiet:
                return b""
            self._told = True
            self._spoke = now
            lines.append(self._started())
        lines += self._output()
        elapsed = round(now - self.began, 3)
        if self._doing is not None:
            said, self._doing = self._doing, None
            more = {"fraction": said.fraction, "elapsed_time": elapsed}
            lines.append(self._line("tool_progress", said.message or f"{self.tool} is running.", more))
        elif now - self._spoke >= every and not lines:
            more = {"elapsed_time": elapsed}
            lines.append(self._line("tool_progress", f"{self.tool} has been running for {elapsed:.1f} s.", more))
        if lines:
            self._spoke = now
        return b"".join(lines)

    def last_news(self, outcome: Outcome, now: float) -> bytes:
        """The final notification, for a client that was notified of the start."""
        lines = []
        if not self._told:
            if self.notify != "all" or not self.execution:
                return b""
            lines.append(self._started())
        elapsed = round(now - self.began, 3)
        lines += self._output()
        if outcome.status == "done":
            message = f"{self.tool} completed after {elapsed:.1f} s."
            lines.append(self._line("tool_completed", message, {"elapsed_time": elapsed}))
        else:
            more = {"elapsed_time": elapsed, "code": outcome.code, "status": outcome.status}
            lines.append(self._line("tool_failed", outcome.message, more))
        return b"".join(lines)

    def _started(self) -> bytes:
        message = f"{self.tool} is queued." if self._waits else f"{self.tool} has started."
        return self._line("tool_started", message, {})

    def _output(self) -> list[bytes]:
        """The output since the last notification: joined by stream, then split to a bounded length."""
        written, self._written = self._written, []
        lines = []
        for stream, text in _joined(written):
            for start in range(0, len(text), _LONGEST_PIECE):
                piece = text[start : start + _LONGEST_PIECE]
                more = {"stream": stream, "output": piece}
                lines.append(self._line("tool_progress", f"{self.tool} wrote {len(piece)} characters.", more))
        return lines

    def _line(self, event: str, message: str, more: dict[str, Any]) -> bytes:
        named = {"request_id": self.id, "execution_id": self.execution, "tool": self.tool}
        return frames.notification(event, message, named | more)


def _joined(written: list[Output]) -> list[tuple[str, str]]:
    runs: list[tuple[str, list[str]]] = []
    for piece in written:
        if runs and runs[-1][0] == piece.stream:
            runs[-1][1].append(piece.text)
        else:
            runs.append((piece.stream, [piece.text]))
    return [(stream, "".join(texts)) for stream, texts in runs]
