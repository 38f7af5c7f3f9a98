"""R7.4 and R7.6: changing records of managed collections, who may, and taking it back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from data_fixtures import BOT, EDIT, FULL, NOTE, OTHER, READ, ROOT, DataHouse

from doorward.core.classification import Access
from doorward.core.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.core.model import Caller
from doorward.store.sqlite import Statement


@pytest.fixture
def house(tmp_path: Path) -> Iterator[DataHouse]:
    house = DataHouse(tmp_path)
    yield house
    house.store.close()


async def test_a_record_is_created_read_updated_and_deleted(house: DataHouse) -> None:
    await house.notes()
    made = await house.run("data/create", EDIT, collection="notes", data={"title": "a", "amount": 1}, id="n1")
    assert made["id"] == "n1"
    assert (made["version"], made["createdBy"], made["createdAt"]) == (1, "eve", made["updatedAt"])
    changed = await house.run("data/update", EDIT, collection="notes", id="n1", data={"amount": None, "done": True})
    assert {key: changed[key] for key in ("title", "done", "version")} == {"title": "a", "done": True, "version": 2}
    assert "amount" not in changed
    assert await house.run("data/read", READ, collection="notes", id="n1") == changed
    assert await house.run("data/delete", FULL, collection="notes", id="n1") == {
        "deleted": "n1",
        "collection": "notes",
    }
    with pytest.raises(NotFound, match="no record 'n1' in notes"):
        await house.run("data/read", collection="notes", id="n1")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, r"Missing field 'title'\. The collection notes takes "),
        ({"title": 5}, "field title must be a string; given 5"),
        ({"title": "a", "extra": 1}, "'extra'"),
        ({"title": "a", "id": "x"}, "id: Doorward sets these itself"),
        ({"title": "a", "amount": float("inf")}, "finite"),
        ({"title": "a", "amount": 2**70}, "64 bits"),
        ({"title": "\ud800"}, "surrogate"),
        ({"title": "a\x00b"}, "NUL"),
        ({"title": "x" * 1_000_001}, "too large: at most 1000000 bytes"),
        ({"title": "a", "access_read": "bob"}, "access_read must be a list of user ids"),
        ({"title": "a", "access_deny": [1]}, "access_deny must be a list of user ids"),
    ],
)
async def test_a_record_that_does_not_fit_is_refused(house: DataHouse, data: dict[str, Any], says: str) -> None:
    (known,) = await house.notes({"title": "known"})
    with pytest.raises(BadParams, match=says):
        await house.run("data/create", collection="notes", data=data)
    if data:
        with pytest.raises(BadParams, match=says):
            await house.run("data/update", collection="notes", id=known, data=data)
    assert (await house.run("data/count", collection="notes")) == {"count": 1}


async def test_an_id_is_taken_once_and_has_a_shape(house: DataHouse) -> None:
    await house.notes()
    await house.run("data/create", collection="notes", data={"title": "a"}, id="n1")
    with pytest.raises(Conflict, match="notes/n1 already exists"):
        await house.run("data/create", collection="notes", data={"title": "b"}, id="n1")
    for wrong in ("../x", "a/b", "-x", "a b", "x" * 129, "a\n"):
        with pytest.raises(BadParams, match="A record's id"):
            await house.run("data/create", collection="notes", data={"title": "b"}, id=wrong)


async def test_a_change_of_an_older_version_is_refused(house: DataHouse) -> None:
    (id,) = await house.notes({"title": "a"})
    await house.run("data/update", collection="notes", id=id, data={"title": "b"}, version=1)
    with pytest.raises(Conflict, match="at version 2 now, not 1"):
        await house.run("data/update", collection="notes", id=id, data={"title": "c"}, version=1)


async def test_of_many_changes_at_once_none_is_lost_in_silence(house: DataHouse) -> None:
    (id,) = await house.notes({"title": "a"})
    done = await asyncio.gather(
        *(house.run("data/update", collection="notes", id=id, data={"amount": n}) for n in range(20)),
        return_exceptions=True,
    )
    succeeded = [one for one in done if isinstance(one, dict)]
    assert all(isinstance(one, dict | Conflict) for one in done)
    assert (await house.run("data/read", collection="notes", id=id))["version"] == 1 + len(succeeded)
    assert sorted(one["version"] for one in succeeded) == list(range(2, 2 + len(succeeded)))


async def test_system_collections_are_read_only_and_say_what_changes_them(house: DataHouse) -> None:
    await house.seed()
    for command, params in (
        ("data/create", {"data": {"name": "x"}}),
        ("data/update", {"id": "general", "data": {"name": "x"}}),
        ("data/delete", {"id": "general"}),
    ):
        with pytest.raises(NotPermitted, match=r"rooms is read-only\. Commands that change it: room/rename"):
            await house.run(command, collection="rooms", **params)
        with pytest.raises(NotPermitted, match=r"audit is read-only\. Doorward writes it"):
            await house.run(command, collection="audit", **params)
    house.denied.add("room/rename")
    with pytest.raises(NotPermitted, match="you may not run any command that changes it"):
        await house.run("data/delete", collection="rooms", id="general")


# Access lists. Each row: the lists, then who may read, edit and delete.
LISTS: list[tuple[dict[str, list[str]], str, str, str]] = [
    ({}, "ada flo eve rob bot", "ada flo eve bot", "ada flo"),
    ({"access_read": []}, "ada flo eve rob bot", "ada flo eve bot", "ada flo"),
    ({"access_read": ["rob"]}, "ada rob", "ada", "ada"),
    ({"access_edit": ["eve"]}, "ada eve bot", "ada eve bot", "ada"),
    ({"access_full": ["flo"]}, "ada flo", "ada flo", "ada flo"),
    ({"access_read": ["flo"], "access_full": ["eve"]}, "ada flo eve bot", "ada eve bot", "ada"),
    ({"access_deny": ["ada"]}, "flo eve rob bot", "flo eve bot", "flo"),
    ({"access_deny": ["eve"], "access_full": ["eve", "flo"]}, "ada flo", "ada flo", "ada flo"),
    ({"access_deny": ["bot"]}, "ada flo eve rob", "ada flo eve", "ada flo"),
    ({"access_deny": ["ada", "flo", "eve", "rob"]}, "", "", ""),
]


@pytest.mark.parametrize(("lists", "readers", "editors", "deleters"), LISTS)
async def test_access_lists_decide_who_may_what(
    house: DataHouse, lists: dict[str, list[str]], readers: str, editors: str, deleters: str
) -> None:
    maker = Caller(tenant="local", id="maker", kind="human", access=Access.ROOT)
    (id,) = await house.notes({"title": "a", "amount": 7, **lists}, caller=maker)
    for caller in (ROOT, FULL, EDIT, READ, BOT):
        sees = caller.id in readers.split()
        assert await house.ids("notes", caller) == ([id] if sees else [])
        assert await house.run("data/count", caller, collection="notes") == {"count": int(sees)}
        total = await house.run("data/aggregate", caller, collection="notes", metrics={"s": {"sum": "amount"}})
        assert total["items"] == [{"s": 7 if sees else None}]
        queried = await house.run("data/query", caller, sql="SELECT id FROM notes")
        assert queried["items"] == ([{"id": id}] if sees else [])
        assert (await house.run("data/describe", caller, collection="notes"))["count"] == int(sees)
        for needed, allowed, command, params in (
            (Access.READ, readers, "data/read", {}),
            (Access.EDIT, editors, "data/update", {"data": {"amount": 7}}),
            (Access.FULL, deleters, "data/delete", {}),
        ):
            if caller.access < needed:
                continue
            run = house.effect if command != "data/read" else house.run
            expected = None if caller.id in allowed.split() else (NotPermitted if sees else NotFound)
            if expected is None:
                await run(command, caller, collection="notes", id=id, **params)
            else:
                with pytest.raises(expected):
                    await run(command, caller, collection="notes", id=id, **params)
                with pytest.raises(expected):
                    await house.run(command, caller, collection="notes", id=id, **params)


async def test_changing_access_lists_needs_full_access(house: DataHouse) -> None:
    free, eves = await house.notes({"title": "a"}, {"title": "b", "access_edit": ["eve"], "access_read": ["rob"]})
    for id in (free, eves):
        for data in ({"access_read": ["rob", "eve"]}, {"access_deny": ["ada"]}, {"access_full": ["eve"]}):
            with pytest.raises(NotPermitted, match=r"access lists of .* needs full access"):
                await house.run("data/update", EDIT, collection="notes", id=id, data=data)
    with pytest.raises(NotPermitted, match="needs full access"):
        await house.run("data/update", EDIT, collection="notes", id=eves, data={"access_edit": None})
    with pytest.raises(NotPermitted, match="needs full access"):
        await house.run("data/create", EDIT, collection="notes", data={"title": "c", "access_deny": ["ada"]})
    await house.run("data/update", FULL, collection="notes", id=free, data={"access_read": ["rob"]})
    assert free not in await house.ids("notes", FULL)


async def test_a_dry_run_shows_before_and_after_and_changes_nothing(house: DataHouse) -> None:
    (id,) = await house.notes({"title": "a"})
    before = await house.run("data/read", collection="notes", id=id)
    shown = await house.effect("data/update", collection="notes", id=id, data={"title": "b"})
    assert (shown["before"], shown["after"]["title"], shown["after"]["version"]) == (before, "b", 2)
    shown = await house.effect("data/create", collection="notes", data={"title": "c"}, id="n")
    assert (shown["before"], shown["after"]["title"]) == (None, "c")
    with pytest.raises(Conflict, match="already exists"):
        await house.effect("data/create", collection="notes", data={"title": "c"}, id=id)
    shown = await house.effect("data/delete", collection="notes", id=id)
    assert (shown["before"], shown["after"]) == (before, None)
    assert (await house.run("data/list", collection="notes"))["items"] == [before]


async def test_every_change_can_be_undone_and_the_undo_too(house: DataHouse) -> None:
    await house.notes()
    id = (await house.run("data/create", EDIT, collection="notes", data={"title": "a"}))["id"]
    made = house.last
    await house.run("undo", EDIT, execution=made)
    gone = house.last
    assert await house.ids("notes") == []
    await house.run("undo", EDIT, execution=gone)
    assert (await house.run("data/read", collection="notes", id=id))["title"] == "a"

    await house.run("data/update", EDIT, collection="notes", id=id, data={"title": "b", "done": True})
    changed = house.last
    await house.run("undo", EDIT, execution=changed)
    back = house.last
    record = await house.run("data/read", collection="notes", id=id)
    assert (record["title"], "done" in record) == ("a", False)
    await house.run("undo", EDIT, execution=back)
    assert (await house.run("data/read", collection="notes", id=id))["title"] == "b"

    before = await house.run("data/read", collection="notes", id=id)
    await house.run("data/delete", FULL, collection="notes", id=id)
    await house.run("undo", FULL, execution=house.last)
    after = await house.run("data/read", collection="notes", id=id)
    assert {**after, "version": 0} == {**before, "version": 0}


async def test_an_undo_is_refused_once_the_record_changed(house: DataHouse) -> None:
    (id,) = await house.notes({"title": "a"})
    await house.run("data/update", collection="notes", id=id, data={"title": "b"})
    first = house.last
    await house.run("data/update", collection="notes", id=id, data={"title": "c"})
    second = house.last
    with pytest.raises(Conflict, match=r"has changed since\. Nothing was undone"):
        await house.run("undo", execution=first)
    await house.run("undo", execution=second)
    with pytest.raises(Conflict, match="is already undone"):
        await house.run("undo", execution=second)
    with pytest.raises(Conflict, match="changed since"):
        await house.run("undo", execution=first)
    assert (await house.run("data/read", collection="notes", id=id))["title"] == "b"


async def test_an_undo_is_refused_once_the_schema_forbids_it(house: DataHouse) -> None:
    (id,) = await house.notes({"title": "a"})
    await house.run("data/update", collection="notes", id=id, data={"title": "long enough"})
    changed = house.last
    longer = {**NOTE, "properties": {**NOTE["properties"], "title": {"type": "string", "minLength": 5}}}  # type: ignore[dict-item]
    await house.run("collection/define", name="notes", schema=longer)
    with pytest.raises(Conflict, match="does not match the schema"):
        await house.run("undo", execution=changed)


async def test_an_undo_by_whom_the_record_denies_is_refused(house: DataHouse) -> None:
    (id,) = await house.notes({"title": "a"})
    await house.run("data/update", EDIT, collection="notes", id=id, data={"title": "b"})
    changed = house.last
    denying = '{"title":"b","access_deny":["flo","eve"]}'
    await house.store.write(Statement("UPDATE records SET body = ?", (denying,)))
    for caller in (FULL, EDIT):
        with pytest.raises(NotPermitted):
            await house.run("undo", caller, execution=changed)


async def test_an_undo_of_another_tenant_finds_nothing(house: DataHouse) -> None:
    await house.notes({"title": "a"})
    with pytest.raises(NotFound, match="nothing to undo"):
        await house.run("undo", OTHER, execution=house.last)
