"""`/health` reports an unusable database, even if no request came since."""

from __future__ import annotations

import asyncio
import os
import sqlite3

import httpx2
import pytest

from doorward.doors.http.applications import HttpApplications
from doorward.store.storage_health import StorageHealth


async def health(driver):
    app = HttpApplications(driver.house.gate, driver.house.services).public
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1") as client:
        answer = await client.get("/health")
    return answer.status_code, answer.json()["status"]


@pytest.mark.parametrize("spoilt", ["header", "pages", "replaced"])
async def test_a_damaged_database_is_reported_with_status_503(driver, spoilt):
    path = driver.house.services.store.path
    await driver.owner("room/list")
    assert await health(driver) == (200, "ok")
    with sqlite3.connect(path) as db:
        older = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        size = path.stat().st_size
    db.close()
    assert older[0] == 0
    if spoilt == "replaced":
        path.rename(path.with_suffix(".away"))
        sqlite3.connect(path).close()
    else:
        begin, end = (0, 100) if spoilt == "header" else (4_096, size)
        descriptor = os.open(path, os.O_WRONLY)
        os.pwrite(descriptor, b"\xa5" * (end - begin), begin)
        os.close(descriptor)
    assert await health(driver) == (503, "failed")


async def test_damage_that_a_request_met_stays_reported(driver):
    store = driver.house.services.store
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT

    def meet(db):
        raise error

    refused = await asyncio.gather(store.in_reader(meet), return_exceptions=True)
    assert [one.code for one in refused] == ["ledger_unavailable"]
    assert "malformed" in await StorageHealth(store).problem()
    status = (await driver.owner("system/status")).result
    assert (status["state"], any("malformed" in one for one in status["problems"])) == ("degraded", True)
    assert await health(driver) == (503, "failed")
