"""Pending calls of the line door: their notifications, and the request ids that name them.

A call that ends quickly gets only its response, so a client may read exactly one line for each request. A slow call
also gets notifications before its response: that it started, its output, its elapsed time and how it ended.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any, Literal

from doorward.core.command import shorten
from doorward.core.errors import Conflict
from doorward.core.model import Outcome, Request
from doorward.doors.line import frames
from doorward.doors.line.client import LineClient
from doorward.doors.line.frames import Id
from doorward.doors.line.results import ResultStyle
from doorward.gate.executions.notices import Notice, OutputNotice, ProgressNotice, StartedNotice

NotifyLevel = Literal["slow", "all", "none"]
NOTIFY_LEVELS: tuple[NotifyLevel, ...] = ("slow", "all", "none")
"""Which calls send notifications: slow ones, all, or none."""
_MAX_PIECE = 8_192


class PendingCall:
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

    def __init__(
        self, id: Id, tool: str, client: LineClient, request: Request, style: ResultStyle, notify: NotifyLevel
    ) -> None:
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
        self._written: list[OutputNotice] = []
        self._doing: ProgressNotice | None = None

    def on_notice(self, notice: Notice) -> None:
        """Store a notice from the gate until it is due."""
        if isinstance(notice, StartedNotice):
            self.execution = notice.execution
            self._waits = notice.queued
        elif self.notify == "none":
            return
        elif isinstance(notice, OutputNotice):
            self._written.append(notice)
        elif isinstance(notice, ProgressNotice):
            self._doing = notice

    def take_notifications(self, now: float, quiet: float, every: float) -> bytes:
        """The notifications that are due, as lines."""
        if self.notify == "none" or not self.execution:
            return b""
        lines = []
        if not self._told:
            if self.notify == "slow" and now - self.began < quiet:
                return b""
            self._told = True
            self._spoke = now
            lines.append(self._started_line())
        lines += self._output_lines()
        elapsed = round(now - self.began, 3)
        if self._doing is not None:
            said, self._doing = self._doing, None
            more = {"fraction": said.fraction, "elapsed_time": elapsed}
            lines.append(self._encode("tool_progress", said.message or f"{self.tool} is running.", more))
        elif now - self._spoke >= every and not lines:
            more = {"elapsed_time": elapsed}
            lines.append(self._encode("tool_progress", f"{self.tool} has been running for {elapsed:.1f} s.", more))
        if lines:
            self._spoke = now
        return b"".join(lines)

    def final_notifications(self, outcome: Outcome, now: float) -> bytes:
        """The final notification, for a client that was notified of the start."""
        lines = []
        if not self._told:
            if self.notify != "all" or not self.execution:
                return b""
            lines.append(self._started_line())
        elapsed = round(now - self.began, 3)
        lines += self._output_lines()
        if outcome.status == "done":
            message = f"{self.tool} completed after {elapsed:.1f} s."
            lines.append(self._encode("tool_completed", message, {"elapsed_time": elapsed}))
        else:
            more = {"elapsed_time": elapsed, "code": outcome.code, "status": outcome.status}
            lines.append(self._encode("tool_failed", outcome.message, more))
        return b"".join(lines)

    def _started_line(self) -> bytes:
        message = f"{self.tool} is queued." if self._waits else f"{self.tool} has started."
        return self._encode("tool_started", message, {})

    def _output_lines(self) -> list[bytes]:
        """The output since the last notification: joined by stream, then split to a bounded length."""
        written, self._written = self._written, []
        lines = []
        for stream, text in _join_output(written):
            for start in range(0, len(text), _MAX_PIECE):
                piece = text[start : start + _MAX_PIECE]
                more = {"stream": stream, "output": piece}
                lines.append(self._encode("tool_progress", f"{self.tool} wrote {len(piece)} characters.", more))
        return lines

    def _encode(self, event: str, message: str, more: dict[str, Any]) -> bytes:
        named = {"request_id": self.id, "execution_id": self.execution, "tool": self.tool}
        return frames.encode_notification(event, message, named | more)


def _join_output(written: list[OutputNotice]) -> list[tuple[str, str]]:
    runs: list[tuple[str, list[str]]] = []
    for piece in written:
        if runs and runs[-1][0] == piece.stream:
            runs[-1][1].append(piece.text)
        else:
            runs.append((piece.stream, [piece.text]))
    return [(stream, "".join(texts)) for stream, texts in runs]


_MAX_ENDED = 2_000


class CallIds:
    """The newest calls of all clients. A reused id names the newer call."""

    def __init__(self) -> None:
        self._pending: dict[tuple[str, Id], PendingCall] = {}
        self._ended: OrderedDict[tuple[str, Id], str] = OrderedDict()

    def add(self, pending: PendingCall) -> None:
        """Add a call. Two running calls of one connection cannot share an id: their answers would be ambiguous.

        Other connections may reuse it. Programs without a token are one client and do not know each other's ids.
        """
        key = (pending.client.session, pending.id)
        other = self._pending.get(key)
        if other is not None and other.client is pending.client:
            raise Conflict(
                f"The id {shorten(pending.id)} is in use by {other.tool[:80] or 'a call'}, which is still running. "
                "Use another id, or wait for that call."
            )
        self._pending[key] = pending

    def remove(self, pending: PendingCall, execution: str) -> None:
        """Mark a call as ended. Its execution, if any, can still be queried."""
        key = (pending.client.session, pending.id)
        if self._pending.get(key) is pending:
            del self._pending[key]
        if execution:
            self._ended[key] = execution
            self._ended.move_to_end(key)
            if len(self._ended) > _MAX_ENDED:
                self._ended.popitem(last=False)

    def find(self, session: str, id: Any) -> PendingCall | str:
        """The pending call with this id, or else the id of an execution."""
        key = (session, id)
        return self._pending.get(key) or self._ended.get(key) or str(id)

    def resolve_execution(self, session: str, id: Any) -> Any:
        """Replace a client's request id by its execution, if it names one."""
        if not isinstance(id, str | int):
            return id
        found = self.find(session, id)
        if isinstance(found, PendingCall):
            return found.execution or id
        return found
