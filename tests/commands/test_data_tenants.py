"""R7.4: two tenants with the same names never see or change each other, in any data command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from data_fixtures import OTHER, ROOT, DataHouse

from doorward.core.errors import NotFound

COLLECTIONS = ["rooms", "messages", "users", "executions", "approvals", "audit", "notes"]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[DataHouse]:
    house = DataHouse(tmp_path)
    yield house
    house.store.close()


async def filled(house: DataHouse) -> None:
    await house.seed()
    for caller in (ROOT, OTHER):
        await house.notes(caller=caller)
        note = {"title": f"of-{caller.tenant}"}
        await house.run("data/create", caller, collection="notes", data=note, id="same")
        await house.run("data/create", caller, collection="notes", data=note, id=f"only-{caller.tenant}")


def foreign(answer: Any, tenant: str) -> bool:
    other = {"local": "other", "other": "local"}[tenant]
    return any(f"{mark}{other}" in json.dumps(answer) for mark in ("of-", "only-", "m-", "a-", "c1-", "c2-", "c3-"))


async def test_reading_commands_show_only_the_own_tenant(house: DataHouse) -> None:
    await filled(house)
    for caller in (ROOT, OTHER):
        for name in COLLECTIONS:
            everything = {"$or": [{"id": {"$exists": True}}, {"id": None}]}
            listed = await house.run("data/list", caller, collection=name, filter=everything)
            assert listed["items"]
            assert not foreign(listed, caller.tenant)
            assert (await house.run("data/count", caller, collection=name))["count"] == len(listed["items"])
            grouped = await house.run("data/aggregate", caller, collection=name, groupBy=["id"], limit=1_000)
            assert len(grouped["items"]) == len(listed["items"])
            assert not foreign(grouped, caller.tenant)
            queried = await house.run("data/query", caller, sql=f"SELECT * FROM {name} WHERE 1 = 1 OR id <> ''")
            assert len(queried["items"]) == len(listed["items"])
            assert not foreign(queried, caller.tenant)
        described = await house.run("data/describe", caller)
        assert not foreign(described, caller.tenant)
        assert (await house.run("data/read", caller, collection="notes", id="same"))["title"] == f"of-{caller.tenant}"
        assert (await house.run("data/read", caller, collection="rooms", id="general"))["name"] == f"of-{caller.tenant}"


async def test_what_is_only_the_other_tenants_does_not_exist(house: DataHouse) -> None:
    await filled(house)
    for collection, id in (
        ("notes", "only-local"),
        ("messages", "m-local-general"),
        ("approvals", "a-local"),
        ("executions", "c1-local"),
        ("audit", 1),
    ):
        with pytest.raises(NotFound):
            await house.run("data/read", OTHER, collection=collection, id=id)
    for command, params in (("data/update", {"data": {"title": "x"}}), ("data/delete", {})):
        with pytest.raises(NotFound):
            await house.run(command, OTHER, collection="notes", id="only-local", **params)
        with pytest.raises(NotFound):
            await house.effect(command, OTHER, collection="notes", id="only-local", **params)


async def test_changes_touch_only_the_own_tenant(house: DataHouse) -> None:
    await filled(house)
    before = await house.run("data/list", collection="notes")
    await house.run("data/update", OTHER, collection="notes", id="same", data={"title": "changed"})
    await house.run("data/delete", OTHER, collection="notes", id="same")
    deleted = house.last
    await house.run("data/create", OTHER, collection="notes", data={"title": "new"}, id="only-local")
    assert await house.run("data/list", collection="notes") == before
    with pytest.raises(NotFound, match="nothing to undo"):
        await house.run("undo", execution=deleted)


async def test_a_cursor_of_another_tenant_opens_nothing(house: DataHouse) -> None:
    await filled(house)
    cursor = (await house.run("data/list", collection="notes", limit=1))["cursor"]
    page = await house.run("data/list", OTHER, collection="notes", cursor=cursor)
    assert not foreign(page, "other")
