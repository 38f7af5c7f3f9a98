"""Progress of a running call as notifications: rate-limited, in order, and without repetition."""

from __future__ import annotations

import asyncio
import contextlib
import time

from doorward.core.wire.meta import LOG_LEVELS, LogLevel
from doorward.doors.mcp.request import McpRequest
from doorward.gate.executions.notices import LogNotice, Notice, OutputNotice, ProgressNotice, StartedNotice, StepNotice

INTERVAL = 0.1
"""Seconds between two notifications about one call; notices in between are combined."""
SILENCE = 2.0
"""Seconds without news of a running call after which its client is notified that it still runs."""
MAX_OUTPUT = 4_000
"""Most characters of output in one notification; execution/output returns all of it."""
MAX_LOGGED = 50
"""Most log messages of another server that are sent at once; of the rest only the number is sent."""
MAX_MESSAGE = 1_000
"""Most characters of a command's progress message. A whole notification stays far below 64 KiB."""


class ProgressReporter:
    """Sends the gate's notices to the client, as progress and, if the client wants them, as log messages."""

    def __init__(self, ask: McpRequest) -> None:
        self._ask = ask
        self._fraction: float | None = None
        self._doing = ""
        self._text = ""
        self._left_out = 0
        self._logged: list[tuple[LogLevel, str, str]] = []
        self._unlogged = 0
        self._moved = False
        """Whether there is news other than log messages."""
        self._last = 0.0
        self._news = False
        self._over = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None
        self._began = 0.0
        self._last_notice = 0.0
        self._pulse: asyncio.TimerHandle | None = None

    def report(self, notice: Notice) -> None:
        self._last_notice = time.monotonic()
        if isinstance(notice, OutputNotice):
            self._text += notice.text
            if len(self._text) > MAX_OUTPUT:
                self._left_out += len(self._text) - MAX_OUTPUT
                self._text = self._text[-MAX_OUTPUT:]
        elif isinstance(notice, ProgressNotice):
            self._fraction, self._doing = notice.fraction, notice.message[:MAX_MESSAGE]
        elif isinstance(notice, StartedNotice):
            if not notice.queued:
                self._start_pulse()
                return
            self._doing = "Queued."
        elif isinstance(notice, LogNotice):
            self._log(notice)
        elif isinstance(notice, StepNotice):
            doing = _describe_step(notice)
            if not doing:
                return
            self._doing = doing[:MAX_MESSAGE]
        elif notice.kind == "sampling":
            return
        else:
            self._doing = f"{notice.server} asks a question. Answer: doorward approvals answer {notice.question}"
        self._moved = self._moved or not isinstance(notice, LogNotice)
        self._wake()

    def _wake(self) -> None:
        self._news = True
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_all())

    def _start_pulse(self) -> None:
        """The call runs from now on. A client without news for long may take it for dead and give up."""
        if self._pulse is None and self._ask.meta.progress is not None:
            self._began = time.monotonic()
            self._pulse = asyncio.get_running_loop().call_later(SILENCE, self._send_pulse)

    def _send_pulse(self) -> None:
        now = time.monotonic()
        left = self._last_notice + SILENCE - now
        if left <= 0:
            self._doing, self._moved = f"Running for {now - self._began:.0f} s.", True
            self._last_notice, left = now, SILENCE
            self._wake()
        self._pulse = asyncio.get_running_loop().call_later(left, self._send_pulse)

    def _log(self, notice: LogNotice) -> None:
        """Keep a log message of another server, if the client wants its level."""
        level: LogLevel = notice.level if notice.level in LOG_LEVELS else "info"
        least = self._ask.log_level
        if least is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(least):
            return
        if len(self._logged) < MAX_LOGGED:
            self._logged.append((level, notice.server, notice.text))
        else:
            self._unlogged += 1

    async def finish(self) -> None:
        """Send what is not sent yet. Call it before the answer."""
        self._stop_pulse()
        self._over.set()
        if self._sender is not None:
            await self._sender

    def stop(self) -> None:
        self._stop_pulse()
        if self._sender is not None:
            self._sender.cancel()

    def _stop_pulse(self) -> None:
        if self._pulse is not None:
            self._pulse.cancel()

    async def _send_all(self) -> None:
        """Send news at intervals until there is none; the next notice starts it again."""
        while self._news:
            self._news = False
            await self._send_news()
            if not self._over.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(INTERVAL):
                        await self._over.wait()
        self._sender = None

    async def _send_news(self) -> None:
        fraction, doing, text, left_out = self._fraction, self._doing, self._text, self._left_out
        self._text, self._doing, self._left_out = "", "", 0
        if left_out:
            text = f"[{left_out} characters left out]\n{text}"
        logged, self._logged = self._logged, []
        for level, server, said in logged:
            await self._ask.send_log(level, said, server)
        if self._unlogged:
            await self._ask.send_log("warning", f"{self._unlogged} log messages of the server were left out.")
            self._unlogged = 0
        if not self._moved:
            return
        self._moved = False
        if text and (self._ask.peer.level or self._ask.meta.level) is not None:
            await self._ask.send_log("info", text, "output")
        await self._ask.send_progress(*self._next_number(fraction), "\n".join(filter(None, [doing, text.rstrip("\n")])))

    def _next_number(self, fraction: float | None) -> tuple[float, float | None]:
        """A number above the last one, as the protocol requires: the percentage if it is known, else a count."""
        if fraction is None:
            self._last += 1
            return self._last, None
        self._last = max(self._last + 0.001, round(fraction * 100, 3))
        return self._last, 100.0 if self._last <= 100 else None


def _describe_step(step: StepNotice) -> str:
    """The current step of a call that consists of others, in one line; empty if it is not worth one."""
    data = step.data
    if step.kind == "thinking":
        return f"Thinking with {data['model']}, turn {data['turn']}."
    if step.kind == "tool_started":
        given = data["input"]
        return f"{data['name']} {given.get('command') or given.get('path', '')}"
    if step.kind == "tool_finished" and data["status"] != "done":
        return f"{data['name']}: {data['status']}"
    return str(data["text"]) if step.kind == "note" else ""
