"""Every example of every built-in command runs, in a small house where the things it names exist, and gives what the
command says that it gives."""

from __future__ import annotations

import pytest

from conforming import conforms
from doorward.commands.families import FAMILIES
from doorward.core.registry import Registry
from example_servers import Servers

ELSEWHERE = (
    *("system/shutdown", "mcp/login", "mcp/install", "draft/", "model/use", "model/add", "effort/", "conversation/"),
)
"""These end the house, wait for a person at a browser, download packages, or need the draft of an agent, an agent at
work or a model that is installed; they have tests of their own."""
COMMANDS = [command for command in Registry(FAMILIES) if not command.name.startswith(ELSEWHERE)]
WORDS = "sh/"
"""The words of the session shell, whose examples all run in one house, in their own tests."""
EXAMPLES = [
    (command.name, example)
    for command in COMMANDS
    if not command.name.startswith(WORDS)
    for example in command.facts.examples
]
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
    monkeypatch.setattr("doorward.app.connect_by_transport", lambda *_: servers.connect)
    return servers


@pytest.fixture
async def furnished(servers, driver):
    """A house that holds what the examples speak of."""
    workspace = driver.house.home.path / "workspace"
    for path, text in FILES.items():
        (workspace / path).parent.mkdir(exist_ok=True)
        (workspace / path).write_text(text)
    await driver.owner("room/create", name="den", recipe="admin")
    return driver


async def prepare(driver, servers, *names):
    """Make what the examples of these commands need beside that, each thing once."""

    def any_of(*wanted):
        return any(name in wanted for name in names)

    def any_in(area, *but):
        return any(name.startswith(f"{area}/") and name not in but for name in names)

    if any_in("mcp", "mcp/add", "mcp/import"):
        await servers.known(driver.house)
    if any_of("mcp/approve"):
        await servers.changed(driver.house)
    if any_in("room", "room/create"):
        await driver.owner("room/create", name="lab", recipe="support")
    if any_of("room/join", "room/leave", "room/direct", "user/change"):
        await driver.owner("user/create", id="anna", access="edit")
    if any_of("room/leave"):
        await driver.owner("room/join", name="lab", member="anna")
    if any_of("persona/remove"):
        await driver.owner("persona/put", id="scribe", text='{"personaId": "scribe", "displayName": "Scribe"}')
    if any_of("recipe/infer"):
        assert (await driver.ask("room/list")).status == "done"
    if any_of("recipe/remove"):
        await driver.owner("recipe/put", id="quiet", text=QUIET)
    if any_in("data") or any_in("vfs") or any_of("collection/drop"):
        await driver.owner("collection/define", name="notes", schema=NOTES)
    if any_of("data/update", "data/delete"):
        await driver.owner("data/create", collection="notes", id="n1", data={"title": "Milk"})


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[f"{name}: {example.says}" for name, example in EXAMPLES])
async def test_the_example_works(furnished, servers, name, example):
    await prepare(furnished, servers, name)
    outcome = await furnished.ask(name, by="", room="den", params=dict(example.params))
    if SOME_EXECUTION in example.params.values():
        assert outcome.code in ("not_found", "conflict"), outcome
    else:
        assert outcome.status == "done", outcome
        conforms(furnished, name, outcome)


def _together(name):
    """The commands whose examples can be tried in one house; a server whose tools changed is none for the others."""
    return name if name == "mcp/approve" else name.partition("/")[0]


@pytest.mark.parametrize("area", sorted({_together(command.name) for command in COMMANDS}))
async def test_dry_runs_of_the_examples_change_nothing(furnished, servers, area):
    commands = [command for command in COMMANDS if _together(command.name) == area]
    await prepare(furnished, servers, *(command.name for command in commands))
    store = furnished.house.services.store
    tables = ("rooms", "members", "users", "tokens", "records", "collections", "before_images", "approvals", "recipes")
    before = [await store.read(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]
    files = sorted((furnished.house.home.path / "workspace").rglob("*"))
    for command in commands:
        for example in command.facts.examples:
            outcome = await furnished.ask(command.name, by="", room="den", params=dict(example.params), dry_run=True)
            assert (outcome.status, outcome.code, outcome.dry_run) == ("done", "dry_run", True)
            assert outcome.result["decision"] == "allowed"
    assert [await store.read(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables] == before
    assert sorted((furnished.house.home.path / "workspace").rglob("*")) == files
