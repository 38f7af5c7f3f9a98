"""The page of agents with effort: its gauge, its curve, conversations and the sub-agent, live and with keys alone."""

from __future__ import annotations

import json
import re

import pytest
from browsing import Console
from playwright.sync_api import Locator, Page, expect
from test_console_pages import _SERIOUS, _TOO_WIDE, settled

import node_peers

SCOUT = {
    "personaId": "scout",
    "displayName": "Scout",
    "rooms": ["general"],
    "model": "house",
    "energy": {"start": 40, "recoveryPerSecond": 0},
    "effort": {},
}


@pytest.fixture
def scouted(console: Console) -> Console:
    console.owner.result("persona/put", id="scout", text=json.dumps(SCOUT))
    return console


def agent(page: Page) -> Locator:
    return page.get_by_role("article", name="scout")


def talk(console: Console) -> str:
    """A conversation with scout, which it has answered."""
    return str(console.owner.result("conversation/start", agent="scout", text="How many rooms do we have?")["room"])


def row_of(page: Page, room: str) -> Locator:
    return agent(page).get_by_role("row").filter(has=page.get_by_role("link", name=room))


def test_without_agents_the_page_says_how_to_get_one_and_hears_of_the_first(console: Console) -> None:
    page = console.page("effort")
    expect(page.get_by_role("main")).to_contain_text("No agent has effort")
    expect(page.get_by_label("A persona with effort")).to_contain_text('"effort": {}')
    expect(page.get_by_role("button", name="Start conversation…")).to_have_count(0)
    console.owner.result("persona/put", id="scout", text=json.dumps(SCOUT))
    expect(agent(page)).to_be_visible()


def test_the_gauge_and_the_curve_say_the_level_to_everybody(scouted: Console) -> None:
    page = scouted.page("effort")
    gauge = page.get_by_role("meter", name="Energy of scout")
    level = int(gauge.get_attribute("aria-valuenow") or "")
    assert 20 < level <= 40
    for name, value in {"aria-valuemin": "-50", "aria-valuemax": "100", "aria-valuetext": f"{level}, medium"}.items():
        expect(gauge).to_have_attribute(name, value)
    curve = agent(page).get_by_role("img")
    expect(curve).to_have_attribute("aria-label", re.compile(r"^Energy from .+ to .+: between [\d.]+ and 40, at last"))
    agent(page).get_by_label("Energy of scout over").select_option("7 days")
    expect(agent(page).locator(".axis span").first).to_contain_text(",")
    expect(agent(page).get_by_role("region", name="Models of scout, cheapest first")).to_contain_text("used now")


def test_a_conversation_is_started_with_keys_and_followed_live(scouted: Console) -> None:
    page = scouted.page("effort")
    settled(page)
    page.get_by_role("button", name="Start conversation…").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("How many rooms do we have?")
    page.get_by_role("dialog").get_by_label("Energy budget").fill("30")
    page.get_by_role("dialog").get_by_label("Energy budget").press("Enter")
    expect(page).to_have_url(re.compile("/console/rooms/talk-"))
    room = page.url.rpartition("/")[2]
    expect(page.get_by_role("article", name="scout").last).to_contain_text("rooms")
    page.keyboard.press("Escape")
    page.locator("nav a[href='/console/effort']").click()
    row = row_of(page, room)
    expect(row).to_contain_text("answered")
    expect(row).to_contain_text("of 30 energy")
    other = talk(scouted)
    expect(row_of(page, other)).to_contain_text("answered")  # without a reload


def test_a_person_gives_more_and_ends_a_conversation(scouted: Console) -> None:
    room = talk(scouted)
    page = scouted.page("effort")
    row = row_of(page, room)
    expect(row).to_contain_text("no limit")
    row.get_by_role("button", name="Give more").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Give", exact=True).fill("25")
    dialog.get_by_role("button", name="Give more").click()
    expect(dialog).to_have_count(0)
    expect(row).to_contain_text(re.compile(r"of 25(\.\d+)? energy"))
    row.get_by_role("button", name="Give more").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove the limit").click()
    expect(row).to_contain_text("no limit")
    row.get_by_role("button", name="End").click()
    page.get_by_role("dialog").get_by_role("button", name="End conversation").click()
    expect(row).to_contain_text("ended")


def test_the_sub_agent_is_paused_its_queue_seen_and_a_request_cancelled(scouted: Console) -> None:
    room = talk(scouted)
    page = scouted.page("effort")
    part = agent(page).get_by_role("region", name="Sub-agent")
    part.get_by_role("button", name="Pause the sub-agent of scout").click()
    expect(part).to_contain_text("paused by owner")
    words = "<img src=x onerror=alert(1)> weather"
    asked = {"agent": "scout", "kind": "search_servers", "params": {"purpose": words}, "priority": "high"}
    scouted.owner.result("effort/request", room=room, **asked)
    queued = part.get_by_role("listitem").filter(has_text=words)  # heard of, as text
    expect(queued).to_contain_text("queued")
    expect(queued.get_by_role("progressbar")).to_have_attribute("value", "0")
    queued.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel request").click()
    expect(queued).to_contain_text("cancelled")
    part.get_by_role("button", name="Resume the sub-agent of scout").click()
    expect(part).to_contain_text("idle")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_has_no_serious_fault_and_fits_a_phone(scheme: str, scouted: Console) -> None:
    talk(scouted)
    page = scouted.page("effort", color_scheme=scheme)
    settled(page)
    expect(agent(page).get_by_role("img")).to_be_visible()
    page.evaluate((node_peers.package("axe-core") / "axe.min.js").read_text())
    assert page.evaluate(_SERIOUS) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate(_TOO_WIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_persona_is_given_effort_in_its_form(console: Console) -> None:
    page = console.page("personas/guide")
    page.get_by_label("Regulate its effort").check()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("Saved")
    assert console.owner.result("persona/show", id="guide")["file"]["effort"] == {}
    page.get_by_label("Regulate its effort").uncheck()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("Saved")
    page.reload()
    expect(page.get_by_label("Regulate its effort")).not_to_be_checked()
    assert "effort" not in console.owner.result("persona/show", id="guide")["file"]
