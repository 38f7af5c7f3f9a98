"""Where the focus is: whoever works with the keyboard goes on where they were."""

from __future__ import annotations

import pytest
from browsing import Console
from playwright.sync_api import Locator, Page, expect


@pytest.fixture(scope="module", autouse=True)
def _quiet_room(serving: Console) -> None:
    serving.owner.result("room/create", name="hall", recipe="casual-chat")
    for text in ("the first word", "the second word"):
        serving.owner.result("room/say", name="hall", text=text)


def said(page: Page) -> Locator:
    return page.get_by_role("log", name="Messages").locator("article")


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("main").get_by_role("button", name=name, exact=True)


def test_what_is_typed_after_edit_goes_into_the_message_and_the_focus_comes_back(console: Console) -> None:
    page = console.page("rooms/hall")
    expect(said(page).last).to_contain_text("the second word")
    message = said(page).last
    message.focus()
    message.get_by_role("button", name="Edit").press("Enter")
    expect(message.get_by_role("textbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(message.get_by_role("button", name="Edit")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type(", longer")
    page.keyboard.press("Enter")
    expect(message).to_contain_text("the second word, longer")
    expect(message).to_contain_text("edited")
    expect(message.get_by_role("button", name="Edit")).to_be_focused()
    page.keyboard.press("Enter")
    message.get_by_role("button", name="Cancel").click()
    expect(message.get_by_role("button", name="Edit")).to_be_focused()


def test_a_panel_takes_the_focus_and_gives_it_back(console: Console) -> None:
    page = console.page("rooms/hall")
    button(page, "Search").press("Enter")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(button(page, "Search")).to_be_focused()
    members = page.get_by_role("main").get_by_role("button", name="member")
    members.press("Enter")
    expect(page.get_by_role("complementary", name="Members")).to_be_focused()
    page.keyboard.press("Escape")
    expect(members).to_be_focused()


def test_after_saving_what_a_room_is_called_the_focus_is_still_there(console: Console) -> None:
    page = console.page("rooms/hall")
    button(page, "Room settings").press("Enter")
    page.get_by_label("Topic").fill("What we are about")
    button(page, "Save").press("Enter")
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    expect(button(page, "Save")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary", name="Room settings")).to_have_count(0)
    expect(button(page, "Room settings")).to_be_focused()


def test_slash_opens_the_search_of_a_room_and_the_keys_name_it_only_where_one_can_search(console: Console) -> None:
    page = console.page("rooms/hall")
    button(page, "Search").wait_for()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Search this page")
    page.keyboard.press("Escape")
    page.goto(f"{console.url}/console/settings")
    page.get_by_role("heading", name="Settings").wait_for()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Show keyboard shortcuts")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).not_to_contain_text("Search this page")
