"""The stdio transport: a server process in the sandbox, with one message per line.

Companies that inspect their own TLS traffic name their certificates in these variables; without them, programs cannot
connect.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from doorward.core.errors import Unreachable
from doorward.core.wire.lines import LineFramer, LineTooLong
from doorward.sandbox.long_running import LongRunningProfile, LongRunningProgram
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import Connect, MessageReceiver, UpstreamConnection
from doorward.upstream.packages.installation import find_installation

CA_VARIABLES = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def find_ca_files(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that name an existing file, with their paths."""
    named = {name: environment.get(name, "") for name in CA_VARIABLES}
    return {name: path for name, path in named.items() if os.path.isabs(path) and os.path.isfile(path)}


LONGEST_LINE = 16 * 1024 * 1024
_PIECE = 256 * 1024
_MOST_UNREAD = 32 * 1024 * 1024
"""Bytes to buffer for a server that does not read; more are refused."""
_LONGEST_ERROR_LINE = 8 * 1024
_MOST_ERROR_LINES = 1_000
_MOST_ERROR_BYTES = 1024 * 1024
"""Limit on standard error read per second; a server that writes more has to wait."""
_KEPT_ERROR_LINES = 40
"""Last lines of standard error to search for the reason why a server ended."""
_FALLBACK_LINES = 3
_ERROR = re.compile(r"^\s{0,8}[\w.:]{0,60}(?:Error|Exception|panicked|fatal|FATAL|ERROR)\b")
_COMPLAINT = re.compile(
    r"^(?!\s*at ).{0,300}\b(?:error|cannot|denied|not found|no such|failed|missing)\b", re.IGNORECASE
)
_GRACE = 2.0
"""Seconds between the steps of a shutdown: close its input, SIGTERM, SIGKILL."""
_END_SECONDS = 0.5
"""Seconds for a server that closed its output to end, so that its exit code is known."""


class ProgramStarter(Protocol):
    """Starts processes; implemented by the sandbox."""

    async def keep(
        self, surroundings: LongRunningProfile, argv: list[str], environment: Mapping[str, str], folder: str
    ) -> LongRunningProgram: ...


def make_connector(keeper: ProgramStarter, folder: Path, grace: float = _GRACE) -> Connect:
    """Connect to servers as processes, each with its own folder below `folder`. `grace` is for the shutdown steps.

    A server may read the packages that were installed for its id, in a folder beside `folder`.
    """

    async def connect(config: ServerConfig, receiver: MessageReceiver) -> UpstreamConnection:
        home = str(folder / config.id)
        around = config.sandbox
        trust = find_ca_files(os.environ) if around.network else {}
        profile = LongRunningProfile(
            id=config.id,
            home=home,
            read=(*around.read, *trust.values()),
            write=around.write,
            installation=find_installation(folder.parent, config.id),
            network=around.network,
            memory_bytes=around.memory_bytes,
            processes=around.processes,
        )
        environment = {**trust, **config.env}
        kept = await keeper.keep(profile, [config.command, *config.args], environment, config.folder or home)
        return StdioServerConnection(config.id, kept, receiver, grace)

    return connect


