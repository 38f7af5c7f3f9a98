"""Observe mode: a recipe that only records what it would have refused or asked (R17.5)."""

from __future__ import annotations

import json

STRATEGY = {
    "mode": "observe",
    "aiCommands": {
        "enabled": True,
        "whitelist": ["file/read", "file/write", "bash"],
        "blacklist": ["file/delete"],
        "maxCommandsPerMinute": 8,
        "requireApproval": {"file/write": True},
        "parameterRules": {"file/read": {"path": {"glob": "docs/**"}}},
    },
}


def recipe(strategy):
    return json.dumps({"recipeId": "watching", "displayName": "Watching", "strategy": strategy})


async def open_room(driver, strategy=STRATEGY):
    await driver.owner("recipe/put", id="watching", text=recipe(strategy))
    await driver.owner("room/create", name="lab", recipe="watching")


async def test_refusals_and_approvals_of_the_recipe_become_records(opened):
    async with opened() as driver:
        await open_room(driver)

        async def ask(command, **params):
            outcome = await driver.ask(command, room="lab", params=params)
            return outcome.status, (await driver.ledger())[-1]["rule"]

        written = await ask("file/write", path="a.txt", content="hi")
        read = await ask("file/read", path="a.txt")
        deleted = await ask("file/delete", path="a.txt")
        status = (await driver.owner("system/status")).result
        header = (await driver.owner("room/show", name="lab")).result
        enforced = {**STRATEGY, "mode": "enforce"}
        await driver.owner("recipe/put", id="watching", text=recipe(enforced))
        after = await driver.ask("file/delete", room="lab", params={"path": "a.txt"})
    name = "recipe watching"
    assert written == ("done", f'observe: would have asked by {name}: requireApproval "file/write"')
    assert read == ("done", f'observe: would have been refused by {name}: parameter rule "file/read" on path')
    assert deleted == ("done", f'observe: would have been refused by {name}: blacklist "file/delete"')
    (said,) = [one for one in status["problems"] if "OBSERVES ONLY" in one]
    assert said.startswith("The room lab OBSERVES ONLY: its recipe watching")
    assert (status["state"], header["observes"]) == ("degraded", True)
    assert after.code == "not_permitted"


async def test_everything_but_the_recipe_stays_in_force(opened):
    async with opened() as driver:
        await open_room(driver)
        token = await driver.token("reader", kind="ai", access="read", rooms=["lab"])
        guarded = {"path": ".git/hooks/pre-commit", "content": "x"}
        plain = {"path": "a.txt", "content": "x"}
        outcomes = {
            "a stranger": await driver.ask("file/read", token="nonsense", room="lab", params={"path": "a"}),
            "only people": await driver.ask("approval/show", room="lab", params={"id": "x"}),
            "only people put": await driver.ask("recipe/put", room="lab", params={"id": "x", "text": "{}"}),
            "widens access": await driver.ask("room/create", room="lab", params={"name": "x", "recipe": "watching"}),
            "access": await driver.ask("file/write", token=token, room="lab", params=plain),
            "git hooks": await driver.ask("file/write", room="lab", params=guarded),
            "outside": await driver.ask("file/read", room="lab", params={"path": "../../etc/passwd"}),
        }
        for number in range(9):
            last = await driver.ask("file/write", room="lab", params={"path": f"{number}", "content": "x"})
    assert {why: one.code for why, one in outcomes.items()} == {
        "a stranger": "not_authenticated",
        "only people": "not_permitted",
        "only people put": "not_permitted",
        "widens access": "not_permitted",
        "access": "not_permitted",
        "git hooks": "approval_needed",
        "outside": "bad_params",
    }
    assert last.code == "too_fast"
