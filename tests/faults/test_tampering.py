"""R5.2: verify finds whatever was flipped, dropped, moved or cut, and names it in a sentence."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evil_ledger import Ledger, ask, changed, forged, found, live

import warm_doorward
from doorward.app import open_house
from doorward.config.home import Home
from doorward.store.ledger import record
from doorward.store.ledger.checkpoints import LedgerPaths


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


@pytest.mark.parametrize("column", record.COLUMNS)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_changed_field(column: str, place: str, ledger: Ledger) -> None:
    rows = ledger.rows()
    at = {"first": 0, "middle": len(rows) // 2, "last": len(rows) - 1}[place]
    index, row = record.COLUMNS.index(column), list(rows[at])
    value = row[index]
    row[index] = value + 1 if isinstance(value, int | float) else changed(value)
    rows[at] = tuple(row)
    if column == "seq" and place != "last":
        del rows[at + 1]
    ledger.put(rows)
    found(ledger, "record" if column == "seq" else f"record {at + 1}")


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
    found(ledger, "does not match its signed checkpoint")
    ledger.paths.checkpoints.unlink()
    found(ledger, "checkpoints were signed")
    with ledger.database() as db:
        db.execute("DELETE FROM keepsakes")
        db.execute("UPDATE ledger_head SET hash = ?", (forged[-1][-1],))
    found(ledger, "the end of the ledger has no valid signature of this server")
    with ledger.database() as db:
        db.execute("UPDATE ledger_head SET hash = ?", (rows[-1][-1],))
    found(ledger, "its signed end is record")


def _rechained(rows: list[tuple[Any, ...]], at: int, **changes: Any) -> list[tuple[Any, ...]]:
    forged, prev = [], rows[at - 1][-1]
    for row in rows[at:]:
        values = dict(zip(record.COLUMNS, row, strict=True)) | (changes if row is rows[at] else {}) | {"prev": prev}
        entry = record.record_from_row(tuple(values.values())).entry
        prev = values["hash"] = record.chain_hash(values["seq"], entry, prev)
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
    found(ledger, f"the ledger ends at record {older[0]}, but record", "has a signed checkpoint")
    ledger.put_checkpoints(ledger.checkpoint_lines()[:-1])
    found(ledger, "5 checkpoints were signed, but the file has 4")


async def test_an_older_copy_of_the_whole_database(made: Path, tmp_path: Path) -> None:
    ledger = Ledger(Path(shutil.copytree(made, tmp_path / "home")))
    older = shutil.copy(ledger.paths.database, tmp_path / "older.db")
    async with open_house(ledger.home) as house:
        await live(house, 50, 53)
    kept_elsewhere = ledger.paths.checkpoints.read_bytes()
    shutil.copy(older, ledger.paths.database)
    found(ledger, "the ledger ends at record", "has a signed checkpoint")
    ledger.put_checkpoints(ledger.checkpoint_lines()[:-1])
    assert ledger.verify().broken == "", "a home put back whole is a home of that day: no part of it knows better"
    ledger.paths.checkpoints.write_bytes(kept_elsewhere)
    found(ledger, "has a signed checkpoint")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda lines: lines[:-1], "4 checkpoints were signed, but the file has 3"),
        (lambda lines: lines[:1], "4 checkpoints were signed, but the file has 1"),
        (lambda lines: [], "4 checkpoints were signed, but the file has 0"),
        (lambda lines: lines[1:], "4 checkpoints were signed, but the file has 3"),
        (lambda lines: [lines[0], lines[2], lines[3]], "4 checkpoints were signed, but the file has 3"),
        (lambda lines: [*lines[:3], lines[3][:-1]], "4 checkpoints were signed, but the file has 3"),
        (lambda lines: [*lines[:3], lines[2]], "checkpoint 4 does not follow"),
        (lambda lines: lines[::-1], "checkpoint 2 does not follow"),
        (lambda lines: [*lines, lines[-1]], "checkpoint 5 does not follow"),
        (lambda lines: [*lines, b"{}\n"], "checkpoint 5 has no valid signature of this server"),
        (lambda lines: [*lines, b"\xff\n"], "checkpoint 5 has no valid signature of this server"),
        (lambda lines: [b"\n", *lines], "checkpoint 1 has no valid signature of this server"),
        (lambda lines: [*lines, forged(lines[-1], seq=9_999)], "checkpoint 5 has no valid signature of this server"),
        (lambda lines: [*lines[:-1], forged(lines[-1], hash="0" * 64)], "checkpoint 4 has no valid signature"),
        (lambda lines: [*lines[:-1], forged(lines[-1], at=1)], "checkpoint 4 has no valid signature"),
        (lambda lines: [*lines[:-1], forged(lines[-1], signature="0" * 64)], "checkpoint 4 has no valid signature"),
        (lambda lines: [*lines[:-1], forged(lines[-1], signature="é")], "checkpoint 4 has no valid signature"),
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
    found(ledger, "6 checkpoints were signed, but the file has 4")


def test_a_checkpoint_of_another_house(ledger: Ledger, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")

    async def make() -> None:
        async with open_house(other) as house:
            await ask(house, "data/list", collection="rooms")

    asyncio.run(make())
    theirs = LedgerPaths.of(other.path).checkpoints.read_bytes()
    ledger.put_checkpoints([*ledger.checkpoint_lines(), theirs])
    found(ledger, "checkpoint 5 has no valid signature of this server")


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


def test_the_command_names_the_record_and_fails(segmented: Ledger) -> None:
    def audit(*arguments: str) -> subprocess.CompletedProcess[str]:
        return warm_doorward.completed(segmented.home.path, "audit", *arguments)

    good = audit("verify")
    assert (good.returncode, json.loads(good.stdout)["broken"]) == (0, "")
    exported = audit("export").stdout.splitlines()
    assert len(exported) == json.loads(good.stdout)["records"]
    with segmented.database() as db:
        (seq, digest) = db.execute("SELECT seq, digest FROM ledger WHERE digest != '' LIMIT 1").fetchone()
        db.execute("UPDATE ledger SET digest = ? WHERE seq = ?", (changed(digest), seq))
    bad = audit("verify")
    assert bad.returncode == 1
    assert f"record {seq} was changed after it was written" in json.loads(bad.stdout)["broken"]
    assert f"record {seq} was changed after it was written" in bad.stderr
    assert "Traceback" not in bad.stderr
    assert len(audit("export").stdout.splitlines()) == len(exported), "a damaged ledger can still be taken out"
    segmented.segments()[0].write_bytes(b"\x1f\x8b\x08")
    gone = audit("export")
    assert gone.returncode == 5
    assert "cannot be read" in gone.stderr
    assert "Traceback" not in gone.stderr
