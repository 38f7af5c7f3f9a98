"""Every page for other eyes, hands and screens: axe in light and dark, the width of a phone, and keys alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browsing import Console
from playwright.sync_api import Page, Route, expect

import node_peers

PAGES = (
    "rooms",
    "rooms/general",
    "approvals",
    "executions",
    "executions/{execution}",
    "commands",
    "commands/file%2Fwrite",
    "ledger",
    "ledger/3",
    "recipes",
    "recipes/code-collaboration",
    "servers",
    "personas",
    "effort",
    "settings",
)
OTHER_PAGES = ("ledger", "settings", "recipes", "personas", "effort", "commands", "servers", "executions", "approvals")
_SERIOUS = """async (only) => {
  const found = await axe.run(document, { resultTypes: ["violations"], ...(only ? { runOnly: only } : {}) });
  return found.violations
    .filter((one) => ["serious", "critical"].includes(one.impact))
    .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}"""
_BACKGROUND = "getComputedStyle(document.documentElement).backgroundColor"
_TOO_WIDE = """() => {
  const wide = document.documentElement.clientWidth;
  const scrolls = (one) => one && (getComputedStyle(one).overflowX !== "visible" || scrolls(one.parentElement));
  return [...document.querySelectorAll("main *")]
    .filter((one) => one.getBoundingClientRect().right > wide + 1 && !scrolls(one.parentElement))
    .map((one) => one.outerHTML.slice(0, 120));
}"""
"""What reaches beyond the screen, unless it stands in something that can be scrolled by itself."""


@pytest.fixture(scope="module")
def inhabited(serving: Console) -> dict[str, str]:
    """A house in which something happened: words, a file that was written, and one that waits for a person."""
    owner = serving.owner
    owner.result("room/say", name="general", text="Hello **all**, see `notes.txt` and https://example.org/path")
    ticket = owner.ask("file/write", by="helper", room="general", path="notes.txt", content="one\n")["ticket"]
    owner.result("approval/approve", id=ticket)
    done = owner.ask("", ticket=ticket, by="helper", room="general")
    owner.ask("system/status", by="helper", room="general")
    return {"execution": str(done["call"])}


@pytest.fixture(scope="module")
def axe() -> str:
    return (node_peers.package("axe-core") / "axe.min.js").read_text()


@pytest.fixture(scope="module")
def looked(serving: Console, inhabited: dict[str, str]) -> Iterator[Page]:
    """One page for all of them, which goes from one to the next as a person does."""
    yield serving.page(color_scheme="light")
    serving.done()


def settled(page: Page) -> None:
    """Until the page has what it shows."""
    page.get_by_role("heading", level=1).wait_for()
    expect(page.get_by_text("Loading…")).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_no_serious_fault_for_a_screen_reader_and_fits_a_phone(
    path: str, looked: Page, serving: Console, inhabited: dict[str, str], axe: str
) -> None:
    serving.owner.ask("file/edit", by="helper", room="general", path="notes.txt", oldString="one", newString=path)
    looked.set_viewport_size({"width": 1280, "height": 800})
    looked.emulate_media(color_scheme="light")
    looked.goto(f"{serving.url}/console/{path.format(**inhabited)}")
    settled(looked)
    looked.evaluate(axe)
    assert looked.evaluate(_SERIOUS) == []
    bright = looked.evaluate(_BACKGROUND)
    looked.emulate_media(color_scheme="dark")
    assert looked.evaluate(_BACKGROUND) != bright
    assert looked.evaluate(_SERIOUS, ["color-contrast", "link-in-text-block"]) == []
    looked.set_viewport_size({"width": 360, "height": 740})
    settled(looked)
    assert looked.evaluate(_TOO_WIDE) == []
    assert looked.evaluate("document.documentElement.scrollWidth") == 360


def test_axe_finds_what_is_wrong(looked: Page, axe: str) -> None:
    """Else the test above would prove nothing."""
    looked.evaluate(axe)
    looked.evaluate("document.body.append(Object.assign(document.createElement('button'), { id: 'nameless' }))")
    assert any("nameless" in one for one in looked.evaluate(_SERIOUS))


def test_whoever_has_no_session_has_no_serious_fault_either(console: Console, axe: str) -> None:
    page = console.stranger(viewport={"width": 360, "height": 740})
    page.goto(f"{console.url}/console/")
    page.get_by_role("heading", level=1).wait_for()
    page.evaluate(axe)
    assert page.evaluate(_SERIOUS) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def tab_to(page: Page, selector: str) -> None:
    """Go on with the tab key until something that fits has the focus."""
    for _ in range(400):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
    raise AssertionError(f"the tab key does not lead to {selector}")


def test_keys_alone_lead_from_the_link_to_a_message_and_an_approval(console: Console) -> None:
    page = console.stranger()
    page.goto(console.link)
    expect(page.get_by_role("navigation", name="Console")).to_be_visible()
    tab_to(page, "nav a[href='/console/rooms/general']")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log", name="Messages")).to_be_visible()
    page.keyboard.press("m")
    page.keyboard.type("said with keys alone")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log", name="Messages")).to_contain_text("said with keys alone")
    asked = console.owner.ask("file/write", by="helper", room="general", path="keys.txt", content="k\n")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("a")
    card = page.locator(f"#approval-{asked['ticket']}")
    expect(card).to_be_visible()
    tab_to(page, f"#approval-{asked['ticket']}")
    page.keyboard.press("g")
    page.keyboard.press("a")  # to this very page, and no word about what waits on it
    tab_to(page, f"#approval-{asked['ticket']} button")
    page.keyboard.press("a")
    expect(card).to_contain_text("owner approved")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_page_that_cannot_load_says_that_it_retries_and_recovers_by_itself(console: Console) -> None:
    console.expected = ("ERR_FAILED",)
    page = console.page("rooms")
    main = page.get_by_role("main")
    retries = main.get_by_role("alert").filter(has_text="This page retries automatically")
    reachable = True
    # The route stays until the end. Chromium loses requests that a page sends while a route is removed: they never end.
    page.route("**/api/**", lambda route: route.continue_() if reachable else route.abort())
    for name in OTHER_PAGES:
        reachable = False
        page.locator(f"nav a[href='/console/{name}']").click()
        expect(retries.first).to_contain_text("Doorward is not responding")
        reachable = True
        expect(retries).to_have_count(0)
        expect(main.locator(".loading")).to_have_count(0)


def test_a_page_that_may_not_load_says_why_and_stops_loading(console: Console) -> None:
    console.expected = ("403",)
    page = console.page("rooms")
    main = page.get_by_role("main")
    refusal = {"status": 403, "code": "not_permitted", "title": "Refused", "detail": "Your access is too low."}

    def refuse(route: Route) -> None:
        if "/api/console/" in route.request.url:
            route.continue_()
        else:
            route.fulfill(status=403, json=refusal)

    page.route("**/api/**", refuse)
    for name in OTHER_PAGES:
        page.locator(f"nav a[href='/console/{name}']").click()
        expect(main.get_by_role("alert").first).to_contain_text("Your access is too low.")
        expect(main.locator(".loading")).to_have_count(0)
