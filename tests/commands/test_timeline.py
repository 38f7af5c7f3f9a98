"""audit/timeline and the record's pages: counts made from old records say the same as the records (R13.3)."""

from __future__ import annotations

import random
from collections import Counter

import msgspec
import pytest

from doorward.core.clock import to_iso
from doorward.core.ids import new_id
from doorward.store.ledger import counts, maintenance, queries
from doorward.store.ledger.record import record_from_row

DAY = 86_400
_ENDS = [("done", "ok"), ("refused", "too_fast"), ("parked", "approval_needed"), ("failed", "broken")]


async def fill(driver, count: int, days: float, tenant: str = "local") -> list[dict]:
    """Records of agents in rooms, spread over the days before now."""
    await driver.ask("room/list", by="", room="")
    store = driver.house.services.store
    (row,) = await store.in_reader(lambda db: queries.newest(db, 1))
    chance = random.Random(5)
    now = int(driver.clock.now() * 1_000_000)
    entries = []
    for number in range(count):
        status, code = chance.choice(_ENDS)
        whole = msgspec.structs.replace(
            record_from_row(row).entry,
            at=now - int((count - number) / count * days * DAY * 1_000_000),
            call=new_id(),
            tenant=tenant,
            caller=f"agent-{chance.randrange(3)}" if chance.random() < 0.99 else "rare",
            room=chance.choice(["general", "lab"]),
            command=chance.choice(["data/list", "file/read", "bash"]),
            door=chance.choice(["mcp", "rest"]),
            status=status,
            code=code,
        )
        if status == "failed":
            entries.append(msgspec.structs.replace(whole, phase="start", status="started", code=""))
            whole = msgspec.structs.replace(whole, phase="end")
        entries.append(whole)
    await store.write(entries=entries, durable=False)
    return [msgspec.structs.asdict(entry) for entry in entries]


async def timeline(driver, **params):
    outcome = await driver.ask("audit/timeline", by="", room="", params=params)
    assert outcome.status == "done", outcome
    return outcome.result


@pytest.fixture
async def counted(driver, monkeypatch):
    """A ledger of which all but the newest records are counted; gives the driver and all records."""
    monkeypatch.setattr(counts, "NEWEST", 100)
    monkeypatch.setattr(maintenance, "_STRETCH", 250)
    records = await fill(driver, 1_000, 20)
    await fill(driver, 50, 1, tenant="other")
    await driver.house.ledger_maintainer.count()
    assert await driver.house.services.store.in_reader(counts.last_counted) == 1_000
    return driver, records


WAYS = [
    {},
    {"status": "refused"},
    {"inRoom": "lab"},
    {"caller": "rare"},
    {"command": "bash", "status": "failed"},
    {"door": "mcp", "caller": "agent-1"},
    {"code": "too_fast", "inRoom": "lab", "command": "bash"},
    {"caller": "nobody"},
]


def fitting(records: list[dict], way: dict, since: float) -> list[dict]:
    wanted = {"room" if name == "inRoom" else name: value for name, value in way.items()}
    return [one for one in records if one["at"] >= since * 1e6 and all(one[key] == wanted[key] for key in wanted)]


async def test_the_chart_counts_what_the_records_say(counted):
    driver, records = counted
    for way in WAYS:
        found = await timeline(driver, since="30d", until=to_iso(driver.clock.now()), **way)
        ended = [one for one in fitting(records, way, 0) if one["phase"] != "start"]
        totals = Counter(one["status"] for one in ended)
        for status, n in found["totals"].items():
            assert n == totals[status] + 2 * (status == "done" and not way), way  # beside the calls that came first
        assert sum(n for item in found["items"] for n in item["counts"].values()) == sum(found["totals"].values())
        assert len(found["items"]) <= 200
        assert found["seconds"] % counts.PERIOD == 0


async def test_a_short_span_has_narrow_bars(counted):
    driver, records = counted
    now = driver.clock.now()
    found = await timeline(driver, since="1h", until=to_iso(now), caller="agent-1")
    assert found["seconds"] == 30
    begin = int(now - 3_600) // 30 * 30
    ended = [one for one in fitting(records, {"caller": "agent-1"}, begin) if one["phase"] != "start"]
    assert sum(found["totals"].values()) == len(ended)


async def test_a_page_of_records_misses_none_and_repeats_none(counted):
    driver, records = counted
    calls = {record["call"] for record in records}
    for way in WAYS:
        filter = {"room" if name == "inRoom" else name: {"$eq": value} for name, value in way.items()}
        seen, cursor = [], None
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = await driver.owner("data/list", collection="audit", orderBy="-id", limit=150, filter=filter, **more)
            seen += page.result["items"]
            cursor = page.result["cursor"]
            if cursor is None:
                break
        meant = [(one["call"], one["phase"]) for one in reversed(fitting(records, way, 0))]
        assert [(one["call"], one["phase"]) for one in seen if one["call"] in calls] == meant
        assert [one["id"] for one in seen] == sorted({one["id"] for one in seen}, reverse=True)


async def test_a_page_of_a_span_of_time_is_whole_as_well(counted):
    driver, records = counted
    since, until = int(driver.clock.now()) - 12 * DAY, int(driver.clock.now()) - 11 * DAY
    span = {"at": {"$gte": to_iso(since), "$lt": to_iso(until)}}
    page = await driver.owner("data/list", collection="audit", orderBy="-id", limit=200, filter=span)
    meant = [one for one in records if since <= one["at"] / 1e6 < until]
    assert [one["call"] for one in page.result["items"]] == [one["call"] for one in reversed(meant)]


async def test_what_is_moved_out_is_no_longer_counted(counted):
    driver, _ = counted
    await driver.house.ledger_maintainer.rotate(500)
    found = await timeline(driver, since="30d", until=to_iso(driver.clock.now()))
    left = await driver.house.services.store.read(
        "SELECT count(*) AS n FROM ledger WHERE tenant = 'local' AND phase != 'start' AND at < ?",
        (int(driver.clock.now() * 1e6),),
    )
    assert abs(sum(found["totals"].values()) - left[0]["n"]) < 20  # one period lies on both sides
    assert found["oldest"] > to_iso(driver.clock.now() - 20 * DAY)


async def test_a_small_ledger_is_never_counted_apart(driver):
    await fill(driver, 300, 1)
    await driver.house.ledger_maintainer.count()
    assert await driver.house.services.store.read("SELECT * FROM ledger_counts") == []


async def test_an_empty_span_is_refused(driver):
    refused = await driver.ask("audit/timeline", by="", room="", params={"since": "1h", "until": "2h"})
    assert refused.message.startswith("The time span is empty: since must be before until")


async def test_an_agent_sees_the_chart_of_its_room_only_with_a_token_for_it(counted):
    driver, records = counted
    token = await driver.token("narrow", rooms=["general"])
    found = await driver.ask(
        "audit/timeline", token=token, room="general", params={"since": "30d", "until": to_iso(driver.clock.now())}
    )
    ended = [one for one in records if one["phase"] != "start" and one["room"] == "general"]
    assert sum(found.result["totals"].values()) == len(ended)
