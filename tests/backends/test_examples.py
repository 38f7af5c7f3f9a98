"""Every example of every built-in command runs, in a small house where the things it names exist, and gives what the
command says that it gives."""

from __future__ import annotations

import pytest

from conforming import conforms
from doorward.commands import FAMILIES
from doorward.registry import Registry
from example_servers import Servers

ELSEWHERE = ("system/shutdown", "mcp/login")
"""These end the house, or wait for a person at a browser; they have tests of their own."""
COMMANDS = [command for command in Registry(FAMILIES) if command.name not in ELSEWHERE]
EXAMPLES = [(command.name, example) for command in COMMANDS for example in command.facts.examples]
SOME_EXECUTION = "01k9x2m4q7ab3cde"
"""Stands in examples for the id of something that a caller did before; here nobody did."""

FILES = {
    "drafts/old.md": "old\n",
    "server.conf": "port = 80\n",
    "server.log": "".join(f"line {n}\n" for n in range(300)),
    "src/main.py": "def main():\n    pass  # TODO\n",
    "notes/today.md": "Nothing yet.\n",
    "logo.png": "\x00\x01",
}
NOTES = {"type": "object", "properties": {"title": {"type": "string"}, "done": {"type": "boolean"}}}
QUIET = '{"recipeId": "quiet", "displayName": "Quiet", "strategy": {}}'


@pytest.fixture
def servers(monkeypatch):
    """Upstream servers that are in memory."""
    servers = Servers()
    monkeypatch.setattr("doorward.app.either", lambda *_: servers.connect)
    return servers


@pytest.fixture
async def furnished(servers, driver):
    """A house that holds what the examples speak of."""
    for path, text in FILES.items():
        await driver.owner("file/write", path=path, content=text)
    await driver.owner("room/create", name="den", recipe="admin")
    return driver


async def prepare(driver, name, servers):
    """Make what the examples of one command need beside that."""
    if name.startswith("mcp/") and name not in ("mcp/add", "mcp/import"):
        await servers.known(driver.house)
    if name == "mcp/approve":
        await servers.changed(driver.house)
    if name.startswith("room/") and name != "room/create":
        await driver.owner("room/create", name="lab", recipe="support")
    if name in ("room/join", "room/leave", "room/direct", "user/change"):
        await driver.owner("user/create", id="anna", access="edit")
    if name == "room/leave":
        await driver.owner("room/join", name="lab", member="anna")
    if name == "persona/remove":
        await driver.owner("persona/put", id="scribe", text='{"personaId": "scribe", "displayName": "Scribe"}')
    if name == "recipe/remove":
        await driver.owner("recipe/put", id="quiet", text=QUIET)
    if name.startswith("data/") or name == "collection/drop":
        await driver.owner("collection/define", name="notes", schema=NOTES)
    if name in ("data/update", "data/delete"):
        await driver.owner("data/create", collection="notes", id="n1", data={"title": "Milk"})


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[f"{name}: {example.says}" for name, example in EXAMPLES])
async def test_the_example_works(furnished, servers, name, example):
    await prepare(furnished, name, servers)
    outcome = await furnished.ask(name, by="", room="den", params=dict(example.params))
    if SOME_EXECUTION in example.params.values():
        assert outcome.code in ("not_found", "conflict"), outcome
    else:
        assert outcome.status == "done", outcome
        conforms(furnished, name, outcome)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
async def test_a_dry_run_of_the_example_changes_nothing(furnished, servers, command):
    await prepare(furnished, command.name, servers)
    store = furnished.house.services.store
    tables = ("rooms", "members", "users", "tokens", "records", "collections", "before_images", "approvals", "recipes")
    before = [await store.read(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]
    files = sorted((furnished.house.home.path / "workspace").rglob("*"))
    for example in command.facts.examples:
        outcome = await furnished.ask(command.name, by="", room="den", params=dict(example.params), dry_run=True)
        assert (outcome.status, outcome.code, outcome.dry_run) == ("done", "dry_run", True)
        assert outcome.result["decision"] == "allowed"
    assert [await store.read(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables] == before
    assert sorted((furnished.house.home.path / "workspace").rglob("*")) == files
