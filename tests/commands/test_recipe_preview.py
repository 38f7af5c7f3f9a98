"""recipe/preview says what the gate itself would say, before a recipe is in force (R2.6, R13.3)."""

from __future__ import annotations

import json

import pytest

from doorward.core.model import Credential, Request

ID = "code-collaboration"


async def preview(driver, **params):
    outcome = await driver.owner("recipe/preview", **{"id": ID, **params})
    return outcome.result


def edited(driver, **commands) -> str:
    recipe = json.loads(driver.house.services.recipes.text(ID))
    recipe["strategy"]["aiCommands"] |= commands
    return json.dumps(recipe, indent=2)


async def test_it_says_of_every_command_what_the_gate_would_decide(driver):
    await driver.owner("room/join", name="general", member="helper", kind="ai")
    found = await preview(driver, inRoom="general")
    (rights,) = [one for one in found["items"] if "any agent" in one["who"]]
    decided = dict.fromkeys(rights["allowed"], "allowed") | dict.fromkeys(rights["approval"], "approval")
    for command in driver.house.services.registry:
        request = Request(command.name, Credential(owner=True, speak_as="helper"), "test", "general")
        told = await driver.house.gate.explain(request)
        expected = "approval" if told["approval"] else told["decision"]
        assert decided.get(command.name, "refused") == expected, command.name


async def test_what_it_promises_is_what_happens_once_it_is_in_force(driver):
    text = edited(driver, tiers=["information"], requireApproval={"room/list": True}, blacklist=["data/query"])
    found = await preview(driver, text=text)
    changes = {one["command"]: (one["was"], one["would"]) for one in found["items"][0]["changes"]}
    assert changes["room/list"] == ("allowed", "approval")
    assert changes["file/write"] == ("approval", "refused")
    assert changes["data/query"] == ("allowed", "refused")
    assert "data/list" not in changes
    await driver.owner("recipe/put", id=ID, text=text)
    assert (await driver.ask("room/list")).status == "parked"
    assert (await driver.ask("data/query", params={"sql": "SELECT 1"})).code == "not_permitted"
    assert (await preview(driver))["items"][0]["changes"] == []


async def test_agents_with_less_access_stand_apart(driver):
    await driver.owner("user/create", id="reader", kind="ai", access="read")
    await driver.owner("room/join", name="general", member="reader")
    found = await preview(driver)
    apart = {name: one["access"] for one in found["items"] for name in one["who"]}
    assert (apart["any agent"], apart["reader"]) == ("root", "read")
    (theirs,) = [one for one in found["items"] if "reader" in one["who"]]
    assert "access: file/write needs edit" in {one["rule"] for one in theirs["refused"]}


@pytest.mark.parametrize(
    ("right", "wrong", "field"),
    [
        ('"visual"', '"vusual"', "strategy.aiCommands.tiers[1]"),
        ("true", "maybe", ""),
        ('"enabled"', '"enabld"', "strategy.aiCommands.enabld"),
        (f'"{ID}"', '"another"', "recipeId"),
        ('"bash": true', '"bash": {"quorum": 0}', "strategy.aiCommands.requireApproval.bash.quorum"),
    ],
)
async def test_a_text_that_is_not_valid_is_answered_with_the_place(driver, right, wrong, field):
    text = edited(driver).replace(right, wrong, 1)
    found = await preview(driver, text=text)
    assert (found["valid"], found["items"]) == (False, [])
    assert found["fault"]["field"] == field
    assert found["fault"]["line"] == text[: text.index(wrong)].count("\n") + 1


async def test_a_recipe_of_a_new_id_allows_everything_anew(driver):
    text = json.dumps(
        {
            "recipeId": "new",
            "displayName": "New",
            "strategy": {"aiCommands": {"enabled": True, "whitelist": ["room/list"]}},
        }
    )
    found = await preview(driver, id="new", text=text)
    (change,) = found["items"][0]["changes"]
    assert (found["known"], change["command"], change["was"], change["would"]) == (False, "room/list", None, "allowed")
    missing = await driver.ask("recipe/preview", by="", room="", params={"id": "new"})
    assert (missing.code, missing.message.startswith("There is no recipe 'new'. Recipes: admin,")) == (
        "not_found",
        True,
    )


async def test_it_changes_nothing_and_is_for_people(driver):
    before = driver.house.services.recipes.text(ID)
    await preview(driver, text=edited(driver, tiers=[]))
    assert driver.house.services.recipes.text(ID) == before
    assert (await driver.ask("recipe/preview", params={"id": ID})).code == "not_permitted"


async def test_a_pattern_that_fits_no_command_is_said_by_the_preview_and_when_it_is_put_in_force(driver):
    rules = {
        "enabled": True,
        "whitelist": ["data/*", "data/lst"],
        "blacklist": ["shel/*", "data/lst"],
        "requireApproval": {"file/write": True, "fille/*": True},
        "parameterRules": {"*": {"path": {"maxLength": 9}}},
    }
    text = json.dumps({"recipeId": "typed", "displayName": "Typed", "strategy": {"aiCommands": rules}})
    shown = (await driver.owner("recipe/preview", id="typed", text=text)).result
    assert (shown["valid"], shown["idle"]) == (True, ["data/lst", "shel/*", "fille/*"])
    assert (await driver.owner("recipe/put", id="typed", text=text)).result["idle"] == shown["idle"]
