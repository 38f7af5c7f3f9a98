"""Long-running programs of rooms, such as development servers: their state, their output and their end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import msgspec

from doorward.config.settings import SandboxSettings
from doorward.core.clock import Clock
from doorward.core.errors import CommandFailed, Conflict
from doorward.sandbox.port_forwarder import PortForwarder
from doorward.sandbox.program import OnOutput, OutputStream, RoomKey, SandboxResult
from doorward.sandbox.resident_program import ResidentProgram
from doorward.store import kv
from doorward.store.sqlite import Store

_KEY = "processes"
_MOST_ENDED = 100
_LOG_BYTES = 256 * 1024
_WITH_SERVER = "ended with the server"
_STOP_GRACE = 3.0
_LIMITS = {
    "processes": "stopped because it started too many processes",
    "draft": "stopped because its draft became too large (setting sandbox.draft_bytes)",
    "disk": "stopped because the disk has too little space left",
}


class ProcessLog:
    """The last output of a process, both streams in order. Positions count all bytes ever written."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.total = 0

    def write(self, _: OutputStream, piece: bytes) -> None:
        self.total += len(piece)
        self._kept += piece
        del self._kept[:-_LOG_BYTES]

    @property
    def first(self) -> int:
        """The position of the first byte that is still kept."""
        return self.total - len(self._kept)

    def read(self, since: int) -> bytes:
        return bytes(self._kept[max(0, since - self.first) :])


class ProcessRecord(msgspec.Struct, kw_only=True):
    """The stored facts of a process."""

    id: str
    tenant: str
    room: str
    caller: str
    behalf: str
    name: str
    command: str
    """Its script, with secrets redacted."""
    folder: str
    started_at: float
    ended_at: float | None = None
    end: str = ""
    """How it ended, as a clause; empty while it runs."""
    exit_code: int | None = None
    note: str = ""
    """What people should know about it."""


class RoomProcess:
    def __init__(self, record: ProcessRecord) -> None:
        self.record = record
        self.log = ProcessLog()
        self.program: ResidentProgram | None = None
        self.opened: dict[int, PortForwarder] = {}
        """Its ports that are open to a person's browser."""
        self._opening = asyncio.Lock()
        self.watch: asyncio.Task[None] | None = None
        """Waits for its end."""

    @property
    def is_running(self) -> bool:
        return self.record.ended_at is None

    async def open_port(self, port: int, start: Callable[[], Awaitable[PortForwarder]]) -> str:
        """A link that opens one of its ports in a browser. `start` makes the forwarder of a port that has none yet."""
        async with self._opening:
            if port not in self.opened:
                self.opened[port] = await start()
        if not self.is_running:
            self.close_ports()
            raise Conflict(f"Process {self.record.id} has ended: {self.record.end}.")
        return self.opened[port].make_link()

    def close_ports(self) -> None:
        while self.opened:
            self.opened.popitem()[1].close()

    async def list_ports(self) -> list[int]:
        """The ports on which it listens now."""
        return await self.program.list_ports() if self.program is not None and self.is_running else []


class RoomProcesses:
    def __init__(self, store: Store, clock: Clock, settings: SandboxSettings) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._processes: dict[str, RoomProcess] = {}

    async def load(self) -> None:
        """Load the processes of earlier runs. Those that had not ended did so with that server."""
        stored = await kv.get(self._store, _KEY)
        for record in msgspec.json.decode(stored, type=list[ProcessRecord]) if stored else ():
            if record.ended_at is None:
                record.ended_at, record.end = self._clock.now(), _WITH_SERVER
            self._processes[record.id] = RoomProcess(record)

    def __iter__(self) -> Iterator[RoomProcess]:
        return iter(self._processes.values())

    def get(self, id: str) -> RoomProcess | None:
        return self._processes.get(id)

    def has_running(self, room: RoomKey) -> bool:
        """Whether a process runs in this room."""
        return any(one.is_running and (one.record.tenant, one.record.room) == room for one in self)

    async def start(
        self,
        record: ProcessRecord,
        start: Callable[[OnOutput], Awaitable[ResidentProgram]],
        inspect: Callable[[], Awaitable[str]],
    ) -> RoomProcess:
        """Start a process within the limits. `inspect` returns a note about it when it has ended."""
        self._check_limits(record)
        process = self._processes[record.id] = RoomProcess(record)
        try:
            process.program = await start(process.log.write)
            await self._save()
        except BaseException:
            del self._processes[record.id]
            if process.program is not None:
                await process.program.kill()
            raise
        process.watch = asyncio.create_task(self._watch(process, process.program, inspect))
        return process

    async def stop(self, process: RoomProcess, by: str) -> None:
        """End a process and all its descendants: first SIGTERM, then SIGKILL."""
        if process.program is not None and process.is_running:
            process.record.end = f"stopped by {by}"
            await process.program.stop(_STOP_GRACE)
        if process.watch is not None:
            await asyncio.wait([process.watch])

    async def close(self) -> None:
        """End every process. The next server says that they ended with this one."""
        for process in self:
            if process.program is not None:
                process.record.end = process.record.end or _WITH_SERVER
                await process.program.kill()
        watches = [process.watch for process in self if process.watch is not None]
        if watches:
            await asyncio.wait(watches)

    def _check_limits(self, record: ProcessRecord) -> None:
        running = [
            one.record
            for one in self
            if one.is_running and (one.record.tenant, one.record.room) == (record.tenant, record.room)
        ]
        mine = sum(one.caller == record.caller for one in running)
        for count, most, whose, setting in (
            (len(running), self._settings.room_processes, "in this room", "room_processes"),
            (mine, self._settings.caller_processes, "of yours in this room", "caller_processes"),
        ):
            if count >= most:
                raise Conflict(
                    f"{count} processes {whose} run already; at most {most} may (setting sandbox.{setting}).",
                    hint="Stop one of them: process/list, process/stop",
                )

    async def _watch(
        self, process: RoomProcess, program: ResidentProgram, inspect: Callable[[], Awaitable[str]]
    ) -> None:
        """Wait for the end of a process and record it."""
        record = process.record
        try:
            ended = await program.wait()
        except CommandFailed as error:
            record.end = record.end or error.message
        else:
            record.exit_code = ended.exit_code
            record.end = record.end or _describe_end(ended)
        record.ended_at = self._clock.now()
        process.close_ports()
        record.note = await inspect()
        process.program = None
        for old in [one for one in self if not one.is_running][:-_MOST_ENDED]:
            del self._processes[old.record.id]
        await self._save()

    async def _save(self) -> None:
        records = [one.record for one in self]
        await self._store.write(kv.put(_KEY, msgspec.json.encode(records).decode()))


def _describe_end(ended: SandboxResult) -> str:
    if ended.stopped:
        return _LIMITS.get(ended.stopped, f"stopped: {ended.stopped}")
    if ended.exit_code is None:
        return f"ended by signal {ended.signal}"
    return f"ended with exit code {ended.exit_code}"
