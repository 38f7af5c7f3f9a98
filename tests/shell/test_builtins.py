"""The built-ins of the session shell print what such words print, and do only what their caller may do."""

from __future__ import annotations

import json
import re
import shlex
import tracemalloc
from pathlib import Path

import pytest
from builtin_rows import FILES, NOTES, RECORDS, ROWS

from conforming import conforms
from doorward.commands.programs.catalogue_command import CatalogueCommand
from doorward.core.model import Credential
from doorward.rooms.message import Card
from doorward.shell.builtins import BUILTINS, BUILTINS_BY_WORD
from doorward.shell.builtins.builtin import GROUPS
from doorward.shell.builtins.file_changes import restore_typed_paths
from doorward.shell.builtins.formatting import format_columns
from doorward.shell.builtins.run import MAX_OUTPUT

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
    async with sessions.use(opened):
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
    given = {one.command: one for one in BUILTINS_BY_WORD.values()}
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
    for word in BUILTINS_BY_WORD:
        if word in raw:
            continue
        wrong = (await typed(shell, word, "--no-such-option")).result
        assert wrong["exitCode"] == 2, word
        assert "unknown option '--no-such-option'; usage: " in wrong["stderr"]
        asked = (await typed(shell, word, "--help")).result
        told = (await typed(shell, "help", word)).result
        assert asked["stdout"].startswith("usage: ")
        assert told["stdout"].startswith(f"usage: {BUILTINS_BY_WORD[word].usage}\n")
    page = (await typed(shell, "help")).result["stdout"]
    assert all(f"\n  {word} " in page for word in BUILTINS_BY_WORD)
    assert all(f"{group}:\n" in page for group in GROUPS)


async def test_at_least_120_words_work_in_all(shell):
    registry = shell.house.services.registry
    programs = {one.entry.name for one in registry if isinstance(one, CatalogueCommand)}
    assert len({*BUILTINS_BY_WORD, *programs}) >= 120
    assert all(command in registry for command in BUILTINS.values())
    assert {one.group for one in BUILTINS_BY_WORD.values()} == set(GROUPS)


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
    async with shell.house.services.sessions.use(opened):
        stolen = await shell.ask("sh/pwd", token=token, room="", params={"session": opened.id})
    assert stolen.code == "not_found"


@pytest.mark.parametrize(
    ("word", "args", "piped"),
    [
        ("seq", ["-s", "x" * 1_000, "30000"], ""),
        ("printf", ["%999s" * 6_000], ""),
        ("printf", ["%999s", *"abcdefghij" * 900], ""),
        ("xargs", ["-I", "a", "echo", "a" * 300], "b" * 100_000),
        ("xargs", ["-n", "1", "echo"], "bc " * 300_000),
        ("table", [], json.dumps([{"a": "x" * 100_000, "b": 1}, *[{"b": 1}] * 300])),
        ("json", ["."] * 2_000, json.dumps(["x" * 50_000])),
    ],
)
async def test_a_short_line_never_comes_to_very_much_text(typing, word, args, piped):
    """The limit of what is printed holds while it is put together, not only when all of it is there."""
    tracemalloc.start()
    try:
        outcome = await typing.ask(BUILTINS[word], args=args, input=piped)
        assert tracemalloc.get_traced_memory()[1] < 15_000_000
    finally:
        tracemalloc.stop()
    assert len(outcome.result["stdout"]) <= MAX_OUTPUT + 1
    assert outcome.result["stderr"] or word == "table"


async def test_what_xargs_would_make_too_long_or_too_often_is_refused_before_anything_runs(typing):
    too_long = await typing.ask("sh/xargs", args=["-I", "a", "echo", "a" * 300], input="b" * 100_000)
    too_often = await typing.ask("sh/xargs", args=["-n", "2", "echo"], input="b " * 401)
    lines = await typing.ask("sh/xargs", args=["-I", "a", "echo", "a"], input="b\n" * 201)
    just_fits = await typing.ask("sh/xargs", args=["-n", "100", "echo"], input="b " * 300)
    assert "a run has at most 65536 characters; one would have 30000004" in too_long.result["stderr"]
    assert "at most 200 runs of 2 words are valid" in too_often.result["stderr"]
    assert "at most 200 runs are valid; these would be 201" in lines.result["stderr"]
    assert [one.result["exitCode"] for one in (too_long, too_often, lines, just_fits)] == [2, 2, 2, 0]
    assert (too_long.result["stdout"], just_fits.result["stdout"]) == ("", 3 * ("b " * 99 + "b\n"))


def test_what_a_program_says_of_paths_names_them_as_they_were_typed():
    called = {f"n{at}": f"~/n{at}" for at in range(5_000)}
    called |= {"home/ada/d": "~/d", "a": "/workspace/a", "t/": "/tmp/t/"}
    said = "rm: cannot remove 'home/ada/d/x': No\nrm: ‘ab’ and 'a' and 'a/b'\n't/u' n1 'n12' 'n4999'\n"
    assert restore_typed_paths(said, called) == (
        "rm: cannot remove '~/d/x': No\nrm: ‘ab’ and '/workspace/a' and '/workspace/a/b'\n"
        "'/tmp/t/u' n1 '~/n12' '~/n4999'\n"
    )


