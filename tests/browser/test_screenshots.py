"""The pictures in the documents: `make screenshots` takes them anew of a house where something goes on.

Otherwise this looks after them: each is there, is used, and is small. That the pages render is proved elsewhere.
"""

from __future__ import annotations

import json
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
    "room-approval": ("rooms/general", {}),
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
    "effort": ("effort", {"viewport": {"width": 1280, "height": 1090}}),
}
_AT_HOME = """(home) => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) walk.currentNode.data = walk.currentNode.data.replaceAll(home, "~/.doorward");
}"""
"""Where the house of a test lies is of no interest to anybody."""
SERVERS = """{"servers": [
  {"id": "clock", "name": "Clock", "command": "mcp-server-time", "args": ["--local-timezone", "UTC"],
   "tier": "information"}
]}"""


@pytest.fixture(scope="module")
def lively(serving: Console) -> Iterator[Console]:
    """A house with a conversation, a question to people, a program that runs, and a server of others."""
    owner = serving.owner
    (serving.doorward.home / "mcp-servers.json").write_text(SERVERS)
    for name, recipe in (("ops", "admin"), ("research", "research-chat")):
        owner.result("room/create", name=name, recipe=recipe)
        owner.result("room/join", name=name, member="guide")
    page = serving.page("rooms/general")
    page.get_by_role("button", name="How many rooms do we have?").click()
    expect(page.get_by_role("article", name="guide").last).to_contain_text("We have 3 rooms")
    for number in range(12):
        owner.ask("data/count", by="assistant", room="research", collection="rooms", filter={"name": f"room {number}"})
        owner.ask("file/write", by="assistant", room="research", path="notes.txt", content=str(number))
    plan = "# Plan\n\n- paint the door\n- call the plumber\n- ask Anna for the key\n"
    owner.ask("file/write", by="helper", room="ops", path="plan.md", content=plan)
    script = "for n in $(seq 1 20); do echo step $n of 20; sleep 1; done"
    asked = {"by": "helper", "room": "ops", "command": script}
    running = threading.Thread(target=owner.ask, args=("bash",), kwargs=asked)
    running.start()
    yield serving
    for one in owner.result("execution/list", live=True)["items"]:
        owner.ask("execution/cancel", execution=one["execution"])
    running.join(60)


def waiting_in_the_room(page: Page, console: Console) -> None:
    """The AI of the room wants to change a file, and waits for a person."""
    console.owner.result("room/say", name="general", text='Please write "Call the plumber on Monday." to notes.txt')
    expect(page.get_by_role("button", name="Approve file/write")).to_be_visible()


def read(page: Page, console: Console) -> None:
    expect(page.get_by_role("log", name="Messages")).to_contain_text("guide")
    expect(page.get_by_role("link", name="general")).not_to_contain_text("unread")


def edited(page: Page, console: Console) -> None:
    """A recipe with a change in it that is not saved: it says at once what that would mean."""
    text = page.get_by_role("textbox", name="recipe")
    stricter = '"enabled": true,\n      "blacklist": ["bash", "shell/git_commit"],'
    text.fill(text.input_value().replace('"enabled": true,', stricter))
    expect(page.get_by_role("tabpanel")).to_contain_text("shell/git_commit")
    expect(page.get_by_role("tabpanel")).not_to_contain_text("No changes.")
    text.evaluate("(area) => { area.blur(); area.scrollTop = 0; }")


def waiting_elsewhere(page: Page, console: Console) -> None:
    asked = console.owner.ask(
        "file/edit", by="helper", room="general", path="plan.md", oldString="the plumber", newString="the painter"
    )
    expect(page.locator(f"#approval-{asked['ticket']}")).to_be_visible()


def running_visibly(page: Page, console: Console) -> None:
    page.get_by_role("button", name="Show output").first.click()
    expect(page.get_by_role("main")).to_contain_text("step 1 of")


def regulating(page: Page, console: Console) -> None:
    """An agent at work: two conversations, one with a budget, and a request that waits."""
    scout = {"personaId": "scout", "displayName": "Scout", "model": "house", "energy": {"start": 72}, "effort": {}}
    console.owner.result("persona/put", id="scout", text=json.dumps(scout))
    agent = page.get_by_role("article", name="scout")
    expect(agent).to_be_visible()
    question = {"agent": "scout", "text": "How many rooms do we have?"}
    room = console.owner.result("conversation/start", budget=40, **question)["room"]
    expect(agent.get_by_role("row").filter(has_text=room)).to_contain_text("answered")
    console.owner.result("conversation/start", **question)
    console.owner.result("effort/pause", agent="scout")
    asked = {"agent": "scout", "kind": "search_servers", "params": {"purpose": "weather forecasts"}}
    console.owner.result("effort/request", room=room, **asked)
    expect(agent).to_contain_text("Search servers weather forecasts")
    expect(agent).to_contain_text("paused by owner")


BEFORE = {
    "effort": regulating,
    "room": read,
    "room-dark": read,
    "room-approval": waiting_in_the_room,
    "recipe": edited,
    "approvals": waiting_elsewhere,
    "executions": running_visibly,
}


def take(name: str, console: Console) -> None:
    path, more = SHOTS[name]
    page = console.page(path, **more)
    settled(page)
    BEFORE.get(name, lambda *_: None)(page, console)
    page.mouse.move(0, 0)
    page.evaluate(_AT_HOME, str(console.doorward.home))
    page.screenshot(path=IMAGES / f"{name}.png", animations="disabled")
    if name == "room-approval":
        page.get_by_role("button", name="Approve file/write").click()
        expect(page.get_by_role("article", name="guide").last).to_contain_text("I wrote notes.txt")
    console.done()


if TAKING:

    @pytest.mark.parametrize("name", SHOTS)
    def test_a_picture_is_taken(name: str, lively: Console) -> None:
        take(name, lively)

else:

    def test_every_picture_is_there_is_used_and_all_are_small() -> None:
        assert sorted(file.stem for file in IMAGES.glob("*")) == sorted(SHOTS)
        documents = "".join(file.read_text() for file in (ROOT / "README.md", *ROOT.glob("docs/*.md")))
        assert set(SHOTS) <= set(re.findall(r"images/([\w-]+)\.png", documents))
        assert sum(file.stat().st_size for file in IMAGES.iterdir()) < LARGEST
        assert {path for path, _ in SHOTS.values()} <= set(PAGES)
