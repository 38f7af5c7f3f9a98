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
    page.get_by_role("tab", name="Replay").click()
    page.get_by_role("button", name="Replay").click()
    expect(rights).to_contain_text("data/count")
    page.get_by_role("button", name="Save…").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved. The recipe is in force.")).to_be_visible()
    refused = counted(console)
    assert (refused["status"], refused["rule"]) == ("refused", 'recipe lab: blacklist "data/*"')
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("The change was undone.")).to_be_visible()
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
    page.get_by_label("Outcome", exact=True).select_option("refused")
    page.get_by_role("button", name="Search").click()
    rows = page.get_by_role("table", name="Records, newest first").get_by_role("row")
    expect(rows).to_have_count(2)
    expect(rows.last).to_contain_text("system/status")
    rows.last.get_by_role("link").first.click()
    main = page.get_by_role("main")
    for words in ("helper", "recipe lab: nothing allows it", "refused"):
        expect(main).to_contain_text(words)


def test_unsaved_changes_are_said_to_be_that_and_nothing_that_is_broken_can_be_saved(console: Console) -> None:
    page = console.page("recipes/lab")
    text = page.get_by_role("textbox", name="recipe")
    text.fill("{")
    expect(page.locator("#recipe-fault")).to_have_text(
        "Line 1, column 2: not valid JSON: Expecting property name enclosed in double quotes"
    )
    expect(page.get_by_role("button", name="Save…")).to_be_disabled()
    page.get_by_role("link", name="All recipes").click()
    page.go_back()
    note = page.get_by_role("status").filter(has_text="You have unsaved changes.")
    expect(note).to_contain_text("The saved recipe stays in force.")
    note.get_by_role("button", name="Revert").click()
    expect(text).not_to_have_value("{")
    expect(note).to_have_count(0)


def test_a_member_is_told_what_they_may_not_do_and_tries_nothing_in_vain(console: Console) -> None:
    console.owner.result("user/create", id="mel", access="read")
    console.owner.result("user/password", user="mel", password="four words make one")
    console.owner.result("room/join", name="general", member="mel", role="member")
    console.expected = ("401",)
    page = console.stranger()
    page.goto(f"{console.url}/console/")
    page.get_by_role("heading", name="Log in").wait_for()
    page.evaluate("location.hash = '#login=a-link-that-is-none'")
    expect(page.get_by_role("alert")).to_contain_text("Login failed.")
    page.get_by_label("User", exact=True).fill("mel")
    page.get_by_label("Password", exact=True).fill("four words make one")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Room settings").click()
    expect(page.get_by_role("complementary", name="Room settings")).to_contain_text(
        "Only owners and admins of this room can change it."
    )
    page.goto(f"{console.url}/console/rooms")
    expect(page.get_by_text("Create a room: room/create needs full access")).to_be_visible()
    page.goto(f"{console.url}/console/servers")
    expect(page.get_by_text("Add a server: mcp/add needs root access")).to_be_visible()
    page.goto(f"{console.url}/console/settings")
    expect(page.get_by_text("Manage tokens: token/list needs full access")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.goto(f"{console.url}/console/rooms/general")
    composer = page.get_by_label("Message", exact=True)
    composer.wait_for()
    console.owner.result("room/leave", name="general", member="mel")
    expect(page.get_by_text("You cannot send messages here.")).to_be_visible()
    expect(composer).to_have_count(0)
    expect(page.get_by_role("button", name="Room settings")).to_have_count(0)
    expect(page.get_by_role("navigation", name="Console").get_by_role("link", name="general")).to_have_count(0)


def test_a_dialog_gives_the_focus_back_and_says_what_was_done(console: Console) -> None:
    page = console.page("settings")
    button = page.get_by_role("button", name="Invite a tenant…")
    for answer, said in (("Cancel", ""), ("Create passcode", "Done")):
        button.focus()
        page.keyboard.press("Enter")
        page.get_by_role("dialog").get_by_role("button", name=answer).click()
        expect(button).to_be_focused()
        expect(page.locator("#said")).to_have_text(said)
    page.goto(f"{console.url}/console/ledger")
    page.get_by_label("Command", exact=True).press("Escape")
    expect(page.get_by_role("main")).to_be_focused()
    page.get_by_role("region", name="Records, newest first").press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("row").nth(2)).to_be_focused()


def test_a_persona_is_checked_before_it_is_made_and_then_lives_in_its_room(console: Console) -> None:
    page = console.page("personas/new")
    main = page.get_by_role("main")
    main.get_by_label("Id").fill("scribe")
    main.get_by_label("Name", exact=True).fill("Scr\u202eibe")
    main.get_by_label("general").check()
    main.get_by_role("button", name="Check").click()
    expect(main.get_by_role("alert")).to_contain_text("without control characters")
    expect(main).not_to_contain_text("Valid. The persona would be")
    main.get_by_label("Name", exact=True).fill("Scribe")
    main.get_by_role("button", name="Check").click()
    expect(main).to_contain_text("Valid. The persona would be")
    main.get_by_role("button", name="Save").click()
    expect(page).to_have_url(f"{console.url}/console/personas/scribe")
    assert console.owner.result("room/show", name="general")["members"]["scribe"] == "member"


def test_a_persona_whose_model_cannot_answer_does_not_say_that_it_is_in_force(console: Console) -> None:
    lost = '{"personaId": "lost", "displayName": "Lost", "model": "nope:large", "rooms": ["general"]}'
    console.owner.result("persona/put", id="lost", text=lost)
    main = console.page("personas").get_by_role("main")
    expect(main.get_by_role("article").filter(has_text="@guide")).to_contain_text("in force")
    one = main.get_by_role("article").filter(has_text="@lost")
    expect(one).to_contain_text("its model cannot answer")
    expect(one).not_to_contain_text("in force")
