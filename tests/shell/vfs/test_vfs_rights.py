"""Nothing can be reached by way of the tree that could not be reached without it."""

from __future__ import annotations

import json

import pytest

CANARY = "okapi-5521"
LISTS_ONLY = {
    "recipeId": "lists",
    "displayName": "Lists",
    "strategy": {
        "aiCommands": {"enabled": True, "maxCommandsPerMinute": 600, "whitelist": ["data/list", "vfs/*", "sh/*"]}
    },
}
STRICT = {
    "recipeId": "strict",
    "displayName": "Strict",
    "strategy": {"aiCommands": {"enabled": True, "whitelist": ["data/list"]}},
}


@pytest.fixture
async def tree(driver):
    await driver.owner("collection/define", name="notes", schema={"type": "object"})
    await driver.owner("data/create", collection="notes", id="n1", data={"title": CANARY})
    await driver.owner("file/write", path=f"{CANARY}.txt", content=CANARY)
    for recipe in (LISTS_ONLY, STRICT):
        await driver.owner("recipe/put", id=recipe["recipeId"], text=json.dumps(recipe))
        await driver.owner("room/create", name=recipe["recipeId"], recipe=recipe["recipeId"])
    return driver


async def test_a_room_that_may_list_records_sees_their_lists_and_nothing_else(tree):
    listed = await tree.ask("vfs/list", room="lists", params={"path": "/data/notes"})
    assert [one["name"] for one in listed.result["items"]] == ["n1"]
    for path in ("/workspace", "/tmp", "~", "/data", "/system/commands", "/system/recipes", "/proc"):
        outcome = await tree.ask("vfs/list", room="lists", params={"path": path})
        assert (outcome.status, outcome.code) == ("failed", "not_permitted"), (path, outcome)
    system = await tree.ask("vfs/list", room="lists", params={"path": "/system"})
    assert [one["name"] for one in system.result["items"]] == ["me", "version"]
    for path in (f"/workspace/{CANARY}.txt", "/data/notes/n1", "/system/status", "/system/log"):
        outcome = await tree.ask("vfs/read", room="lists", params={"path": path})
        assert outcome.code == "not_permitted", (path, outcome)
    shown = await tree.ask("sh/ls", room="lists", params={"args": ["/data/notes", "/workspace"]})
    assert shown.result["stdout"] == "/data/notes:\nn1\n"
    assert (shown.result["exitCode"], "file/list" in shown.result["stderr"]) == (126, True)


async def test_a_strict_whitelist_stays_strict(tree):
    for command, params in (("vfs/list", {"path": "/data/notes"}), ("sh/ls", {"args": ["/data/notes"]})):
        outcome = await tree.ask(command, room="strict", params=params)
        assert (outcome.status, outcome.code) == ("refused", "not_permitted")


async def test_a_room_that_may_read_files_may_use_the_tree_to_look_and_not_to_change(tree):
    await tree.owner("room/create", name="library", recipe="read-only-research")
    listed = await tree.ask("vfs/list", room="library", params={})
    written = await tree.ask("vfs/write", room="library", params={"path": "/tmp/a", "content": "a"})
    assert [one["name"] for one in listed.result["items"]] == [f"{CANARY}.txt"]
    assert (written.status, written.code) == ("refused", "not_permitted")


async def test_read_access_reads_and_does_not_write(tree):
    await tree.owner("user/create", id="rita", access="read")
    token = await tree.token("rita-laptop", user="rita", kind="human", access="read")
    read = await tree.ask("vfs/read", token=token, room="", params={"path": f"/workspace/{CANARY}.txt"})
    assert read.result["content"] == CANARY
    for command, params in (
        ("vfs/write", {"path": "/workspace/a", "content": "a"}),
        ("vfs/append", {"path": "~/a", "content": "a"}),
        ("vfs/make", {"path": "/tmp/a"}),
        ("vfs/remove", {"paths": [f"/workspace/{CANARY}.txt"]}),
        ("vfs/copy", {"source": f"{CANARY}.txt", "target": "b"}),
        ("vfs/move", {"source": f"{CANARY}.txt", "target": "b"}),
        ("sh/tee", {"args": ["a"], "input": "a"}),
        ("sh/insert", {"args": ["notes", "title=a"]}),
    ):
        outcome = await tree.ask(command, token=token, room="", params=params)
        assert (outcome.status, outcome.code) == ("refused", "not_permitted"), outcome
    assert sorted(one.name for one in (tree.house.home.path / "workspace").iterdir()) == [f"{CANARY}.txt"]


async def test_what_waits_for_a_person_says_so_and_is_not_done(tree):
    parked = await tree.ask("vfs/write", params={"path": "/tmp/a.txt", "content": "a"})
    assert (parked.status, parked.code) == ("failed", "command_failed")
    ticket = parked.result["ticket"]
    assert ticket in parked.message
    assert not (tree.house.home.path / "workspace/tmp").exists()
    typed = await tree.ask("sh/tee", params={"args": ["/tmp/b.txt"], "input": "b"})
    assert (typed.result["exitCode"], typed.result["ticket"] in typed.result["stderr"]) == (75, True)
    await tree.owner("approval/approve", id=ticket)
    resumed = await tree.ask("file/write", ticket=ticket)
    assert resumed.status == "done"
    assert (tree.house.home.path / "workspace/tmp/a.txt").read_text() == "a"


async def test_another_tenant_finds_nothing_of_ours_in_the_tree(tree):
    await tree.owner("user/create", id="boss", access="root", tenant="rival")
    token = await tree.token("rival", user="boss", tenant="rival", kind="human", access="root")
    call = (await tree.ledger())[-1]["call"]
    told = ""
    for path in ("/workspace", "/data", "/data/rooms", "/data/executions", "/proc", "/system", "/home", "/tmp"):
        outcome = await tree.ask("vfs/list", token=token, room="", params={"path": path})
        told += outcome.text + outcome.message
    for path in ("/data/notes/n1", f"/proc/{call}/status", "/system/people", "/system/rooms", "/system/status"):
        outcome = await tree.ask("vfs/read", token=token, room="", params={"path": path})
        told += outcome.text + outcome.message
    found = await tree.ask("vfs/find", token=token, room="", params={"path": "/", "name": "*okapi*"})
    assert found.result["items"] == []
    assert CANARY not in told
    assert "/home/boss" in told
    assert "owner" not in told.replace("There is no", "")
