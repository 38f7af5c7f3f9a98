"""Every page for other eyes, hands and screens: axe in light and dark, the width of a phone, and keys alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browsing import Console
from playwright.sync_api import Page, expect

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
    "settings",
)
_SERIOUS = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations
    .filter((one) => ["serious", "critical"].includes(one.impact))
    .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}"""
_TOO_WIDE = """() => {
  const wide = document.documentElement.clientWidth;
  return [...document.querySelectorAll("body *")]
    .filter((one) => one.getBoundingClientRect().right > wide + 1 && !one.closest("[role=region], pre, .unseen, nav"))
    .map((one) => one.outerHTML.slice(0, 120));
}"""


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


@pytest.fixture(scope="module", params=["light", "dark"])
def looked(request: pytest.FixtureRequest, serving: Console, inhabited: dict[str, str]) -> Iterator[tuple[Page, Any]]:
    page = serving.page(color_scheme=request.param)
    axe = (node_peers.package("axe-core") / "axe.min.js").read_text()
    yield page, axe


def settled(page: Page) -> None:
    """Until the page has what it shows."""
    page.get_by_role("heading", level=1).wait_for()
    expect(page.get_by_text("Loading…")).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_no_serious_fault_for_a_screen_reader_and_fits_a_phone(
    path: str, looked: tuple[Page, str], serving: Console, inhabited: dict[str, str]
) -> None:
    page, axe = looked
    serving.owner.ask("file/edit", by="helper", room="general", path="notes.txt", oldString="one", newString=path)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{serving.url}/console/{path.format(**inhabited)}")
    settled(page)
    page.evaluate(axe)
    assert page.evaluate(_SERIOUS) == []
    page.set_viewport_size({"width": 360, "height": 740})
    settled(page)
    assert page.evaluate(_TOO_WIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 360