class StdioServerConnection:
    """A `connection.Connection` over the streams of a process."""

    def __init__(
        self,
        name: str,
        kept: LongRunningProgram,
        receiver: MessageReceiver,
        grace: float = _GRACE,
        longest: int = LONGEST_LINE,
    ) -> None:
        self._name = name
        self._program = kept
        self._grace = grace
        self._receiver = receiver
        self._loop = loop = asyncio.get_running_loop()
        self._longest = longest
        self._lines = LineFramer(longest)
        self._ready: deque[bytes] = deque()
        self._unwritten = bytearray()
        self._waits_for_room = False
        self._closed_input = False
        self._expected = 0
        """Estimated number of outstanding responses: every received line counts as one."""
        self._errors = _ErrorLines(receiver)
        self._resume_timer: asyncio.TimerHandle | None = None
        self._end_timer: asyncio.TimerHandle | None = None
        self._stderr_timer: asyncio.TimerHandle | None = None
        self._resting = False
        self._awake = asyncio.Event()
        self._awake.set()
        self._over = False
        loop.add_reader(kept.stdout, self._read_stdout)
        loop.add_reader(kept.stderr, self._read_stderr)
        self._watch_task = loop.create_task(self._watch())

    @property
    def process(self) -> int | None:
        return self._program.process

    @property
    def confinement(self) -> str:
        return self._program.level

    def send(
        self, frame: bytes, *, id: int | None = None, method: str = "", params: Mapping[str, Any] | None = None
    ) -> None:
        if self._over:
            raise Unreachable(f"The server {self._name} has ended.")
        if self._closed_input:
            raise Unreachable(f"The server {self._name} takes no more messages: it closed its input.")
        unwritten = self._unwritten
        if len(unwritten) + len(frame) > _MOST_UNREAD and unwritten:
            raise Unreachable(f"The server {self._name} does not read what it is sent.")
        gathers = not unwritten and self._expected > 0
        unwritten += frame
        unwritten += b"\n"
        if id is not None:
            self._expected += 1
        if gathers:
            self._loop.call_soon(self._flush)
        elif len(unwritten) == len(frame) + 1:
            self._flush()
            if self._closed_input:
                raise Unreachable(f"The server {self._name} takes no more messages: it closed its input.")

    def _flush(self) -> None:
        """Write buffered data, or wait for room in the pipe. While responses are outstanding, the messages of one loop
        iteration are written together, so that a busy server is not woken up for each line."""
        try:
            written = os.write(self._program.stdin, self._unwritten) if self._unwritten else 0
        except BlockingIOError:
            written = 0
        except OSError:
            self._closed_input = True
            written = len(self._unwritten)
            if self._end_timer is None and not self._over:
                self._end_timer = self._loop.call_later(
                    _END_SECONDS, self._report_lost, "closed its input but did not end"
                )
        del self._unwritten[:written]
        if self._unwritten and not self._waits_for_room:
            self._waits_for_room = True
            self._loop.add_writer(self._program.stdin, self._flush)
        elif not self._unwritten and self._waits_for_room:
            self._waits_for_room = False
            self._loop.remove_writer(self._program.stdin)

    def drop(self, id: int, notice: bytes) -> None:
        if not self._over:
            try:
                self.send(notice)
            except Unreachable as error:
                self._receiver.noted(error.message)

    def agreed(self, version: str) -> None:
        """Nothing to do: the version is only in the messages."""

    def admit(self, tools: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
        return tools, []

    def rest(self, seconds: float) -> None:
        if self._over:
            return
        if self._resume_timer is not None:
            self._resume_timer.cancel()
            self._resume_timer = None
        if seconds > 0:
            self._resting = True
            self._awake.clear()
            self._loop.remove_reader(self._program.stdout)
            self._resume_timer = self._loop.call_later(seconds, self.rest, 0.0)
        elif self._resting:
            self._resting = False
            self._loop.call_soon(self._resume)

    async def close(self) -> None:
        self._stop()
        self._watch_task.cancel()
        await self._program.shut_down(self._grace)

    def _read_stdout(self) -> bool:
        """Read once and deliver complete messages; return whether there was data."""
        try:
            data = os.read(self._program.stdout, _PIECE)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._program.stdout)
            if self._end_timer is None:
                self._end_timer = self._loop.call_later(
                    _END_SECONDS, self._report_lost, "closed its output but did not end"
                )
            return False
        try:
            lines = self._lines.feed(data)
        except LineTooLong:
            self._report_lost(f"wrote a line of more than {self._longest} bytes, which is the limit")
            return False
        self._expected = max(0, self._expected - len(lines))
        if len(lines) == 1 and not self._ready:
            self._receiver.received(lines[0])
        else:
            self._ready.extend(lines)
            self._deliver()
        return True

    def _resume(self) -> None:
        """Deliver buffered messages and resume reading."""
        if self._over or self._resting:
            return
        self._deliver()
        if not self._resting and not self._over:
            self._loop.add_reader(self._program.stdout, self._read_stdout)
            self._awake.set()

    def _deliver(self) -> None:
        while self._ready and not self._resting and not self._over:
            self._receiver.received(self._ready.popleft())

    def _read_stderr(self) -> None:
        try:
            data = os.read(self._program.stderr, _PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        pause = self._errors.feed(data, self._loop.time())
        if not data or pause:
            self._loop.remove_reader(self._program.stderr)
            if data:
                self._stderr_timer = self._loop.call_later(
                    pause, self._loop.add_reader, self._program.stderr, self._read_stderr
                )

    async def _watch(self) -> None:
        """Wait for the end of the process, deliver its last messages, and report how it ended."""
        end = await self._program.wait()
        while not self._over and self._read_stdout():
            await self._awake.wait()
        if not self._over:
            self._read_stderr()
            words = f"; its last output: {said}" if (said := self._errors.find_cause()) else ""
            code = f"ended with exit code {end.exit_code}"
            how = str(end).removeprefix("it ") if end.exit_code is None or end.stopped else code
            self._report_lost(f"{how}{words}")

    def _report_lost(self, how: str) -> None:
        if not self._over:
            self._stop()
            self._receiver.lost(Unreachable(f"The server {self._name} {how}."))

    def _stop(self) -> None:
        if self._over:
            return
        self._over = True
        for timer in (self._resume_timer, self._end_timer, self._stderr_timer):
            if timer is not None:
                timer.cancel()
        kept = self._program
        for descriptor in (kept.stdout, kept.stderr):
            if descriptor >= 0:
                self._loop.remove_reader(descriptor)
        if kept.stdin >= 0:
            self._loop.remove_writer(kept.stdin)
        self._ready.clear()
        self._unwritten.clear()
        self._awake.set()


class _ErrorLines:
    """Reads standard error line by line, with limits on line length and rate."""

    def __init__(self, receiver: MessageReceiver) -> None:
        self._receiver = receiver
        self._rest = b""
        self._since = 0.0
        self._lines = self._bytes = 0
        self._last: deque[str] = deque(maxlen=_KEPT_ERROR_LINES)

    def find_cause(self) -> str:
        """The likely cause of the end: the last line that names an error or, without one, the last few lines.

        The very last line is often not the cause: many programs print a stack trace or their version after it.
        """
        for shape in (_ERROR, _COMPLAINT):
            for line in reversed(self._last):
                if shape.search(line):
                    return line.strip()
        return " / ".join(line.strip() for line in list(self._last)[-_FALLBACK_LINES:])

    def feed(self, data: bytes, now: float) -> float:
        """Take a piece of output (empty at the end) and return the seconds to pause reading."""
        if now - self._since >= 1.0:
            self._since, self._lines, self._bytes = now, 0, 0
        *whole, rest = (self._rest + data).split(b"\n")
        if not data or len(rest) > _LONGEST_ERROR_LINE:
            whole.append(rest)
            rest = b""
        self._rest = rest
        for line in whole[:_MOST_ERROR_LINES]:
            text = line[:_LONGEST_ERROR_LINE].decode("utf-8", "replace").rstrip()
            if text:
                self._last.append(text)
                self._receiver.noted(text)
        if len(whole) > _MOST_ERROR_LINES:
            self._receiver.noted(f"({len(whole) - _MOST_ERROR_LINES} lines were left out)")
        self._lines += len(whole)
        self._bytes += len(data)
        much = self._lines >= _MOST_ERROR_LINES or self._bytes >= _MOST_ERROR_BYTES
        return self._since + 1.0 - now if much else 0.0
