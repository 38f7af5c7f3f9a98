"""The SQLite store: one writer thread that commits in groups, and a few read-only threads."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from doorward.core.errors import BadParams, Broken, Conflict, DoorwardError, LedgerUnavailable, Unusable
from doorward.store import migrations
from doorward.store.ledger import record
from doorward.store.storage_errors import is_damage, unavailable, unusable

T = TypeVar("T")

_ROWS_AT_ONCE = 32, 8, 4, 1
"""Records per INSERT. Each statement releases the GIL and waits to get it back, so fewer statements are faster."""
_JOBS_AT_ONCE = 512
_QUIET_TURNS = 2
"""A request takes two turns of the event loop to reach its record: one to be read, one to run."""
_LOG_PAGES = 4_000
"""16 MB of write-ahead log before a checkpoint, so that the ledger's pages are rewritten less often."""
_INSERT = f"INSERT INTO ledger ({', '.join(record.COLUMNS)}) VALUES "
_ONE_ROW = f"({', '.join('?' * len(record.COLUMNS))})"
_INSERTS = {rows: _INSERT + ", ".join([_ONE_ROW] * rows) for rows in _ROWS_AT_ONCE}


class Statement(NamedTuple):
    """One SQL statement of a write. If `rows` is given and a different number changes, the whole write is undone."""

    sql: str
    params: Sequence[Any] | Mapping[str, Any] = ()
    rows: int | None = None
    otherwise: str = "it changed in the meantime"
    """The reason in the error if the number of rows differs."""


class _Job(NamedTuple):
    statements: Sequence[Statement]
    entries: Sequence[record.Entry]
    durable: bool
    owed: bool
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[list[int]]


class Head(NamedTuple):
    seq: int
    hash: str