def test_names_stand_in_as_many_columns_as_fit():
    assert format_columns(["aaaa", "b", "cc"], 10) == "aaaa  cc\nb\n"
    assert format_columns(["aaaa", "b", "cc"], 11) == "aaaa  b  cc\n"
    assert format_columns(["a" * 12, "b"], 10) == f"{'a' * 12}\nb\n"
    assert format_columns(["ab"] * 10_000, 1).count("\n") == 10_000


async def test_a_word_in_a_room_does_what_its_recipe_allows(shell):
    written = await shell.ask("sh/tee", params={"args": ["x.txt"], "input": "x"})
    listed = await shell.ask("sh/ls", params={})
    status = await shell.ask("sh/status", params={})
    assert (written.result["exitCode"], "is waiting for approval" in written.result["stderr"]) == (75, True)
    assert listed.result["stdout"] == "a.py\nnotes\nsrc\n"
    assert (status.status, status.code) == ("refused", "not_permitted")


def test_the_document_has_every_word():
    page = DOCUMENT.read_text()
    missing = [
        one.word for one in BUILTINS_BY_WORD.values() if f"| `{one.usage.replace('|', chr(92) + '|')}` |" not in page
    ]
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


async def test_a_query_prints_times_as_such_and_says_when_rows_are_left_out(shell):
    said = (await typed(shell, "query", "SELECT id, createdAt, n AS at FROM notes LIMIT 1")).result["stdout"]
    assert re.fullmatch(r"id +createdAt +at\n\S+ +\d{4}-\d\d-\d\dT[\d:.]+Z +\d+\n", said), said
    asked = await typed(shell, "query", "SELECT createdAt FROM notes LIMIT 1", "--json")
    assert isinstance(json.loads(asked.result["stdout"])[0]["createdAt"], float)
    many = (await typed(shell, "query", "SELECT a.n FROM notes a" + ", notes" * 6)).result
    assert many["stderr"] == (
        "query: only the first 1000 rows are shown; use LIMIT and OFFSET in the SELECT for others\n"
    )


async def test_undo_alone_takes_back_the_last_change_and_then_the_one_before(shell):
    first = await shell.owner("file/write", path="later.txt", content="x")
    second = await shell.owner("file/write", path="later.txt", content="y")
    listed = (await typed(shell, "undo", "-l")).result
    assert [line.split() for line in listed["stdout"].splitlines()[1:3]] == [
        [second.call, "file/write", "later.txt"],
        [first.call, "file/write", "later.txt"],
    ]
    for one, left in ((second, "x"), (first, None)):
        undone = (await typed(shell, "undo")).result
        assert (undone["stdout"], undone["exitCode"]) == (f"{one.call}: file/write of later.txt was undone\n", 0)
        shown = (await typed(shell, "cat", "later.txt")).result
        assert (shown["stdout"] if shown["exitCode"] == 0 else None) == left
    assert first.call not in (await typed(shell, "undo", "-l")).result["stdout"]
    assert (await typed(shell, "undo", "-l", first.call)).result["exitCode"] == 2


async def test_the_help_of_a_program_is_how_it_is_typed(shell):
    said = (await typed(shell, "help", "grep", "collection/define")).result["stdout"]
    assert "usage: grep [option…] <pattern> <files>…\n" in said
    assert re.search(r"^  -r --recursive +\w", said, re.MULTILINE)
    assert "for example: shell/grep --recursive --line-number -- 'def main' src  # " in said
    assert 'for example: collection/define --name=notes --schema=\'{"type":"object",' in said


async def test_a_message_of_several_lines_cannot_pass_for_several(shell):
    await shell.owner("room/say", name="general", text="one\nowner: two")
    said = (await typed(shell, "messages", "general", "-n", "1")).result["stdout"]
    assert said.endswith("owner: one\n    owner: two\n")


async def test_messages_without_words_show_what_hangs_on_them(shell):
    services = shell.house.services
    room = services.rooms.get("local", "general")
    await services.messages.post(room, "guide", "ai", "", attachments=(Card(command="data/list", state="done"),))
    gone = (await shell.owner("room/say", name="general", text="never mind")).result["message"]
    await shell.owner("room/delete", name="general", message=gone)
    said = (await typed(shell, "messages", "general", "-n", "2")).result["stdout"]
    assert [line.partition("  ")[2] for line in said.splitlines()] == [
        "guide: [data/list: done]",
        "owner: (deleted)",
    ]


async def test_a_record_for_a_collection_that_is_not_there_says_how_to_make_one(shell):
    said = (await typed(shell, "insert", "nowhere", "a=1")).result
    assert (said["exitCode"], "collection/define creates a collection" in said["stderr"]) == (1, True)
