"""R5.2: verify finds whatever was flipped, dropped, moved or cut, and names it in a sentence."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doorward import record
from doorward.app import House, open_house
from doorward.home import Home
from doorward.ledger.paths import LedgerPaths
from doorward.ledger.verify import Finding, verify
from doorward.model import Credential, Request

DOORWARD = Path(sys.executable).with_name("doorward")
RULES = {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 1_000_000}
RECIPE = {"recipeId": "lax", "displayName": "Lax", "strategy": {"aiCommands": RULES}}


class Ledger:
    """A copy of a real ledger, to be done evil to."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        self.paths = LedgerPaths.of(folder)

    def verify(self) -> Finding:
        return verify(self.paths, self.home.key())

    @contextlib.contextmanager
    def database(self) -> Iterator[sqlite3.Connection]:
        """As somebody has it who owns the file: no trigger stops them."""
        with contextlib.closing(sqlite3.connect(self.paths.database, isolation_level=None)) as db:
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                db.execute(f"DROP TRIGGER {name}")
            yield db

    def rows(self) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(self.paths.database)) as db:
            return db.execute(f"SELECT {', '.join(record.COLUMNS)} FROM ledger ORDER BY seq").fetchall()

    def put(self, rows: list[tuple[Any, ...]]) -> None:
        with self.database() as db:
            db.execute("DELETE FROM ledger")
            db.executemany(f"INSERT INTO ledger VALUES ({', '.join('?' * len(record.COLUMNS))})", rows)

    def checkpoint_lines(self) -> list[bytes]:
        return self.paths.checkpoints.read_bytes().splitlines(keepends=True)

    def put_checkpoints(self, lines: list[bytes]) -> None:
        self.paths.checkpoints.write_bytes(b"".join(lines))


async def ask(house: House, command: str, *, by: str = "", **params: Any) -> None:
    await house.gate.handle(
        Request(
            command=command,
            credential=Credential(owner=True, speak_as=by),
            door="test",
            room="lax" if by else "",
            params=params,
        )
    )


async def live(house: House, first: int, last: int) -> None:
    """Reads, changes, failures and refusals, a few records each."""
    for number in range(first, last):
        by = f"agent{number}"
        await ask(house, "file/write", by=by, path=f"{number}.txt", content="text")
        await ask(house, "data/list", by=by, collection="rooms")
        await ask(house, "file/read", by=by, path="missing.txt")
        await ask(house, "no/such", by=by)
        await ask(house, "file/read", by=by, nothing=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A house with about 200 records and four checkpoints."""
    folder = tmp_path_factory.mktemp("made") / "home"

    async def make() -> None:
        for part in range(4):
            async with open_house(Home(folder)) as house:
                if part == 0:
                    await ask(house, "recipe/put", id="lax", text=json.dumps(RECIPE))
                    await ask(house, "room/create", name="lax", recipe="lax")
                await live(house, part * 9, part * 9 + 9)
                await house.keeper.checkpoint()

    asyncio.run(make())
    return folder


@pytest.fixture(scope="module")
def rotated(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with two segments moved out."""
    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("rotated") / "home"))

    async def rotate() -> None:
        async with open_house(Home(folder)) as house:
            await house.keeper.rotate(150)
            await live(house, 100, 104)
            await house.keeper.rotate(80)

    asyncio.run(rotate())
    return folder


@pytest.fixture
def ledger(made: Path, tmp_path: Path) -> Ledger:
    return Ledger(Path(shutil.copytree(made, tmp_path / "home")))


@pytest.fixture
def segmented(rotated: Path, tmp_path: Path) -> Ledger:
    return Ledger(Path(shutil.copytree(rotated, tmp_path / "home")))


def found(ledger: Ledger, *words: str) -> None:
    finding = ledger.verify()
    assert finding.broken, "nothing was found"
    assert 10 < len(finding.broken) < 300, finding.broken
    for word in words:
        assert word in finding.broken, finding.broken


def test_an_untouched_ledger_verifies(ledger: Ledger) -> None:
    finding = ledger.verify()
    assert finding.broken == ""
    assert finding.records >= 200
    assert finding.checkpoints == 4
    phases = {(row[2], row[record.COLUMNS.index("status")]) for row in ledger.rows()}
    assert phases >= {
        ("start", "started"),
        ("end", "done"),
        ("whole", "done"),
        ("whole", "refused"),
        ("whole", "failed"),
    }


