"""recipe/diff reads decisions back from the ledger: from its table and moved-out files, for one tenant (R2.7)."""

from __future__ import annotations

import json

import pytest

from doorward.commands import ledger_walk

QUIET = json.dumps({"recipeId": "quiet", "displayName": "Quiet", "strategy": {}})


def recipe(id: str = "code-collaboration", **commands) -> str:
    strategy = {"aiCommands": {"enabled": True, **commands}}
    return json.dumps({"recipeId": id, "displayName": "New", "strategy": strategy})


async def diff(driver, **params):
    outcome = await driver.owner("recipe/diff", **params)
    return outcome.result


def flips(result) -> dict[str, tuple[str, str, int]]:
    return {one["command"]: (one["was"], one["would"], one["count"]) for one in result["items"]}


@pytest.fixture
async def busy(driver):
    """A room in which something was read, asked for and refused."""
    await driver.ask("room/list")
    await driver.ask("data/describe")
    await driver.ask("file/write", params={"path": "a.txt", "content": "x"})
    await driver.ask("system/shutdown")
    await driver.ask("user/list")
    await driver.ask("room/list", params={"nonsense": 1})
    return driver


async def test_the_recipe_in_force_flips_nothing(busy):
    found = await diff(busy, id="code-collaboration")
    assert (found["rooms"], found["items"], found["flipped"], found["complete"]) == (["general"], [], 0, True)
    assert found["same"] == 4
    assert set(found["leftOut"]) == {"bad_params", "refused independently of recipes"}


async def test_a_new_recipe_flips_what_it_decides_otherwise(busy):
    text = recipe(whitelist=["room/*", "user/*", "file/*"], parameterRules={"file/*": {"path": {"glob": "b/**"}}})
    found = await diff(busy, text=text)
    assert flips(found) == {
        "data/describe": ("allowed", "refused", 1),
        "file/write": ("approval", "refused", 1),
        "user/list": ("refused", "allowed", 1),
    }
    (example,) = found["items"][1]["examples"]
    assert (example["caller"], example["params"]["path"]) == ("helper", "a.txt")
    assert found["says"].startswith("3 of 4 decisions would change")


async def test_a_secret_in_the_record_is_not_guessed_at(driver):
    await driver.ask("data/list", params={"collection": "rooms", "filter": {"name": "password=hunter22"}})
    text = recipe(whitelist=["*"], parameterRules={"data/list": {"filter": {"type": "object"}}})
    found = await diff(driver, text=text)
    assert (flips(found), found["untold"]) == ({"data/list": ("allowed", "unknown", 1)}, 1)
    assert "hunter22" not in json.dumps(found)


async def test_it_looks_only_at_the_span(busy):
    later = busy.clock.wall_us() + 3_600 * 1_000_000
    busy.clock.wall_us = lambda: later
    await busy.ask("room/list")
    assert (await diff(busy, text=QUIET, inRoom="general", since="30m"))["flipped"] == 1
    assert (await diff(busy, text=QUIET, inRoom="general", since="2h"))["flipped"] == 4
    assert (await diff(busy, text=QUIET, inRoom="general", since="2h", until="30m"))["flipped"] == 3


async def test_moved_out_records_are_decided_again_as_well(busy):
    before = await diff(busy, text=QUIET, inRoom="general")
    await busy.house.ledger_maintainer.rotate(2)
    after = await diff(busy, text=QUIET, inRoom="general")
    assert flips(after) == flips(before)
    assert after["complete"] is True


async def test_a_moved_out_file_that_is_gone_is_said(busy):
    file = await busy.house.ledger_maintainer.rotate(0)
    file.unlink()
    found = await diff(busy, text=QUIET, inRoom="general")
    assert (found["complete"], found["flipped"]) == (False, 0)
    assert "cannot be read" in found["says"]


async def test_when_time_is_up_it_says_how_far_back_it_looked(busy, monkeypatch):
    monkeypatch.setattr(ledger_walk, "_AT_ONCE", 1)
    found = await diff(busy, text=QUIET, inRoom="general", seconds=0)
    assert found["complete"] is False
    assert found["lookedBackTo"] > found["since"]
    assert "Time was up" in found["says"]


async def test_other_tenants_have_a_ledger_of_their_own(busy):
    await busy.owner("user/create", id="boss", access="root", tenant="rival")
    token = await busy.token("laptop", user="boss", tenant="rival", kind="human", access="root")
    room = {"name": "general", "recipe": "code-collaboration"}
    assert (await busy.ask("room/create", token=token, room="", params=room)).status == "done"
    theirs = await busy.ask("recipe/diff", token=token, room="", params={"text": QUIET, "inRoom": "general"})
    assert (theirs.status, theirs.result["flipped"], theirs.result["same"]) == ("done", 0, 0)


async def test_agents_may_not_look_and_a_bad_text_is_refused_with_field_and_reason(busy):
    assert (await busy.ask("recipe/diff", by="helper", params={"text": QUIET})).code == "not_permitted"
    bad = await busy.ask("recipe/diff", by="", room="", params={"text": recipe(tiers=["kode"])})
    assert (bad.status, bad.code) == ("failed", "bad_params")
    assert "strategy.aiCommands.tiers[0]" in bad.message
    empty = await busy.ask("recipe/diff", by="", room="", params={"id": "support", "since": "1h", "until": "2h"})
    assert "The time span is empty" in empty.message


async def test_a_recipe_that_governs_no_room_says_so(busy):
    found = await diff(busy, text=QUIET)
    assert (found["rooms"], found["says"].startswith("None of your rooms uses this recipe")) == ([], True)