class Store:
    """Doorward's own data. A write is a list of statements that succeed or fail together."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self._key = key
        self._db, self.head = _open_for_writing(path, key)
        self._durable: bool | None = None
        self._owed: list[record.Entry] = []
        """End records of calls that could not be stored yet. They are stored first in the next write."""
        self.failing = False
        """Whether the last write failed, for example because the disk is full."""
        self.damage = ""
        """The error that showed a damaged database. It stays: the damage is there until a backup is restored."""
        self.is_starting = True
        """Whether the server still starts. An error then ends it, and it does not continue by itself."""
        self._closed = False
        self.loop: asyncio.AbstractEventLoop | None = None
        """The event loop of all writes. If None, it is looked up for each write, which costs a system call."""
        self._jobs: queue.SimpleQueue[list[_Job] | None] = queue.SimpleQueue()
        self._gathered: list[_Job] = []
        """Jobs not handed to the writer yet; see `_gather`."""
        self._seen = self._quiet = 0
        self._writer = threading.Thread(target=self._write_forever, name="store-writer", daemon=True)
        self._writer.start()
        self._local = threading.local()
        self._reading: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="store-reader")

    async def write(
        self,
        *statements: Statement,
        entries: Sequence[record.Entry] = (),
        durable: bool = True,
        owed: bool = False,
        then: Callable[[], None] | None = None,
    ) -> list[int]:
        """Run statements and append ledger entries atomically. Returns the changed rows of each statement.

        `durable` writes are on the disk before this returns. Other writes survive a crash of the process, but a power
        cut can lose the last of them. `owed` entries must not be lost: they are stored even if the statements are
        refused and, if the disk fails, with the next write that succeeds. `then` runs as soon as the write is stored,
        in the order of the writes, even if the waiting task is cancelled, so that memory matches the database.
        """
        stored = self.enqueue(*statements, entries=entries, durable=durable, owed=owed)
        if then is None:
            return await stored
        stored.add_done_callback(lambda done: then() if not (done.cancelled() or done.exception()) else None)
        return await asyncio.shield(stored)

    def enqueue(
        self, *statements: Statement, entries: Sequence[record.Entry] = (), durable: bool = True, owed: bool = False
    ) -> asyncio.Future[list[int]]:
        """Begin a write. Writes are stored in the order in which they begin, whether or not somebody waits for them."""
        if self._closed:
            raise LedgerUnavailable("Doorward is shutting down, so nothing more is stored.")
        loop = self.loop or asyncio.get_running_loop()
        job = _Job(statements, entries, durable, owed, loop, loop.create_future())
        self._gather(job)
        return job.done

    async def read(self, sql: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> list[dict[str, Any]]:
        """The rows of one SELECT as dictionaries."""
        return await self.in_reader(lambda db: [dict(row) for row in db.execute(sql, params)])

    async def in_reader(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work(connection)` on a thread with a read-only connection."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._with_reader, work)

    @property
    def has_owed_entries(self) -> bool:
        """Whether owed entries wait for the next successful write."""
        return bool(self._owed)

    def close(self) -> None:
        """Close all connections. The last one to close moves the write-ahead log into the database file."""
        self._closed = True
        self._hand_over()
        self._jobs.put(None)
        self._writer.join()
        self._readers.shutdown()
        for db in (*self._reading, self._db):
            db.close()

    def _gather(self, job: _Job) -> None:
        """Hold a job until no more jobs arrive: one commit for many jobs costs hardly more than for one.

        A single job waits a few turns of an idle event loop, which takes microseconds.
        """
        if self._gathered and self._gathered[0].loop is not job.loop:
            self._hand_over()
        self._gathered.append(job)
        if len(self._gathered) == 1:
            self._seen = self._quiet = 0
            job.loop.call_soon(self._check_gathered)

    def _check_gathered(self) -> None:
        """Check in each turn of the event loop whether more jobs have arrived, while jobs are held."""
        count = len(self._gathered)
        if not count:
            return
        self._quiet = 0 if count > self._seen else self._quiet + 1
        self._seen = count
        if self._quiet == _QUIET_TURNS or count >= _JOBS_AT_ONCE:
            self._hand_over()
        else:
            self._gathered[0].loop.call_soon(self._check_gathered)

    def _hand_over(self) -> None:
        jobs, self._gathered = self._gathered, []
        if jobs:
            self._jobs.put(jobs)

    def _with_reader(self, work: Callable[[sqlite3.Connection], T]) -> T:
        db = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = open_for_reading(self.path)
            self._reading.append(db)
        try:
            return work(db)
        except UnicodeEncodeError as error:
            raise BadParams("The search value contains bytes that are not UTF-8 text.") from error
        except sqlite3.Error as error:
            raise self._unavailable(error, "read from") from error

    def _write_forever(self) -> None:
        while True:
            jobs = self._jobs.get()
            if jobs is None:
                return
            batch = jobs
            stop = False
            while len(batch) < _JOBS_AT_ONCE:
                try:
                    jobs = self._jobs.get_nowait()
                except queue.Empty:
                    break
                if jobs is None:
                    stop = True
                    break
                batch += jobs
            self._write_batch(batch)
            if stop:
                return

    def _write_batch(self, batch: list[_Job]) -> None:
        entries = list(self._owed)
        answers: list[list[int] | DoorwardError] = []
        try:
            self._sync(any(job.durable for job in batch))
            self._db.execute("BEGIN IMMEDIATE")
            for job in batch:
                answer = self._run(job.statements) if job.statements else []
                answers.append(answer)
                if job.owed or not isinstance(answer, DoorwardError):
                    entries.extend(job.entries)
            head = self._append(entries) if entries else self.head
            self._db.execute("COMMIT")
            self.head = head
            self.failing = False
            self._owed.clear()
        except (sqlite3.Error, ValueError, OverflowError, MemoryError) as error:
            self._roll_back()
            self.failing = True
            self._owed.extend(entry for job in batch if job.owed for entry in job.entries)
            answers = [self._unavailable(error, "stored in")] * len(batch)
        _resolve_job(batch, answers)

    def _unavailable(self, error: Exception, way: str) -> LedgerUnavailable:
        if is_damage(error):
            self.damage = str(error)
        return unavailable(error, self.path, way, is_starting=self.is_starting)

    def _roll_back(self) -> None:
        """Roll the batch back. SQLite may have done so itself, and a failing disk can prevent even this."""
        if self._db.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")

    def _sync(self, durable: bool) -> None:
        if durable != self._durable:
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._durable = durable

    def _run(self, statements: Sequence[Statement]) -> list[int] | DoorwardError:
        """Run one job inside the batch's transaction. A failed job rolls back only its own changes."""
        self._db.execute("SAVEPOINT job")
        counts = []
        try:
            for statement in statements:
                count = self._db.execute(statement.sql, statement.params).rowcount
                if statement.rows is not None and count != statement.rows:
                    self._db.execute("ROLLBACK TO job")
                    return Conflict(f"Nothing was changed: {statement.otherwise}.")
                counts.append(count)
        except sqlite3.IntegrityError as error:
            self._db.execute("ROLLBACK TO job")
            return Conflict(f"Nothing was changed: {error}.")
        except (sqlite3.Error, ValueError, OverflowError) as error:
            if not self._db.in_transaction or not _is_statement_error(error):
                raise
            self._db.execute("ROLLBACK TO job")
            return Broken(f"Nothing was changed: the database refused a statement: {error}.")
        finally:
            if self._db.in_transaction:
                self._db.execute("RELEASE job")
        return counts

    def _append(self, entries: Sequence[record.Entry]) -> Head:
        seq, prev = self.head
        values: list[Any] = []
        for entry in entries:
            seq += 1
            hash_ = record.chain_hash(seq, entry, prev)
            values += (seq, *msgspec.structs.astuple(entry), prev, hash_)
            prev = hash_
        start, left = 0, len(entries)
        for rows in _ROWS_AT_ONCE:
            while left >= rows:
                end = start + rows * len(record.COLUMNS)
                self._db.execute(_INSERTS[rows], values[start:end])
                start, left = end, left - rows
        for entry in entries:
            if entry.phase == "start":
                self._db.execute("INSERT INTO open_calls (call) VALUES (?)", (entry.call,))
            elif entry.phase == "end":
                self._db.execute("DELETE FROM open_calls WHERE call = ?", (entry.call,))
        self._db.execute(
            "UPDATE ledger_head SET seq = ?, hash = ?, signature = ?",
            (seq, prev, record.sign(self._key, "head", seq, prev)),
        )
        return Head(seq, prev)


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a connection that cannot write."""
    uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if _is_on_a_read_only_disk(path) else ''}"
    db = None
    try:
        db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA query_only = ON")
        db.execute("PRAGMA schema_version")
        db.row_factory = sqlite3.Row
        return db
    except sqlite3.Error as error:
        if db is not None:
            db.close()
        raise unusable(error, path) from error


def _is_on_a_read_only_disk(path: Path) -> bool:
    """Whether to open the file as immutable: SQLite cannot create its shared files on a read-only disk.

    Nobody can write there, so a database without a write-ahead log does not need them.
    """
    log = path.with_name(f"{path.name}-wal")
    try:
        return bool(os.statvfs(path.parent).f_flag & os.ST_RDONLY) and not (log.exists() and log.stat().st_size)
    except OSError:
        return False


def _open_for_writing(path: Path, key: bytes) -> tuple[sqlite3.Connection, Head]:
    db = None
    try:
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5)
        migrations.version(db)
        path.chmod(0o600)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA secure_delete = ON")
        migrations.migrate(db)
        return db, _read_head(db, key)
    except (sqlite3.Error, OSError, Unusable) as error:
        if db is not None:
            db.close()
        raise error if isinstance(error, Unusable) else unusable(error, path) from error


def _read_head(db: sqlite3.Connection, key: bytes) -> Head:
    row = db.execute("SELECT seq, hash, signature FROM ledger_head").fetchone()
    if row is not None:
        seq, hash_, signature = row
        if not record.is_signed(key, signature, "head", seq, hash_):
            raise Unusable(
                "The end of the ledger is not signed with this server's secret. One of the two was replaced.",
                hint="Restore both from the same backup. For details, run `doorward audit verify`.",
            )
        return Head(seq, hash_)
    signature = record.sign(key, "head", 0, record.GENESIS)
    db.execute("INSERT INTO ledger_head VALUES (1, 0, ?, ?)", (record.GENESIS, signature))
    return Head(0, record.GENESIS)


def _resolve_job(batch: list[_Job], answers: Sequence[list[int] | DoorwardError]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[list[int]], Any]]] = {}
    for job, answer in zip(batch, answers, strict=True):
        by_loop.setdefault(job.loop, []).append((job.done, answer))
    for loop, pairs in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, pairs)


def _resolve(pairs: list[tuple[asyncio.Future[list[int]], list[int] | DoorwardError]]) -> None:
    for future, answer in pairs:
        if future.done():
            continue
        if isinstance(answer, DoorwardError):
            future.set_exception(answer)
        else:
            future.set_result(answer)


def _is_statement_error(error: Exception) -> bool:
    """Whether the statement caused the error, not the disk or the database file."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) in (
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_RANGE,
        sqlite3.SQLITE_TOOBIG,
    )