def test_a_ledger_that_was_rotated_twice_verifies(segmented: Ledger) -> None:
    finding = segmented.verify()
    assert finding.broken == ""
    assert finding.segments == 2
    assert finding.records >= 220
    assert len(segmented.rows()) < finding.records


@pytest.mark.parametrize("column", record.COLUMNS)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_changed_field(column: str, place: str, ledger: Ledger) -> None:
    rows = ledger.rows()
    at = {"first": 0, "middle": len(rows) // 2, "last": len(rows) - 1}[place]
    index, row = record.COLUMNS.index(column), list(rows[at])
    value = row[index]
    row[index] = value + 1 if isinstance(value, int | float) else _other(value)
    rows[at] = tuple(row)
    if column == "seq" and place != "last":
        del rows[at + 1]
    ledger.put(rows)
    found(ledger, "record" if column == "seq" else f"record {at + 1}")


def _other(text: str) -> str:
    """One letter changed, or one added where there is none."""
    return chr(ord(text[0]) ^ 1) + text[1:] if text else "x"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ledger SET note = CAST(x'ff' AS TEXT) WHERE seq = 50",
        "UPDATE ledger SET note = note || char(0) WHERE seq = 50",
        "UPDATE ledger SET spent = 9e999 WHERE seq = 50",
        "UPDATE ledger SET seq = -seq WHERE seq = 50",
        "UPDATE ledger SET at = at - 1000000 WHERE seq > 100",
        "UPDATE ledger SET caller = 'owner'",
        "UPDATE ledger_head SET seq = seq + 1",
        "UPDATE ledger_head SET seq = seq - 1",
        "UPDATE ledger_head SET hash = lower(hex(randomblob(32)))",
        "UPDATE ledger_head SET signature = lower(hex(randomblob(32)))",
        "UPDATE ledger_head SET signature = ''",
        "DELETE FROM ledger_head",
        "DELETE FROM ledger",
        "DELETE FROM ledger WHERE seq = 1",
        "DELETE FROM ledger WHERE seq = 100",
        "DELETE FROM ledger WHERE seq BETWEEN 100 AND 120",
        "DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger)",
        "DELETE FROM ledger WHERE seq > 150",
        "DROP TABLE ledger",
        "DROP TABLE ledger_head",
        "DROP TABLE segments",
    ],
)
def test_a_changed_table(change: str, ledger: Ledger) -> None:
    with ledger.database() as db:
        db.execute(change)
    found(ledger)


def test_two_records_that_changed_places(ledger: Ledger) -> None:
    rows = ledger.rows()
    one, other = rows[80], rows[90]
    rows[80], rows[90] = (one[0], *other[1:]), (other[0], *one[1:])
    ledger.put(rows)
    found(ledger, "record 81")


def test_a_record_that_is_there_twice(ledger: Ledger) -> None:
    rows = ledger.rows()
    ledger.put([*rows[:60], *((row[0] + 1, *row[1:]) for row in rows[59:])])
    found(ledger, "record 61")
    ledger.put([*rows, (rows[-1][0] + 1, *rows[-1][1:])])
    found(ledger, f"record {len(rows) + 1}")


def test_a_chain_that_was_made_anew_without_the_secret(ledger: Ledger) -> None:
    """Whoever changes a record and hashes all that follow anew still cannot sign the new end."""
    rows = ledger.rows()
    forged = _rechained(rows, 30, command="data/list", caller="somebody")
    ledger.put(forged)
    found(ledger, "is not the one that a checkpoint was signed for")
    ledger.paths.checkpoints.unlink()
    found(ledger, "checkpoints were signed")
    with ledger.database() as db:
        db.execute("DELETE FROM keepsakes")
        db.execute("UPDATE ledger_head SET hash = ?", (forged[-1][-1],))
    found(ledger, "the end of the ledger is not signed by this house")
    with ledger.database() as db:
        db.execute("UPDATE ledger_head SET hash = ?", (rows[-1][-1],))
    found(ledger, "its signed end is record")


