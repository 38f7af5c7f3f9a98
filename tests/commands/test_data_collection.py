"""R7.1 and R7.6: defining managed collections, and taking that back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from data_fixtures import NOTE, OTHER, DataHouse

from doorward.core.errors import BadParams, Conflict, NotFound

OBJECT: dict[str, Any] = {"type": "object"}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[DataHouse]:
    house = DataHouse(tmp_path)
    yield house
    house.store.close()


async def test_where_a_schema_names_no_fields_those_of_its_records_are_described(house: DataHouse) -> None:
    await house.run("collection/define", name="free", schema={"type": "object"})
    await house.run("data/create", collection="free", id="a", data={"city": "Oslo", "total": 7, "tags": []})
    await house.run("data/create", collection="free", id="b", data={"paid": True})
    own = {"city": "text", "total": "number", "tags": "json", "paid": "boolean"}
    described = await house.run("data/describe", collection="free")
    assert {name: described["fields"][name] for name in own} == own
    assert described["fields"]["createdAt"] == "time"
    listed = (await house.run("data/describe"))["items"][-1]
    assert (listed["collection"], listed["fields"]) == ("free", described["fields"])


async def test_a_collection_is_defined_and_redefined(house: DataHouse) -> None:
    assert await house.run("collection/define", name="notes", schema=NOTE) == {
        "collection": "notes",
        "schema": NOTE,
        "records": 0,
    }
    await house.run("data/create", collection="notes", data={"title": "a"})
    assert (await house.run("collection/define", name="notes", schema=OBJECT))["records"] == 1
    assert (await house.run("data/describe", collection="notes"))["schema"] == OBJECT
    await house.run("data/create", collection="notes", data={"anything": [1]})


@pytest.mark.parametrize(
    ("name", "schema", "says"),
    [
        ("rooms", OBJECT, "a system collection"),
        ("audit", OBJECT, "a system collection"),
        ("Notes", OBJECT, "A collection's name"),
        ("1a", OBJECT, "A collection's name"),
        ("a.b", OBJECT, "A collection's name"),
        ("a\n", OBJECT, "A collection's name"),
        ("", OBJECT, "A collection's name"),
        ("x'; DROP TABLE rooms; --", OBJECT, "A collection's name"),
        ("notes", {"type": "objekt"}, "not a valid JSON Schema"),
        ("notes", {"type": "array"}, "must have type object; given type 'array'"),
        ("notes", {"$ref": "https://example.org/x"}, "not a valid JSON Schema"),
        ("notes", {"properties": {"a": {"pattern": "("}}}, "not a valid JSON Schema"),
        ("notes", {"properties": {"a b": {}}}, "A property name has"),
        ("notes", {"properties": {'a"': {}}}, "A property name has"),
        ("notes", {"properties": {"Version": {}}}, "A property name has"),
        ("notes", {"properties": {"access_read": {}}}, "A property name has"),
        ("notes", {"properties": {"a": {}, "A": {}}}, "A property name has"),
        ("notes", {"description": "x" * 100_001}, "too large"),
    ],
)
async def test_a_wrong_definition_is_refused(house: DataHouse, name: str, schema: dict[str, Any], says: str) -> None:
    with pytest.raises(BadParams, match=says):
        await house.run("collection/define", name=name, schema=schema)
    assert all(one["kind"] == "system" for one in (await house.run("data/describe"))["items"])


async def test_a_schema_that_records_do_not_fit_is_refused(house: DataHouse) -> None:
    await house.run("collection/define", name="notes", schema=OBJECT)
    for data in ({"title": "a"}, {"title": 5}, {"other": 1}):
        await house.run("data/create", collection="notes", data=data)
    with pytest.raises(Conflict, match="2 of 3 records of notes do not fit"):
        await house.run("collection/define", name="notes", schema=NOTE)
    with pytest.raises(Conflict, match="2 of 3 records"):
        await house.effect("collection/define", name="notes", schema=NOTE)


async def test_an_empty_collection_can_be_dropped_and_brought_back(house: DataHouse) -> None:
    (id,) = await house.notes({"title": "a"})
    with pytest.raises(Conflict, match=r"^Collection notes is not empty \(records: 1\)\. Delete its records first\.$"):
        await house.run("collection/drop", name="notes")
    await house.run("data/delete", collection="notes", id=id)
    assert await house.effect("collection/drop", name="notes") == {
        "collection": "notes",
        "before": NOTE,
        "after": None,
        "records": 0,
    }
    assert await house.run("collection/drop", name="notes") == {"dropped": "notes"}
    dropped = house.last
    with pytest.raises(NotFound, match="no collection 'notes'"):
        await house.run("data/list", collection="notes")
    with pytest.raises(NotFound, match="no managed collection 'notes'"):
        await house.run("collection/drop", name="notes")
    await house.run("undo", execution=dropped)
    assert await house.ids("notes") == []


async def test_definitions_are_undone_and_the_undo_too(house: DataHouse) -> None:
    await house.run("collection/define", name="notes", schema=OBJECT)
    made = house.last
    await house.run("collection/define", name="notes", schema=NOTE)
    redefined = house.last
    with pytest.raises(Conflict, match="Collection notes has changed since"):
        await house.run("undo", execution=made)
    await house.run("undo", execution=redefined)
    back = house.last
    assert (await house.run("data/describe", collection="notes"))["schema"] == OBJECT
    await house.run("undo", execution=back)
    assert (await house.run("data/describe", collection="notes"))["schema"] == NOTE


async def test_undoing_a_definition_never_takes_records_along(house: DataHouse) -> None:
    await house.run("collection/define", name="notes", schema=NOTE)
    made = house.last
    await house.run("data/create", collection="notes", data={"title": "a"})
    with pytest.raises(Conflict, match=r"is not empty \(records: 1\)"):
        await house.run("undo", execution=made)
    await house.run("collection/define", name="notes", schema=OBJECT)
    widened = house.last
    await house.run("data/create", collection="notes", data={"free": 1})
    with pytest.raises(Conflict, match="1 of 2 records of notes do not fit"):
        await house.run("undo", execution=widened)


async def test_a_dry_run_shows_both_schemas(house: DataHouse) -> None:
    shown = await house.effect("collection/define", name="notes", schema=NOTE)
    assert shown == {"collection": "notes", "before": None, "after": NOTE, "records": 0}
    with pytest.raises(NotFound):
        await house.run("data/list", collection="notes")


async def test_each_tenant_has_its_own_collection_of_one_name(house: DataHouse) -> None:
    await house.run("collection/define", name="notes", schema=NOTE)
    await house.run("collection/define", OTHER, name="notes", schema=OBJECT)
    await house.run("data/create", OTHER, collection="notes", data={"free": 1})
    assert await house.ids("notes") == []
    await house.run("collection/drop", name="notes")
    assert len(await house.ids("notes", OTHER)) == 1
