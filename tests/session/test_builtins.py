"""The built-ins of the session shell print what such words print, and do only what their caller may do."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from builtin_rows import FILES, NOTES, RECORDS, ROWS

from conforming import conforms
from doorward.backends.session.builtins import BUILTINS, KNOWN
from doorward.backends.session.builtins.builtin import GROUPS
from doorward.backends.shell.catalogue_command import CatalogueCommand
from doorward.model import Credential

OWNER = Credential(owner=True)
CANARY = "tapir-9043"
DOCUMENT = Path(__file__).parents[2] / "docs" / "SHELL.md"


@pytest.fixture
async def shell(driver):
    """A house with some furniture."""
    await driver.owner("collection/define", name="notes", schema=NOTES)
    for id, data in RECORDS.items():
        await driver.owner("data/create", collection="notes", id=id, data=data)
    for path, text in FILES.items():
        await driver.owner("file/write", path=path, content=text)
    return driver


async def typed(driver, word, *args, **more):
    """What came of a word, typed by the owner outside rooms."""
    driver.clock.advance(5)
    return await driver.ask(BUILTINS[word], by="", room="", params={"args": list(args), **more})


async def test_every_row_prints_what_it_says(shell):
    sessions = shell.house.services.sessions
    opened = await sessions.open(shell.house.gate.caller(OWNER), "")
    wrong = []
    async with sessions.using(opened):
        for row in ROWS:
            word, *args = shlex.split(row.line)
            outcome = await typed(shell, word, *args, input=row.piped, session=opened.id, columns=row.columns)
            assert outcome.status == "done", (row.line, outcome)
            said = outcome.result
            if (said["stdout"], said["exitCode"]) != (row.out, row.code):
                wrong.append((row.line, said))
            elif row.err is None:
                assert re.fullmatch(rf"{re.escape(BUILTINS[word][3:])}: .+\n", said["stderr"]), (row.line, said)
            elif said["stderr"] != row.err:
                wrong.append((row.line, said))
    assert wrong == []


async def test_every_example_works_and_gives_what_it_says(shell):
    await shell.owner("file/write", path="server.conf", content="port = 80\n")
    await shell.owner("file/write", path="drafts/old.md", content="old\n")
    await shell.owner("file/write", path="drafts/keep.md", content="keep\n")
    given = {one.command: one for one in KNOWN.values()}
    last = {"sh/rm", "sh/delete"}
    for name in sorted(given, key=lambda name: (name in last, name)):
        command = shell.house.services.registry[name]
        for example in command.facts.examples:
            shell.clock.advance(5)
            outcome = await shell.ask(name, by="", room="", params=dict(example.params))
            assert outcome.status == "done", outcome
            conforms(shell, name, outcome)
            assert outcome.result["exitCode"] < 2, (name, outcome.result)
            assert command.unlisted


async def test_every_word_refuses_what_it_does_not_know_and_has_help(shell):
    raw = {"true", "false", "echo", "printf", "test", "[", "find", "xargs", "time"}
    for word in KNOWN:
        if word in raw:
            continue
        wrong = (await typed(shell, word, "--no-such-option")).result
        assert wrong["exitCode"] == 2, word
        assert "unknown option '--no-such-option'; usage: " in wrong["stderr"]
        asked = (await typed(shell, word, "--help")).result
        told = (await typed(shell, "help", word)).result
        assert asked["stdout"].startswith("usage: ")
        assert told["stdout"].startswith(f"usage: {KNOWN[word].usage}\n")
    page = (await typed(shell, "help")).result["stdout"]
    assert all(f"\n  {word} " in page for word in KNOWN)
    assert all(f"{group}:\n" in page for group in GROUPS)


async def test_at_least_120_words_work_in_all(shell):
    registry = shell.house.services.registry
    programs = {one.entry.name for one in registry if isinstance(one, CatalogueCommand)}
    assert len({*KNOWN, *programs}) >= 120
    assert all(command in registry for command in BUILTINS.values())
    assert {one.group for one in KNOWN.values()} == set(GROUPS)


async def test_another_tenant_learns_nothing_by_any_word(shell):
    await shell.owner("file/write", path=f"{CANARY}.txt", content=CANARY)
    await shell.owner("data/create", collection="notes", id="secret", data={"title": CANARY})
    said = await shell.owner("room/say", text=f"message {CANARY}", name="general")
    await shell.owner("user/create", id=f"u-{CANARY}")
    await shell.owner("user/create", id="boss", access="root", tenant="rival")
    token = await shell.token("rival", user="boss", tenant="rival", kind="human", access="root")
    tries = [
        [],
        ["notes"],
        ["general"],
        ["/data/notes"],
        ["/workspace"],
        [said.call],
        ["/data/notes/secret"],
        ["notes", "secret"],
    ]
    for word, command in BUILTINS.items():
        for args in tries:
            shell.clock.advance(5)
            outcome = await shell.ask(command, token=token, room="", params={"args": args})
            assert CANARY not in str(outcome.result), (word, args, outcome)
    opened = await shell.house.services.sessions.open(shell.house.gate.caller(OWNER), "")
    async with shell.house.services.sessions.using(opened):
        stolen = await shell.ask("sh/pwd", token=token, room="", params={"session": opened.id})
    assert stolen.code == "not_found"


async def test_a_word_in_a_room_does_what_its_recipe_allows(shell):
    written = await shell.ask("sh/tee", params={"args": ["x.txt"], "input": "x"})
    listed = await shell.ask("sh/ls", params={})
    status = await shell.ask("sh/status", params={})
    assert (written.result["exitCode"], "waits for a person's approval" in written.result["stderr"]) == (75, True)
    assert listed.result["stdout"] == "a.py\nnotes\nsrc\n"
    assert (status.status, status.code) == ("refused", "not_permitted")


def test_the_document_has_every_word():
    page = DOCUMENT.read_text()
    missing = [one.word for one in KNOWN.values() if f"| `{one.usage.replace('|', chr(92) + '|')}` |" not in page]
    assert missing == []


async def test_what_the_document_shows_is_what_is_printed(driver):
    """The blocks are typed one line after another, in one session of a new house."""
    caller = driver.house.gate.caller(OWNER)
    opened = await driver.house.services.sessions.open(caller, "")
    await driver.house.services.sessions.save(opened)
    steps = [step.split("\n", 1) for block in blocks(DOCUMENT.read_text(), "session") for step in _steps(block)]
    assert len(steps) > 10
    for line, expected in steps:
        driver.clock.advance(5)
        params = {"script": line, "session": opened.id}
        outcome = await driver.ask("shell/script", by="", room="", params=params)
        assert (line, outcome.result["stdout"] + outcome.result["stderr"]) == (line, expected)


def _steps(block: str) -> list[str]:
    return re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
