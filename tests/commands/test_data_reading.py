"""R7.1: reading the house's own collections and managed ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from data_fixtures import BOT, EDIT, FULL, READ, ROOT, DataHouse

from doorward.config.settings import DataSettings
from doorward.core.classification import Access
from doorward.core.errors import BadParams, NotFound, NotPermitted, TimedOut
from doorward.core.model import Caller
from doorward.store.sqlite import Statement

EMPTY = ("servers", "mcp_servers", "mcp_tool_invocations", "jobs", "nodes")
SYSTEM = ["rooms", "messages", "users", "recipes", "executions", "approvals", "audit", *EMPTY]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[DataHouse]:
    house = DataHouse(tmp_path)
    yield house
    house.store.close()


async def test_rooms_show_their_members_and_readable_times(house: DataHouse) -> None:
    await house.seed()
    room = await house.run("data/read", collection="rooms", id="general")
    assert room == {
        "id": "general",
        "name": "of-local",
        "recipe": "support",
        "archived": False,
        "members": [
            {"id": "eve", "kind": "human", "role": "owner"},
            {"id": "rob", "kind": "human", "role": "member"},
        ],
        "version": 1,
        "createdAt": "1970-01-01T00:00:10.000Z",
        "topic": "",
        "direct": False,
    }


async def test_every_system_collection_can_be_listed_counted_described_and_queried(house: DataHouse) -> None:
    await house.seed()
    for name in SYSTEM:
        items = (await house.run("data/list", collection=name))["items"]
        assert (await house.run("data/count", collection=name)) == {"count": len(items)}
        described = await house.run("data/describe", collection=name)
        assert described["count"] == len(items)
        queried = await house.run("data/query", sql=f"SELECT * FROM {name}")
        assert len(queried["items"]) == len(items)
        assert queried["columns"] == list(described["fields"])
        assert all(list(item) == list(described["fields"]) for item in items)
        assert (len(items) == 0) == (name in EMPTY)


async def test_executions_have_one_row_for_each_call(house: DataHouse) -> None:
    await house.seed()
    found = await house.run("data/list", collection="executions", fields=["id", "status", "durationMs"])
    assert found["items"] == [
        {"id": "c1-local", "status": "done", "durationMs": 1.5},
        {"id": "c2-local", "status": "failed", "durationMs": 1.5},
        {"id": "c3-local", "status": "running", "durationMs": 1.5},
    ]
    assert (await house.run("data/read", collection="executions", id="c2-local"))["status"] == "failed"


async def test_filters_reach_into_json_fields_and_know_booleans(house: DataHouse) -> None:
    await house.seed()
    assert await house.ids("rooms", filter={"archived": True}) == ["secret"]
    assert await house.ids("rooms", filter={"archived": {"$ne": True}}) == ["general"]
    assert await house.ids("recipes", filter={"body.a.b": 1}) == ["support"]
    assert await house.ids("rooms", filter={"name": {"$contains": "loc"}}, orderBy="-createdAt") == [
        "secret",
        "general",
    ]
    assert await house.ids("audit", filter={"params.n": {"$gt": 0}, "phase": "end"}) == [3]
    assert await house.ids("executions", filter={"at": {"$gte": "1970-01-01T00:00:50Z"}}, limit=1) == ["c1-local"]


async def test_approvals_never_show_secrets_not_even_to_a_filter(house: DataHouse) -> None:
    await house.seed()
    shown = await house.run("data/read", collection="approvals", id="a-local")
    assert shown["params"] == {"name": "of-local", "password": "[redacted]", "pin": "[redacted]"}
    for secret in ("hunter2", "4711"):
        assert secret not in str(await house.run("data/query", sql="SELECT * FROM approvals"))
        assert await house.ids("approvals", filter={"params.password": {"$regex": "^h"}}) == []
        assert await house.ids("approvals", filter={"params.pin": secret}) == []
        sql = "SELECT count(*) AS n FROM approvals WHERE params LIKE ?"
        assert (await house.run("data/query", sql=sql, params=[f"%{secret}%"]))["items"] == [{"n": 0}]
    assert (await house.run("data/aggregate", collection="approvals", groupBy=["params.pin"]))["items"] == [
        {"params.pin": "[redacted]", "count": 1}
    ]


async def test_parameters_show_to_their_caller_and_to_full_access_only(house: DataHouse) -> None:
    await house.seed()
    for caller, sees in ((ROOT, True), (FULL, True), (EDIT, True), (BOT, True), (READ, False)):
        items = (await house.run("data/list", caller, collection="audit"))["items"]
        assert [item["params"] is not None for item in items] == [sees] * 4
        approval = await house.run("data/read", caller, collection="approvals", id="a-local")
        assert (approval["params"] is not None) is sees
        counted = await house.run("data/count", caller, collection="audit", filter={"params.n": 1})
        assert (counted["count"] > 0) is sees


async def test_messages_and_rooms_show_to_members_and_to_full_access(house: DataHouse) -> None:
    await house.seed()
    assert await house.ids("rooms", FULL) == ["general", "secret"]
    assert await house.ids("messages", FULL) == ["m-local-general", "m-local-secret"]
    for caller in (READ, EDIT, BOT):
        assert await house.ids("rooms", caller) == ["general"]
        assert await house.ids("messages", caller) == ["m-local-general"]
        found = await house.run("data/query", caller, sql="SELECT id FROM messages")
        assert found["items"] == [{"id": "m-local-general"}]


async def test_a_credential_limited_to_rooms_sees_only_those(house: DataHouse) -> None:
    await house.seed()
    limited = msgspec.structs.replace(ROOT, rooms=("general",))
    assert await house.ids("rooms", limited) == ["general"]
    assert await house.ids("messages", limited) == ["m-local-general"]
    assert await house.ids("executions", limited) == ["c1-local", "c2-local"]
    assert await house.ids("audit", limited) == [1, 2, 3]
    nowhere = msgspec.structs.replace(ROOT, rooms=())
    for name in ("rooms", "messages", "executions", "audit", "approvals"):
        assert await house.ids(name, nowhere) == []
        assert (await house.run("data/query", nowhere, sql=f"SELECT * FROM {name}"))["items"] == []


async def test_a_caller_without_a_tenant_has_no_data(house: DataHouse) -> None:
    nobody = Caller(tenant="", id="x", kind="service", access=Access.ROOT)
    for command, params in (
        ("data/list", {"collection": "rooms"}),
        ("data/query", {"sql": "SELECT 1"}),
        ("data/describe", {}),
        ("collection/define", {"name": "notes", "schema": {}}),
    ):
        with pytest.raises(NotPermitted, match="You belong to no tenant"):
            await house.run(command, nobody, **params)


async def test_an_unknown_collection_is_refused_with_those_there_are(house: DataHouse) -> None:
    await house.notes()
    for name in ("nots", "shop.orders", "main.ledger", "tokens", "ROOMS", "a' OR 1=1", "\x00"):
        with pytest.raises(NotFound, match=r"there are: rooms, messages, users, .*nodes, notes"):
            await house.run("data/list", collection=name)
    with pytest.raises(NotFound, match="no record 'nope' in rooms"):
        await house.run("data/read", collection="rooms", id="nope")


async def test_describe_lists_every_collection_with_kind_fields_and_count(house: DataHouse) -> None:
    await house.notes({"title": "a"})
    described = {one["collection"]: one for one in (await house.run("data/describe"))["items"]}
    assert list(described) == [*SYSTEM, "notes"]
    assert described["notes"] == {
        "collection": "notes",
        "kind": "managed",
        "key": "id",
        "fields": {
            "id": "text",
            "title": "text",
            "done": "boolean",
            "amount": "number",
            "tags": "json",
            "place": "json",
            "version": "number",
            "createdAt": "time",
            "updatedAt": "time",
            "createdBy": "text",
        },
        "count": 1,
    }
    assert (await house.run("data/describe", collection="notes"))["schema"]["required"] == ["title"]


async def test_fields_choose_what_is_shown_even_inside_objects(house: DataHouse) -> None:
    await house.notes({"title": "a", "place": {"city": "Rome"}}, {"title": "b"})
    found = await house.run("data/list", collection="notes", fields=["title", "place.city"], orderBy="title")
    assert found["items"] == [{"title": "a", "place.city": "Rome"}, {"title": "b", "place.city": None}]
    with pytest.raises(BadParams, match="rooms has no field 'nope'"):
        await house.run("data/list", collection="rooms", fields=["nope"])


async def test_aggregates_group_and_measure(house: DataHouse) -> None:
    await house.notes(
        {"title": "a", "amount": 2, "done": True},
        {"title": "b", "amount": 3.5, "done": True},
        {"title": "c", "amount": 10, "done": False},
        {"title": "d"},
    )
    found = await house.run(
        "data/aggregate",
        collection="notes",
        groupBy=["done"],
        metrics={
            "n": {"count": "*"},
            "amounts": {"count": "amount"},
            "total": {"sum": "amount"},
            "mean": {"avg": "amount"},
            "least": {"min": "title"},
            "most": {"max": "amount"},
        },
        orderBy="-n,done",
    )
    assert found == {
        "items": [
            {"done": True, "n": 2, "amounts": 2, "total": 5.5, "mean": 2.75, "least": "a", "most": 3.5},
            {"done": None, "n": 1, "amounts": 0, "total": None, "mean": None, "least": "d", "most": None},
            {"done": False, "n": 1, "amounts": 1, "total": 10, "mean": 10, "least": "c", "most": 10},
        ],
        "more": False,
    }
    whole = await house.run(
        "data/aggregate", collection="notes", metrics={"last": {"max": "createdAt"}}, filter={"title": "a"}
    )
    assert whole["items"][0]["last"].endswith("Z")
    one = await house.run("data/aggregate", collection="notes", groupBy=["title"], limit=2)
    assert one == {"items": [{"title": "a", "count": 1}, {"title": "b", "count": 1}], "more": True}


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"metrics": {"x": {"median": "amount"}}}, "one of count, sum, avg, min, max"),
        ({"metrics": {"x": {}}}, "one of count"),
        ({"groupBy": ["title"], "metrics": {"title": {"count": "*"}}}, "must all differ"),
        ({"groupBy": ["title", "title"]}, "must all differ"),
        ({"groupBy": ["title"], "orderBy": "amount"}, "orderBy takes a column of the aggregate: title, count"),
        ({"groupBy": [f"f{n}" for n in range(11)]}, "at most 10"),
    ],
)
async def test_a_wrong_aggregate_is_refused(house: DataHouse, params: dict[str, Any], says: str) -> None:
    await house.notes()
    with pytest.raises(BadParams, match=says):
        await house.run("data/aggregate", collection="notes", **params)


async def test_groups_keep_true_one_and_text_apart(house: DataHouse) -> None:
    await house.run("collection/define", name="things", schema={})
    for value in (True, 1, 1.0, "1", [1], None):
        await house.run("data/create", collection="things", data={"v": value})
    found = await house.run("data/aggregate", collection="things", groupBy=["v"])
    shown = {repr(item["v"]): item["count"] for item in found["items"]}
    assert shown == {"None": 1, "1": 2, "True": 1, "'1'": 1, "[1]": 1}


async def test_a_page_ends_where_the_bytes_end(tmp_path: Path) -> None:
    house = DataHouse(tmp_path, DataSettings(query_bytes=5_000))
    await house.notes(*({"title": "x" * 2_000} for _ in range(5)))
    seen = []
    cursor = None
    while True:
        page = await house.run("data/list", collection="notes", cursor=cursor)
        assert 1 <= len(page["items"]) <= 2
        seen += [item["id"] for item in page["items"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert len(set(seen)) == len(seen) == 5
    house.store.close()


async def test_reading_stops_at_the_time_limit(tmp_path: Path) -> None:
    house = DataHouse(tmp_path, DataSettings(query_seconds=0.05))
    await house.run("collection/define", name="things", schema={})
    await house.store.write(
        Statement(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) INSERT INTO records"
            " SELECT 'local', 'things', 'r' || i, '{\"a\":' || i || '}', 1, 0.0, 0.0, 'ada' FROM n"
        )
    )
    slow = {"$or": [{"a": {"$regex": f"x{n}"}} for n in range(20)]}
    with pytest.raises(TimedOut, match=r"stopped after 0\.05 s"):
        await house.run("data/count", collection="things", filter=slow)
    house.store.close()


async def test_numbers_too_large_to_sum_are_an_error_and_not_a_wrong_sum(house: DataHouse) -> None:
    await house.run("collection/define", name="things", schema={})
    for _ in range(2):
        await house.run("data/create", collection="things", data={"v": 2**62})
    with pytest.raises(Exception, match="integer overflow"):
        await house.run("data/aggregate", collection="things", metrics={"s": {"sum": "v"}})
