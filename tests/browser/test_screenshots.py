"""The pictures in the documents: `make screenshots` takes them anew of a house where something goes on.

Otherwise this looks after them: each is there, is used, and is small. That the pages render is proved elsewhere.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Console
from playwright.sync_api import Page, expect
from test_console_pages import PAGES, settled

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
TAKING = os.environ.get("DOORWARD_SCREENSHOTS") == "1"
LARGEST = 1_500_000
PHONE = {"width": 390, "height": 780}
SHOTS: dict[str, tuple[str, dict[str, Any]]] = {
    "room": ("rooms/general", {}),
    "room-dark": ("rooms/general", {"color_scheme": "dark"}),
    "room-phone": ("rooms/general", {"viewport": PHONE}),
    "rooms": ("rooms", {}),
    "approvals": ("approvals", {}),
    "executions": ("executions", {}),
    "commands": ("commands", {}),
    "command": ("commands/file%2Fwrite", {}),
    "ledger": ("ledger", {}),
    "recipe": ("recipes/code-collaboration", {}),
    "servers": ("servers", {}),
    "personas": ("personas", {}),
    "settings": ("settings", {}),
}
SERVERS = """{"servers": [
  {"id": "clock", "name": "Clock", "command": "mcp-server-time", "args": ["--local-timezone", "Europe/Berlin"], "tier": "information"}
]}"""


@pytest.mark.skipif(TAKING, reason="the pictures are being taken")
def test_every_picture_is_there_is_used_and_all_are_small() -> None:
    assert sorted(file.stem for file in IMAGES.glob("*")) == sorted(SHOTS)
    documents = "".join(file.read_text() for file in (ROOT / "README.md", *ROOT.glob("docs/*.md")))
    assert set(SHOTS) <= set(re.findall(r"images/([\w-]+)\.png", documents))
    assert sum(file.stat().st_size for file in IMAGES.iterdir()) < LARGEST
    assert {path for path, _ in SHOTS.values()} <= set(PAGES)


@pytest.fixture(scope="module")
def lively(serving: Console) -> Iterator[Console]:
    """A house with a conversation, a question to people, a program that runs, and a server of others."""
    owner = serving.owner
    (serving.doorward.home / "mcp-servers.json").write_text(SERVERS)
    for name, recipe in (("ops", "admin"), ("research", "research-chat")):
        owner.result("room/create", name=name, recipe=recipe)
    page = serving.page("rooms/general")
    for question in ("How many rooms do we have?", "Is everything running okay?"):
        page.get_by_label("Message", exact=True).fill(question)
        page.get_by_label("Message", exact=True).press("Enter")
        expect(page.locator(".thinking")).to_have_count(0)
        expect(page.get_by_role("article", name="guide").last).to_contain_text(re.compile("We have|everything"))
    for number in range(12):
        owner.ask("data/count", by="assistant", room="research", collection=("rooms", "users")[number % 2], filter={"name": str(number)})
        owner.ask("file/write", by="assistant", room="research", path="x", content=str(number))
    script = "for n in $(seq 1 200); do echo step $n of 200; sleep 1; done"
    running = threading.Thread(target=owner.ask, args=("bash",), kwargs={"by": "helper", "room": "ops", "command": script})
    running.start()
    owner.ask("file/write", by="helper", room="ops", path="plan.md", content="# Plan\n\n- paint the door\n- call the plumber\n")
    yield serving
    for one in owner.result("execution/list", live=True)["items"]:
        owner.ask("execution/cancel", execution=one["execution"])
    running.join(60)


@pytest.mark.skipif(not TAKING, reason="pictures are taken by `make screenshots`")
@pytest.mark.parametrize("name", SHOTS)
def test_take_a_picture(name: str, lively: Console) -> None:
    path, more = SHOTS[name]
    page = lively.page(path, **more)
    settled(page)
    if path in ("rooms/general", "approvals"):
        ask_for_a_change(page, lively, name)
    if name == "executions":
        page.get_by_role("button", name="Show its output").first.click()
        expect(page.get_by_role("main")).to_contain_text("step 1 of")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=IMAGES / f"{name}.png", animations="disabled")
    lively.done()