def _rechained(rows: list[tuple[Any, ...]], at: int, **changes: Any) -> list[tuple[Any, ...]]:
    forged, prev = [], rows[at - 1][-1]
    for row in rows[at:]:
        values = dict(zip(record.COLUMNS, row, strict=True)) | (changes if row is rows[at] else {}) | {"prev": prev}
        entry = record.from_row(tuple(values.values())).entry
        prev = values["hash"] = record.seal(values["seq"], entry, prev)
        forged.append(tuple(values.values()))
    return [*rows[:at], *forged]


async def test_a_cut_tail_behind_an_older_signed_end(made: Path, tmp_path: Path) -> None:
    """The older end is genuine: the house signed it when it was the end. The checkpoints speak against it."""
    ledger = Ledger(Path(shutil.copytree(made, tmp_path / "home")))
    with ledger.database() as db:
        older = db.execute("SELECT seq, hash, signature FROM ledger_head").fetchone()
    async with open_house(ledger.home) as house:
        await live(house, 50, 53)
    assert ledger.verify().broken == ""
    with ledger.database() as db:
        db.execute("DELETE FROM ledger WHERE seq > ?", (older[0],))
        db.execute("UPDATE ledger_head SET seq = ?, hash = ?, signature = ?", older)
    found(ledger, f"the ledger ends at record {older[0]}; a checkpoint was signed at record")
    ledger.put_checkpoints(ledger.checkpoint_lines()[:-1])
    found(ledger, "5 checkpoints were signed, and 4 are there")


async def test_an_older_copy_of_the_whole_database(made: Path, tmp_path: Path) -> None:
    ledger = Ledger(Path(shutil.copytree(made, tmp_path / "home")))
    older = shutil.copy(ledger.paths.database, tmp_path / "older.db")
    async with open_house(ledger.home) as house:
        await live(house, 50, 53)
    kept_elsewhere = ledger.paths.checkpoints.read_bytes()
    shutil.copy(older, ledger.paths.database)
    found(ledger, "the ledger ends at record", "a checkpoint was signed at record")
    ledger.put_checkpoints(ledger.checkpoint_lines()[:-1])
    assert ledger.verify().broken == "", "a home put back whole is a home of that day: no part of it knows better"
    ledger.paths.checkpoints.write_bytes(kept_elsewhere)
    found(ledger, "a checkpoint was signed at record")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda lines: lines[:-1], "4 checkpoints were signed, and 3 are there"),
        (lambda lines: lines[:1], "4 checkpoints were signed, and 1 are there"),
        (lambda lines: [], "4 checkpoints were signed, and 0 are there"),
        (lambda lines: lines[1:], "4 checkpoints were signed, and 3 are there"),
        (lambda lines: [lines[0], lines[2], lines[3]], "4 checkpoints were signed, and 3 are there"),
        (lambda lines: [*lines[:3], lines[3][:-1]], "4 checkpoints were signed, and 3 are there"),
        (lambda lines: [*lines[:3], lines[2]], "checkpoint 4 does not follow"),
        (lambda lines: lines[::-1], "checkpoint 2 does not follow"),
        (lambda lines: [*lines, lines[-1]], "checkpoint 5 does not follow"),
        (lambda lines: [*lines, b"{}\n"], "checkpoint 5 is not one that this house signed"),
        (lambda lines: [*lines, b"\xff\n"], "checkpoint 5 is not one that this house signed"),
        (lambda lines: [b"\n", *lines], "checkpoint 1 is not one that this house signed"),
        (lambda lines: [*lines, _forged(lines[-1], seq=9_999)], "checkpoint 5 is not one that this house signed"),
        (lambda lines: [*lines[:-1], _forged(lines[-1], hash="0" * 64)], "checkpoint 4 is not one"),
        (lambda lines: [*lines[:-1], _forged(lines[-1], at=1)], "checkpoint 4 is not one"),
        (lambda lines: [*lines[:-1], _forged(lines[-1], signature="0" * 64)], "checkpoint 4 is not one"),
        (lambda lines: [*lines[:-1], _forged(lines[-1], signature="é")], "checkpoint 4 is not one"),
    ],
    ids=range(17),
)
def test_changed_checkpoints(change: Callable[[list[bytes]], list[bytes]], says: str, ledger: Ledger) -> None:
    ledger.put_checkpoints(change(ledger.checkpoint_lines()))
    found(ledger, says)


