"""A server that dies and comes back: open pages find it again, and nothing is lost and nothing comes twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import Console
from playwright.sync_api import Browser, Locator, Page, expect

from doorward_process import Doorward
from waiting import PATIENCE

UNREACHABLE = ("ERR_CONNECTION", "ERR_SOCKET_NOT_CONNECTED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE")


@pytest.fixture
def fragile(chromium: Browser, tmp_path: Path) -> Iterator[Console]:
    """A console whose server a test ends by force, and starts again."""
    doorward = Doorward(tmp_path / "home")
    with doorward.up() as server:
        console = Console(doorward, server, chromium)
        yield console
    console.expected = UNREACHABLE
    console.done()


def log(page: Page) -> Locator:
    return page.get_by_role("log", name="Messages")


def say(page: Page, text: str) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_label("Message", exact=True).press("Enter")


def test_open_pages_catch_up_and_what_was_written_meanwhile_arrives_once(fragile: Console) -> None:
    fragile.owner.result("room/create", name="hall", recipe="casual-chat")
    asked = fragile.owner.ask("file/write", by="helper", room="general", path="a.txt", content="a\n")
    page, approvals, other = fragile.page("rooms/hall"), fragile.page("approvals"), fragile.page("rooms/hall")
    log(other).wait_for()
    say(page, "before the end")
    expect(log(page).get_by_text("before the end")).to_have_count(1)
    fragile.server.process.kill()
    fragile.server.process.wait(PATIENCE)
    expect(page.get_by_role("status").filter(has_text="Reconnecting")).to_be_visible()
    other.locator("nav a[href='/console/ledger']").click()  # a page of which nothing was ever fetched
    expect(other.get_by_role("main").get_by_role("alert")).to_contain_text("Doorward is not responding")
    say(page, "while nobody was there")
    page.locator("nav a[href='/console/rooms']").click()  # what was not sent does not hang on the page of its room
    expect(log(page)).to_have_count(0)
    page.locator("nav a[href='/console/rooms/general']").click()
    expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("retries automatically")
    with fragile.doorward.up("--port", str(fragile.server.port)) as server:
        assert server.port == fragile.server.port
        fragile.owner.result("room/say", name="hall", text="before the page is back")
        expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
        expect(log(page)).to_contain_text("This is the beginning of general")
        expect(page.get_by_role("alert")).to_have_count(0)
        page.locator("nav a[href='/console/rooms/hall']").click()
        for text in ("before the end", "before the page is back", "while nobody was there"):
            expect(log(page).get_by_text(text)).to_have_count(1)
        expect(page.get_by_role("article", name="Sending")).to_have_count(0)
        said = [one["text"] for one in fragile.owner.result("room/messages", name="hall")["items"]]
        assert sorted(said) == ["before the end", "before the page is back", "while nobody was there"]
        expect(other.get_by_role("main").get_by_role("table")).to_contain_text("room/say")
        card = approvals.locator(f"#approval-{asked['ticket']}")
        card.get_by_role("button", name="Approve").click()
        expect(card).to_contain_text("owner approved")
