"""Many pages in one browser, which opens six connections to a server and no more."""

from __future__ import annotations

from collections.abc import Iterator

import browsing
import pytest
from browsing import Console
from playwright.sync_api import Page, expect, sync_playwright

from doorward_process import Doorward


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console before a browser that keeps the pages one has left, as people's browsers do."""
    expect.set_options(timeout=browsing.PATIENCE)
    doorward = Doorward(tmp_path_factory.mktemp("many") / "home")
    with (
        sync_playwright() as playwright,
        browsing.browser(playwright, keeping=True) as browser,
        doorward.serving() as server,
    ):
        yield Console(doorward, server, browser)


def state(page: Page, words: str) -> None:
    expect(page.get_by_role("banner").get_by_role("status")).to_have_text(words)


def test_pages_that_one_has_left_keep_no_connection(console: Console) -> None:
    page = console.page("rooms/general")
    for name in ("approvals", "executions", "commands", "ledger", "recipes", "servers", "personas"):
        state(page, "Live")
        page.goto(f"{console.url}/console/{name}")
    state(page, "Live")
    page.go_back(wait_until="commit")
    expect(page.get_by_role("heading", level=1)).to_have_text("Servers")
    state(page, "Live")


def test_seven_pages_all_work_and_those_without_a_stream_say_so(console: Console) -> None:
    first = console.page("rooms/general")
    state(first, "Live")
    pages = [first]
    for _ in range(6):
        pages.append(first.context.new_page())
        pages[-1].goto(f"{console.url}/console/rooms/general")
        state(pages[-1], "Live" if len(pages) <= 3 else "Polling every 5 s")
    console.owner.result("room/say", name="general", text="heard by all seven")
    for page in pages:
        expect(page.get_by_role("log", name="Messages").get_by_text("heard by all seven")).to_have_count(1)
    for page in pages[:3]:
        page.close()
    for page in pages[3:6]:
        state(page, "Live")