async def test_missing_checkpoints_stay_missing_when_the_house_goes_on(made: Path, tmp_path: Path) -> None:
    ledger = Ledger(Path(shutil.copytree(made, tmp_path / "home")))
    ledger.put_checkpoints(ledger.checkpoint_lines()[:2])
    for number in (50, 51):
        async with open_house(ledger.home) as house:
            await live(house, number, number + 1)
    found(ledger, "6 checkpoints were signed, and 4 are there")


def _forged(line: bytes, **changes: Any) -> bytes:
    return json.dumps(json.loads(line) | changes, ensure_ascii=False).encode() + b"\n"


def test_a_checkpoint_of_another_house(ledger: Ledger, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")

    async def make() -> None:
        async with open_house(other) as house:
            await ask(house, "data/list", collection="rooms")

    asyncio.run(make())
    theirs = LedgerPaths.of(other.path).checkpoints.read_bytes()
    ledger.put_checkpoints([*ledger.checkpoint_lines(), theirs])
    found(ledger, "checkpoint 5 is not one that this house signed")


def test_a_line_that_a_crash_cut_is_no_forgery_and_is_mended(ledger: Ledger) -> None:
    lines = ledger.checkpoint_lines()
    ledger.put_checkpoints([*lines, lines[-1][:40]])
    assert ledger.verify().broken == ""

    async def go_on() -> None:
        async with open_house(ledger.home) as house:
            await live(house, 70, 71)

    asyncio.run(go_on())
    assert ledger.verify().broken == ""
    assert len(ledger.checkpoint_lines()) == 5


def _segments(ledger: Ledger) -> list[Path]:
    return sorted(ledger.paths.segments.glob("records-*.jsonl.gz"))


def _rewrite(file: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """As whoever knows how we write them would."""
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    with file.open("wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as out:
        out.write(b"".join(change(lines)))


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:-1],
        lambda lines: lines[1:],
        lambda lines: [*lines[:5], *lines[6:]],
        lambda lines: [*lines[:5], lines[6], lines[5], *lines[7:]],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [],
        lambda lines: [*lines[:5], _forged(lines[5], caller="somebody"), *lines[6:]],
        lambda lines: [*lines[:5], _forged(lines[5], more="than there was"), *lines[6:]],
        lambda lines: [*lines[:5], b"{}\n", *lines[6:]],
        lambda lines: [*lines[:5], b"\xff\n", *lines[6:]],
        lambda lines: [*lines[:5], b"[" * 100_000 + b"\n", *lines[6:]],
        lambda lines: [*lines, b"\n"],
    ],
    ids=[
        "cut",
        "beheaded",
        "dropped",
        "moved",
        "doubled",
        "emptied",
        "edited",
        "added",
        "blank",
        "bytes",
        "deep",
        "line",
    ],
)
def test_a_changed_segment(change: Callable[[list[bytes]], list[bytes]], which: int, segmented: Ledger) -> None:
    _rewrite(_segments(segmented)[which], lambda lines: lines)
    assert segmented.verify().broken == ""
    _rewrite(_segments(segmented)[which], change)
    found(segmented)


def test_a_segment_that_is_gone_or_cut_or_exchanged(segmented: Ledger) -> None:
    first, second = _segments(segmented)
    kept = first.read_bytes()
    for spoil in (
        lambda: first.unlink(),
        lambda: first.write_bytes(b""),
        lambda: first.write_bytes(kept[: len(kept) // 2]),
        lambda: first.write_bytes(kept[:-1]),
        lambda: first.write_bytes(kept + b"more"),
        lambda: first.write_bytes(second.read_bytes()),
    ):
        spoil()
        found(segmented)
        first.write_bytes(kept)
    assert segmented.verify().broken == ""


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM segments WHERE first = 1",
        "DELETE FROM segments WHERE first > 1",
        "DELETE FROM segments",
        "UPDATE segments SET last = last - 1",
        "UPDATE segments SET file = 'another.jsonl.gz'",
        "UPDATE segments SET hash = lower(hex(randomblob(32)))",
        "UPDATE segments SET prev = lower(hex(randomblob(32)))",
        "UPDATE segments SET signature = lower(hex(randomblob(32)))",
        "INSERT INTO segments SELECT first + 1, last, file, prev, hash, signature FROM segments WHERE first = 1",
    ],
)
def test_a_changed_note_about_a_segment(change: str, segmented: Ledger) -> None:
    with segmented.database() as db:
        db.execute(change)
    found(segmented)


