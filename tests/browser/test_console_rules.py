"""Rules and records: a recipe that is edited changes what is offered, and the ledger is searched."""

from __future__ import annotations

import pytest
from browsing import Console
from playwright.sync_api import expect

OPEN = """{
  "recipeId": "lab",
  "displayName": "Lab",
  "strategy": {"aiCommands": {"enabled": true, "tiers": ["information"]}}
}"""
SHUT = OPEN.replace('"tiers": ["information"]', '"tiers": ["information"], "blacklist": ["data/*"]')


@pytest.fixture(scope="module", autouse=True)
def _lab(serving: Console) -> None:
    serving.owner.result("recipe/put", id="lab", text=OPEN)
    serving.owner.result("room/create", name="lab", recipe="lab")
    serving.owner.result("room/join", name="lab", member="helper", kind="ai")


def counted(console: Console) -> dict[str, object]:
    return console.owner.ask("data/count", by="helper", room="lab", collection="rooms")


def test_a_recipe_shows_what_would_change_and_once_saved_it_has(console: Console) -> None:
    assert counted(console)["status"] == "done"
    page = console.page("recipes/lab")
    text = page.get_by_role("textbox", name="recipe")
    text.fill(SHUT)
    rights = page.get_by_role("tabpanel")
    expect(rights).to_contain_text("data/count")
    page.get_by_role("tab", name="Time machine").click()
    page.get_by_role("button", name="Look back").click()
    expect(rights).to_contain_text("data/count")
    page.get_by_role("button", name="Save…").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved, and in force.")).to_be_visible()
    refused = counted(console)
    assert (refused["status"], refused["rule"]) == ("refused", 'recipe lab: blacklist "data/*"')
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("It is as it was before.")).to_be_visible()
    assert counted(console)["status"] == "done"


def test_a_mistake_in_a_recipe_is_told_beside_its_line(console: Console) -> None:
    page = console.page("recipes/lab")
    page.get_by_role("textbox", name="recipe").fill(OPEN.replace("information", "informatoin"))
    expect(page.get_by_role("main")).to_contain_text("informatoin")
    expect(page.get_by_role("main")).to_contain_text("strategy.aiCommands.tiers")


def test_the_ledger_is_searched_and_a_record_tells_everything(console: Console) -> None:
    console.owner.ask("system/status", by="helper", room="lab")
    page = console.page("ledger")
    page.get_by_label("Command").fill("system/status")
    page.get_by_label("Status").select_option("refused")
    page.get_by_role("button", name="Search").click()
    rows = page.get_by_role("table", name="Records, newest first").get_by_role("row")
    expect(rows).to_have_count(2)
    expect(rows.last).to_contain_text("system/status")
    rows.last.get_by_role("link").first.click()
    main = page.get_by_role("main")
    for words in ("helper", "recipe lab: nothing allows it", "refused"):
        expect(main).to_contain_text(words)
