"""The store: writes are done together or not at all, and whatever fails is said, once, to whoever asked."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doorward.core.errors import BadParams, Broken, Conflict, LedgerUnavailable, Unusable
from doorward.store import kv, migrations
from doorward.store.ledger.record import COLUMNS, GENESIS, Entry, chain_hash, is_signed, record_from_row
from doorward.store.sqlite import Statement, Store, open_for_reading

KEY = bytes(range(32))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "doorward.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = Store(path, KEY)
    yield store
    store.close()


def entry(call: str, phase: Any = "whole", **more: Any) -> Entry:
    texts = dict.fromkeys(
        ["tenant", "caller", "kind", "behalf", "door", "room", "command", "tier", "params", "digest", "rule"], "x"
    )
    facts = {"approval": "", "reserved": 0.0, "spent": 0.0, "status": "done", "code": "ok", "note": "", "duration": 1}
    return Entry(at=1, phase=phase, call=call, **{**texts, **facts, **more})


async def rows(store: Store) -> list[dict[str, Any]]:
    return await store.read("SELECT * FROM ledger ORDER BY seq")


async def open_calls(store: Store) -> list[str]:
    return [row["call"] for row in await store.read("SELECT call FROM open_calls ORDER BY call")]


async def test_entries_form_one_chain_in_the_order_they_were_given(store: Store) -> None:
    await asyncio.gather(*(store.write(entries=[entry(f"c{number}")], durable=False) for number in range(100)))
    found = await rows(store)
    assert [row["seq"] for row in found] == list(range(1, 101))
    assert [row["call"] for row in found] == [f"c{number}" for number in range(100)]
    prev = GENESIS
    for row in found:
        line = record_from_row(tuple(row[name] for name in COLUMNS))
        assert line.prev == prev
        prev = chain_hash(line.seq, line.entry, line.prev)
        assert line.hash == prev
    (head,) = await store.read("SELECT * FROM ledger_head")
    assert (head["seq"], head["hash"]) == (100, prev) == tuple(store.head)
    assert is_signed(KEY, head["signature"], "head", 100, prev)


async def test_a_write_that_conflicts_takes_back_itself_and_no_other(store: Store) -> None:
    await store.write(kv.put("a", "old"))
    results = await asyncio.gather(
        store.write(kv.put("b", "1"), entries=[entry("one")]),
        store.write(
            kv.put("a", "new"),
            Statement("UPDATE keepsakes SET body = 'x' WHERE name = 'nobody'", rows=1, otherwise="it is gone"),
            entries=[entry("two")],
        ),
        store.write(Statement("INSERT INTO keepsakes VALUES ('a', 'twice')"), entries=[entry("three")]),
        store.write(Statement("nonsense"), entries=[entry("four")]),
        store.write(Statement("INSERT INTO keepsakes VALUES (?, ?)", ("s", "\ud800")), entries=[entry("five")]),
        store.write(Statement("INSERT INTO keepsakes VALUES (?, ?)", ("s", 2**70)), entries=[entry("six")]),
        store.write(Statement("INSERT INTO keepsakes VALUES (?, ?)", ("s", object())), entries=[entry("seven")]),
        store.write(kv.put("c", "1"), entries=[entry("eight")]),
        return_exceptions=True,
    )
    kinds = [type(result) for result in results]
    assert kinds == [list, Conflict, Conflict, Broken, Broken, Broken, Broken, list]
    assert str(results[1]) == "Nothing was changed: it is gone."
    assert [row["call"] for row in await rows(store)] == ["one", "eight"]
    kept = await store.read("SELECT * FROM keepsakes ORDER BY name")
    assert [(row["name"], row["body"]) for row in kept] == [("a", "old"), ("b", "1"), ("c", "1")]


async def test_a_start_opens_a_call_and_its_end_closes_it(store: Store) -> None:
    await store.write(entries=[entry("a", "start"), entry("b", "start"), entry("c")])
    assert await open_calls(store) == ["a", "b"]
    await store.write(entries=[entry("a", "end")])
    assert await open_calls(store) == ["b"]


async def test_what_is_owed_is_stored_even_when_what_goes_with_it_is_refused(store: Store) -> None:
    await store.write(entries=[entry("a", "start")])
    with pytest.raises(Broken):
        await store.write(Statement("nonsense"), entries=[entry("a", "end")], owed=True)
    assert await open_calls(store) == []
    assert [row["phase"] for row in await rows(store)] == ["start", "end"]
    assert not store.has_owed_entries


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Another program writes to the database, which it never should."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def test_what_is_owed_goes_in_front_of_the_next_write_that_succeeds(store: Store, path: Path) -> None:
    await store.write(entries=[entry("a", "start"), entry("b", "start")])
    store._db.execute("PRAGMA busy_timeout = 1")
    with held(path):
        refusals = await asyncio.gather(
            store.write(entries=[entry("a", "end")], owed=True),
            store.write(entries=[entry("b", "end")], owed=True),
            store.write(kv.put("x", "1"), entries=[entry("c", "start")]),
            return_exceptions=True,
        )
        assert [type(one) for one in refusals] == [LedgerUnavailable] * 3
        waiting = asyncio.ensure_future(store.write(entries=[entry("gone", "end")], owed=True))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(LedgerUnavailable, match="database is locked"):
            await store.write(entries=[entry("d")])
        assert store.has_owed_entries
    await store.write(entries=[entry("e")])
    assert not store.has_owed_entries
    assert [row["call"] for row in await rows(store)] == ["a", "b", "a", "b", "gone", "e"]
    assert await open_calls(store) == []


async def test_a_refusal_says_what_to_do_and_when_to_try_again(store: Store, path: Path) -> None:
    store._db.execute("PRAGMA busy_timeout = 1")
    with held(path), pytest.raises(LedgerUnavailable) as refusal:
        await store.write(entries=[entry("a")])
    assert str(path) in refusal.value.message
    assert refusal.value.hint == "Another program has the database open for writing; close it."
    assert refusal.value.retry_after == 5.0
    assert refusal.value.effect == "none"


async def test_the_ledger_cannot_be_changed_through_the_store(store: Store) -> None:
    await store.write(entries=[entry("a")])
    for statement in ("UPDATE ledger SET note = 'x'", "DELETE FROM ledger", "UPDATE ledger SET seq = 5"):
        with pytest.raises(Conflict, match="the ledger is append-only"):
            await store.write(Statement(statement))
    assert [row["call"] for row in await rows(store)] == ["a"]


async def test_a_reader_cannot_write(store: Store) -> None:
    for statement in ("DELETE FROM keepsakes", "CREATE TABLE x (y)", "PRAGMA user_version = 5"):
        with pytest.raises(LedgerUnavailable, match="could not be read"):
            await store.read(statement)
    (row,) = await store.read("PRAGMA user_version")
    assert row["user_version"] == len(migrations.STEPS)


async def test_what_is_no_text_is_not_looked_for(store: Store) -> None:
    with pytest.raises(BadParams, match="not UTF-8 text"):
        await store.read("SELECT * FROM ledger WHERE call = ?", ("\ud800",))


async def test_an_entry_that_cannot_be_stored_is_refused_and_the_store_lives_on(store: Store) -> None:
    with pytest.raises(LedgerUnavailable):
        await store.write(entries=[entry("a", note="\ud800")])
    await store.write(entries=[entry("b")])
    assert [row["call"] for row in await rows(store)] == ["b"]


async def test_a_closed_store_is_one_whole_file(path: Path) -> None:
    store = Store(path, KEY)
    await store.write(entries=[entry("a")])
    await asyncio.gather(*(rows(store) for _ in range(10)))
    store.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with contextlib.closing(open_for_reading(path)) as db:
        assert db.execute("SELECT count(*) FROM ledger").fetchone()[0] == 1


async def test_a_store_that_is_opened_again_goes_on_where_it_was(path: Path) -> None:
    for number in range(3):
        store = Store(path, KEY)
        assert store.head.seq == number
        await store.write(entries=[entry(f"c{number}")])
        store.close()


async def test_a_write_whose_caller_is_gone_is_done_all_the_same(store: Store) -> None:
    waiting = asyncio.ensure_future(store.write(entries=[entry("a")]))
    await asyncio.sleep(0)
    waiting.cancel()
    await store.write(entries=[entry("b")])
    assert [row["call"] for row in await rows(store)] == ["a", "b"]


def test_a_database_of_another_house_is_not_opened(path: Path) -> None:
    Store(path, KEY).close()
    with pytest.raises(Unusable, match="not signed with this server's secret"):
        Store(path, bytes(reversed(KEY)))


@pytest.mark.parametrize("open_", [lambda path: Store(path, KEY), open_for_reading], ids=["writing", "reading"])
def test_what_is_no_database_is_not_opened_and_not_changed(open_: Any, path: Path) -> None:
    path.write_bytes(b"precious" * 2_000)
    with pytest.raises(Unusable, match="file is not a database") as refusal:
        open_(path)
    assert "restore a backup" in refusal.value.hint
    assert path.read_bytes() == b"precious" * 2_000


def test_a_database_that_is_not_there_is_not_opened_for_reading(path: Path) -> None:
    with pytest.raises(Unusable, match="cannot be opened"):
        open_for_reading(path)
    assert not path.exists()


def test_a_newer_database_is_left_as_it_is(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE future (x)")
        db.execute("PRAGMA user_version = 999")
    before = path.read_bytes()
    with pytest.raises(Unusable, match=r"newer Doorward \(data version 999\)"):
        Store(path, KEY)
    assert path.read_bytes() == before


def test_a_database_is_for_its_owner_only(path: Path) -> None:
    Store(path, KEY).close()
    assert path.stat().st_mode & 0o077 == 0


async def test_many_writers_on_many_loops_share_one_store(store: Store) -> None:
    async def some(name: str) -> None:
        for number in range(20):
            await store.write(entries=[entry(f"{name}{number}")], durable=False)

    def another_loop(name: str) -> None:
        asyncio.run(some(name))

    await asyncio.gather(*(asyncio.to_thread(another_loop, name) for name in "abc"), some("d"))
    assert sorted(row["seq"] for row in await rows(store)) == list(range(1, 81))


async def test_a_closed_store_refuses_instead_of_waiting_for_ever(tmp_path: Path) -> None:
    store = Store(tmp_path / "doorward.db", b"k" * 32)
    store.close()
    with pytest.raises(LedgerUnavailable, match="shutting down"):
        await store.write()