def test_any_one_byte_of_a_segment(segmented: Ledger) -> None:
    chance = random.Random(5)
    file = _segments(segmented)[0]
    kept = file.read_bytes()
    places = [*range(12), *range(len(kept) - 9, len(kept)), *(chance.randrange(len(kept)) for _ in range(150))]
    for place in places:
        spoilt = bytearray(kept)
        spoilt[place] ^= 0xFF
        file.write_bytes(spoilt)
        assert segmented.verify().broken, f"byte {place} of {len(kept)}"


async def test_a_ledger_verifies_while_it_is_written_signed_and_rotated(made: Path, tmp_path: Path) -> None:
    ledger = Ledger(Path(shutil.copytree(made, tmp_path / "home")))
    async with open_house(ledger.home) as house:
        writing = asyncio.gather(*(live(house, first, first + 25) for first in range(200, 600, 100)))
        looked = 0
        while not writing.done():
            finding, *_ = await asyncio.gather(asyncio.to_thread(ledger.verify), house.keeper.checkpoint())
            assert finding.broken == ""
            looked += 1
            if looked % 4 == 0:
                await house.keeper.rotate(100)
        await writing
        assert looked > 3
    finding = ledger.verify()
    assert finding.broken == ""
    assert finding.records > 600


async def test_the_start_of_a_running_call_is_not_moved_out(made: Path, tmp_path: Path) -> None:
    """Recovery after a crash looks for it in the table."""
    ledger = Ledger(Path(shutil.copytree(made, tmp_path / "home")))
    async with open_house(ledger.home) as house:
        before = house.services.store.head.seq
        entry = record.from_row(ledger.rows()[-1]).entry
        await house.services.store.write(entries=[_running(entry)])
        await live(house, 50, 53)
        await house.keeper.rotate(0)
        left = await house.services.store.read("SELECT min(seq) AS first FROM ledger")
        assert left[0]["first"] == before + 1
    async with open_house(ledger.home) as house:
        assert house.recovered == 1
        ends = await house.services.store.read("SELECT code FROM ledger WHERE call = 'still-running' AND phase = 'end'")
        assert [row["code"] for row in ends] == ["interrupted"]
    assert ledger.verify().broken == ""


def _running(entry: record.Entry) -> record.Entry:
    return msgspec.structs.replace(entry, phase="start", status="started", call="still-running")


def test_the_command_names_the_record_and_fails(segmented: Ledger) -> None:
    environment = {**os.environ, "DOORWARD_HOME": str(segmented.home.path)}

    def audit(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [DOORWARD, "audit", *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    good = audit("verify")
    assert (good.returncode, json.loads(good.stdout)["broken"]) == (0, "")
    exported = audit("export").stdout.splitlines()
    assert len(exported) == json.loads(good.stdout)["records"]
    with segmented.database() as db:
        (seq, digest) = db.execute("SELECT seq, digest FROM ledger WHERE digest != '' LIMIT 1").fetchone()
        db.execute("UPDATE ledger SET digest = ? WHERE seq = ?", (_other(digest), seq))
    bad = audit("verify")
    assert bad.returncode == 1
    assert f"record {seq} was changed after it was written" in json.loads(bad.stdout)["broken"]
    assert f"record {seq} was changed after it was written" in bad.stderr
    assert "Traceback" not in bad.stderr
    assert len(audit("export").stdout.splitlines()) == len(exported), "a damaged ledger can still be taken out"
    _segments(segmented)[0].write_bytes(b"\x1f\x8b\x08")
    gone = audit("export")
    assert gone.returncode == 5
    assert "cannot be read" in gone.stderr
    assert "Traceback" not in gone.stderr
