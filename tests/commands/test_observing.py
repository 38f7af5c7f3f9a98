"""ai/report, debug/logs, system/status and help come from the ledger, the log and the declarations (R5.5)."""

from __future__ import annotations

import logging

import pytest

from doorward.commands.ai import parse_time
from doorward.core.errors import BadParams


async def test_the_report_counts_what_the_ledger_says(driver):
    await driver.ask("room/list")
    await driver.ask("file/read", params={"path": "missing"})
    await driver.ask("system/status")
    await driver.ask("file/write", params={"path": "a", "content": "b"})
    report = await driver.ask("ai/report", by="", room="", params={"persona": "helper"})
    (line,) = report.result["items"]
    counts = {name: line[name] for name in ("calls", "done", "failed", "refused", "parked", "successRate")}
    assert (line["persona"], line["kind"], line["room"]) == ("helper", "ai", "general")
    assert counts == {"calls": 4, "done": 1, "failed": 1, "refused": 1, "parked": 1, "successRate": 0.5}


async def test_the_report_can_be_narrowed(driver):
    await driver.owner("room/create", name="lab", recipe="research-chat")
    await driver.ask("room/list", room="general")
    await driver.ask("data/describe", room="lab")
    only = await driver.ask("ai/report", by="", room="", params={"room": "lab"})
    none = await driver.ask("ai/report", by="", room="", params={"until": "2001-01-01"})
    assert [item["room"] for item in only.result["items"]] == ["lab"]
    assert none.result["items"] == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 910), ("1m", 940), ("1970-01-01T00:00:10Z", 10), ("1970-01-02", 86_400), ("1970-01-01T01:00:00+01:00", 0)],
)
def test_times_are_dates_or_ages(text, seconds):
    assert parse_time(text, 1_000) == seconds * 1_000_000


@pytest.mark.parametrize("text", ["yesterday", "1x", "-5m", "5", "2026-13-01", "٣d"])
def test_other_times_are_refused(text):
    with pytest.raises(BadParams, match="Unknown time"):
        parse_time(text, 1_000)


async def test_the_log_can_be_tailed_filtered_and_narrowed_to_errors(driver):
    log = logging.getLogger("doorward.test")
    for number in range(5):
        log.info("notice %d", number)
    log.error("something broke with api_key=abcdef123456")

    async def logs(**params):
        return (await driver.ask("debug/logs", by="", room="", params=params)).result

    assert [line["message"] for line in (await logs(tailLines=2))["items"]] == [
        "notice 4",
        "something broke with api_key=[redacted]",
    ]
    assert (await logs(includeErrorsOnly=True))["matched"] == 1
    assert [line["message"] for line in (await logs(filterPattern="notice [12]"))["items"]] == ["notice 1", "notice 2"]


async def test_a_pattern_that_would_hang_others_or_is_none_is_harmless(driver):
    logging.getLogger("doorward.test").info("%s", "a" * 5_000)
    slow = await driver.ask("debug/logs", by="", room="", params={"filterPattern": "(a+)+$b"})
    wrong = await driver.ask("debug/logs", by="", room="", params={"filterPattern": "("})
    assert (slow.status, wrong.code) == ("done", "bad_params")


async def test_the_status_says_what_is_not_as_it_should_be(driver, home):
    well = await driver.owner("system/status")
    (home.recipes / "odd.json").write_text('{"recipeId": "odd"')
    await driver.house.services.recipes.load()
    ill = await driver.owner("system/status")
    assert (well.result["state"], ill.result["state"]) == ("well", "degraded")
    assert "odd.json" in ill.result["problems"][0]


async def test_help_finds_commands_the_caller_may_run_and_describes_them(driver):
    found = await driver.ask("help/search", params={"query": "how do I change a file", "limit": 3})
    names = [item["command"] for item in found.result["items"]]
    described = await driver.ask("help/describe", params={"command": "file_read"})
    hidden = await driver.ask("help/describe", params={"command": "user/create"})
    assert any(name.startswith("file/") for name in names)
    assert described.result["name"] == "file/read"
    assert described.result["schema"]["required"] == ["path"]
    assert hidden.code == "not_permitted"


async def test_help_offers_nothing_where_nothing_is_allowed(driver):
    await driver.owner("room/create", name="bar", recipe="casual-chat")
    assert (await driver.ask("help/search", room="bar", params={"query": "file"})).code == "not_permitted"
