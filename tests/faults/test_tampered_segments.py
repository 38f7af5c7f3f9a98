"""R5.2: old segments rotate out to files that still verify, and whatever is done to them is found."""

from __future__ import annotations

import asyncio
import gzip
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from evil_ledger import Ledger, forged, found, live

from doorward.app import open_house
from doorward.config.settings import LedgerSettings, Settings
from doorward.store.ledger import record, segments


def test_a_ledger_that_was_rotated_twice_verifies(segmented: Ledger) -> None:
    finding = segmented.verify()
    assert finding.broken == ""
    assert finding.segments == 2
    assert finding.records >= 220
    assert len(segmented.rows()) < finding.records


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
        lambda lines: [*lines[:5], forged(lines[5], caller="somebody"), *lines[6:]],
        lambda lines: [*lines[:5], forged(lines[5], more="than there was"), *lines[6:]],
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
    _rewrite(segmented.segments()[which], lambda lines: lines)
    assert segmented.verify().broken == ""
    _rewrite(segmented.segments()[which], change)
    found(segmented)


def test_a_segment_that_is_gone_or_cut_or_exchanged(segmented: Ledger) -> None:
    first, second = segmented.segments()
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
        "INSERT INTO segments SELECT first + 1, last, file, prev, hash, signature, '' FROM segments WHERE first = 1",
    ],
)
def test_a_changed_note_about_a_segment(change: str, segmented: Ledger) -> None:
    with segmented.database() as db:
        db.execute(change)
    found(segmented)


def test_any_one_byte_of_a_segment(segmented: Ledger) -> None:
    chance = random.Random(5)
    file = segmented.segments()[0]
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
            finding, *_ = await asyncio.gather(asyncio.to_thread(ledger.verify), house.ledger_maintainer.checkpoint())
            assert finding.broken == ""
            looked += 1
            if looked % 4 == 0:
                await house.ledger_maintainer.rotate(100)
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
        entry = record.record_from_row(ledger.rows()[-1]).entry
        await house.services.store.write(entries=[_running(entry)])
        await live(house, 50, 53)
        await house.ledger_maintainer.rotate(0)
        left = await house.services.store.read("SELECT min(seq) AS first FROM ledger")
        assert left[0]["first"] == before + 1
    async with open_house(ledger.home) as house:
        assert house.recovered == 1
        ends = await house.services.store.read("SELECT code FROM ledger WHERE call = 'still-running' AND phase = 'end'")
        assert [row["code"] for row in ends] == ["interrupted"]
    assert ledger.verify().broken == ""


def _running(entry: record.Entry) -> record.Entry:
    return msgspec.structs.replace(entry, phase="start", status="started", call="still-running")


def test_a_segment_beside_a_database_that_was_rolled_back_is_found(made: Path, rotated: Path, tmp_path: Path) -> None:
    """Database and checkpoints come from one backup and fit each other, but the archive is newer than both."""
    ledger = Ledger(Path(shutil.copytree(made, tmp_path / "home")))
    newer = Ledger(rotated).segments()[0]
    assert ledger.verify().broken == ""
    shutil.copy(newer, ledger.paths.segments)
    found(ledger, newer.name, "does not know")


async def test_a_rotation_that_was_interrupted_is_no_problem_and_is_made_up_for(made: Path, tmp_path: Path) -> None:
    ledger = Ledger(Path(shutil.copytree(made, tmp_path / "home")))
    left = ledger.paths.segments / segments.segment_name(1, 40)
    left.write_bytes(b"written, but not registered before the process died")
    with ledger.database() as db:
        db.execute("INSERT INTO keepsakes (name, body) VALUES (?, ?)", (segments.PENDING, left.name))
    assert ledger.verify().broken == ""
    async with open_house(ledger.home) as house:
        await house.ledger_maintainer.rotate(50)
    assert ledger.verify().broken == ""
    assert left not in ledger.segments()


async def test_segments_deleted_by_the_setting_leave_a_ledger_that_verifies_and_says_so(segmented: Ledger) -> None:
    ends = [int(file.name.split("-")[2].split(".")[0]) for file in segmented.segments()]
    async with open_house(segmented.home) as house:
        assert await house.ledger_maintainer.delete_expired_segments() == []
    for days, left in ((1.0, 2), (1e-9, 0)):
        async with open_house(segmented.home, changes=Settings(ledger=LedgerSettings(keep_days=days))) as house:
            await house.ledger_maintainer.delete_expired_segments()
            assert len(segmented.segments()) == left
    finding = segmented.verify()
    assert (finding.broken, finding.segments) == ("", 0)
    assert finding.deleted == (f"records 1 to {ends[0]}", f"records {ends[0] + 1} to {ends[1]}")
    records = [record.record_from_row(row).entry for row in segmented.rows()]
    deletions = [one for one in records if one.command == "audit/delete"]
    assert [one.note for one in deletions] == [
        f"The archived {which} were deleted after 1e-09 days (ledger.keep_days)." for which in finding.deleted
    ]
    with segmented.database() as db:
        db.execute("UPDATE segments SET deleted = 'x' || substr(deleted, 2) WHERE first = 1")
    found(segmented, "deletion", "no valid signature")
