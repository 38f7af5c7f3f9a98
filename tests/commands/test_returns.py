"""What commands give is what they say that they give, where no example can show it: undone, approved, stopped, cut."""

from __future__ import annotations

import asyncio
import json

import pytest

from conforming import conforms
from doorward.commands.families import FAMILIES
from doorward.config.settings import LimitSettings, Settings
from doorward.core.classification import Effects
from doorward.core.model import Credential, Request
from doorward.core.registry import Registry

OWNER = Credential(owner=True)
COMMANDS = list(Registry(FAMILIES))
NOTES = {"type": "object", "properties": {"title": {"type": "string"}}}
QUIET = json.dumps({"recipeId": "quiet", "displayName": "Quiet", "strategy": {}})
CAREFUL = {
    "recipeId": "careful",
    "displayName": "Careful",
    "strategy": {
        "aiCommands": {"enabled": True, "whitelist": ["*"], "requireApproval": {"file/write": {"timeoutSeconds": 30}}}
    },
}
HAS_ANY_FIELDS = {"data/create", "data/update", "data/read"}
"""What these give has the fields that its collection has."""


async def ran(driver, command, /, *, room="den", **params):
    """The owner's call, which must be done and give what its command says."""
    outcome = await driver.ask(command, by="", room=room, params=params)
    assert outcome.status == "done", outcome
    conforms(driver, command, outcome)
    return outcome


@pytest.fixture
async def den(opened):
    """A house with a room where nothing is forbidden, and results that are cut early."""
    async with opened(changes=Settings(limits=LimitSettings(result_characters=200))) as driver:
        await driver.owner("room/create", name="den", recipe="admin")
        yield driver


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_says_what_it_gives(command):
    if command.find_aliased is not None:
        assert command.returns is None, "what it gives is what the command gives that it stands for"
        return
    assert command.returns["type"] == "object"
    assert command.returns.get("properties") or command.name in HAS_ANY_FIELDS


def test_a_shape_of_one_name_is_one_shape_in_all_commands():
    """So that doors can describe all commands in one document."""
    seen = {}
    for command in COMMANDS:
        for name, shape in (command.returns or {}).get("$defs", {}).items():
            assert seen.setdefault(name, shape) == shape, (command.name, name)


def test_no_command_changes_something_and_gives_nothing():
    for command in COMMANDS:
        if command.facts.effects & Effects.WRITE and command.find_aliased is None:
            assert command.returns.get("required") or command.name in HAS_ANY_FIELDS


async def test_what_is_undone_is_as_declared_for_every_kind_of_change(den):
    changes = [
        await ran(den, "file/write", path="a.txt", content="a"),
        await ran(den, "bash", command="echo b > b.txt"),
        await ran(den, "room/create", name="lab", recipe="support"),
        await ran(den, "user/create", id="anna"),
        await ran(den, "recipe/put", room="", id="quiet", text=QUIET),
        await ran(den, "collection/define", name="notes", schema=NOTES),
    ]
    for change in changes:
        await ran(den, "undo", room="", execution=change.call)
    await ran(den, "collection/define", name="notes", schema=NOTES)
    note = await ran(den, "data/create", collection="notes", data={"title": "Milk"})
    await ran(den, "undo", execution=note.call)
    edited = await ran(den, "file/write", path="a.txt", content="b")
    await ran(den, "file/undo", execution=edited.call)
    await ran(den, "file/history", path="a.txt")


async def test_what_programs_of_the_catalogue_give_is_as_declared(den):
    await ran(den, "shell/mkdir", paths=["made"])
    await ran(den, "shell/ls", paths=["."])
    await ran(den, "bash", command="echo live > live.txt", live=True)
    await ran(den, "shell/script", commands=["ls", "cat none"], keepGoing=True)
    failed = await den.ask("shell/cat", by="", room="den", params={"files": ["none"]})
    assert failed.status == "failed"
    conforms(den, "shell/cat", failed)


async def test_what_is_waited_for_and_decided_is_as_declared(den):
    await ran(den, "recipe/put", room="", id="careful", text=json.dumps(CAREFUL))
    await ran(den, "room/create", name="lab", recipe="careful")
    tickets = [
        (await den.ask("file/write", room="lab", params={"path": "a.txt", "content": content})).ticket
        for content in "ab"
    ]
    await ran(den, "approval/list", room="")
    for ticket, verdict in zip(tickets, ("approve", "deny"), strict=True):
        await ran(den, "approval/show", room="", id=ticket)
        await ran(den, f"approval/{verdict}", room="", id=ticket)
        await ran(den, "approval/show", room="", id=ticket)
    await den.ask("", room="lab", ticket=tickets[0])
    await ran(den, "approval/show", room="", id=tickets[0])


async def test_what_executions_tell_is_as_declared_while_they_run_and_when_they_ended(den):
    heard = asyncio.Event()
    script = Request("bash", OWNER, "test", "den", {"command": "echo here; sleep 600"})
    waiting = asyncio.create_task(den.house.gate.handle(script, lambda notice: heard.set()))
    await heard.wait()
    (live,) = (await ran(den, "execution/list", live=True)).result["items"]
    id = live["execution"]
    await ran(den, "execution/status", execution=id)
    await ran(den, "execution/output", execution=id)
    await ran(den, "execution/cancel", execution=id)
    assert (await waiting).code == "cancelled"
    await ran(den, "execution/status", execution=id)
    await ran(den, "execution/list")
    long = await ran(den, "bash", command="seq 1000")
    assert long.truncated
    await ran(den, "execution/output", execution=long.call, offset=100)


async def test_what_a_page_gives_is_as_declared_when_there_is_more(den):
    for number in range(3):
        await ran(den, "file/write", path=f"notes/{number}.md", content="one\ntwo\n")
    await ran(den, "file/read", path="notes/1.md", limit=1)
    await ran(den, "file/list", path="notes", limit=1)
    await ran(den, "shell/files", path="notes", limit=1)
    await ran(den, "file/search", pattern="o", limit=1)
    await ran(den, "data/list", collection="executions", limit=1)
    await ran(den, "data/query", sql="SELECT * FROM executions", limit=1)
    await ran(den, "execution/list", limit=1)
    await ran(den, "file/delete", path="notes/1.md")
    token = await ran(den, "token/create", room="", name="spare")
    await ran(den, "token/revoke", room="", id=token.result["id"])
    await ran(den, "token/list", room="")
