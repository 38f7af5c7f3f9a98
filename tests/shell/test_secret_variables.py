"""What is named like a secret, and what it holds is written down nowhere."""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, closing
from typing import Any

import pytest
from typed_lines import Typing

from doorward.core import redact
from doorward.core.classification import Access
from doorward.core.errors import BadParams
from doorward.core.model import Caller, Credential, Request
from doorward.shell.secret_values import secrets_in_args, secrets_in_steps, secrets_in_text
from doorward.shell.session import ShellSession
from doorward.shell.sessions import SecretVariables

SECRET = "hunter4secret"
ADA = Caller("local", "ada", "human", Access.ROOT)


def written_down(typing: Typing) -> str:
    """All that is in the database but for what was changed, which undo needs, and what waits for a yes as it is."""
    (file,) = (one for one in typing.house.home.path.iterdir() if one.suffix == ".db")
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [(name, dict(row)) for name in tables for row in db.execute(f'SELECT * FROM "{name}"')]
    for name, row in rows:
        if name == "approvals":
            del row["params"], row["foreseen"], row["effect"]
    return "\n".join(f"{name}: {row}" for name, row in rows if name != "before_images")


LINES = [
    "DB_PASSWORD={}; echo $DB_PASSWORD",
    "set API_TOKEN {}",
    "set 'API_TOKEN' '{} and blanks'; echo \"$API_TOKEN\" | cat",
    'export "GH_PAT={} and blanks"',
    "export DB_PWD={}; echo a $DB_PWD > tmp/$DB_PWD.txt; cat tmp/$DB_PWD.txt; rm tmp/$DB_PWD.txt",
    "AWS_KEY={}; ls nope-$AWS_KEY",
    "AWS_KEY={}; grep x nope-$AWS_KEY",
    "AWS_KEY={}; nope-$AWS_KEY x",
    "AWS_KEY={}; echo ${{AWS_KEY}}/*; echo $(printf %s $AWS_KEY); seq 2 | xargs echo $AWS_KEY",
    "AWS_KEY={}; URL=https://$AWS_KEY.example; echo $URL",
    "AWS_KEY={}; file/read --path=$AWS_KEY",
    "set API_TOKEN {} extra words",
    "set API_TOKEN '{}",
    "time set API_TOKEN {}",
]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("room", ["", "general"])
async def test_what_a_secret_variable_holds_is_written_down_nowhere(typing: Typing, line: str, room: str) -> None:
    secret = f"hunter{LINES.index(line)}{room}secret"
    for params in ({"script": line.format(secret)}, {"commands": [line.format(secret)]}):
        await typing.script(**params, session="new", room=room, keepGoing=True)
    assert [row for row in written_down(typing).splitlines() if secret in row] == []


async def test_a_step_that_names_its_command_hides_them_too(typing: Typing) -> None:
    steps = [{"command": "set", "params": {"args": ["API_TOKEN", SECRET]}}, "echo $API_TOKEN", {"command": 7}]
    await typing.script(commands=steps[:2], session="new")
    await typing.script(commands=steps, session="new")
    await typing.ask("sh/set", args=["API_TOKEN", SECRET, 7])
    await typing.ask("sh/export", args=[f"API_TOKEN={SECRET} b"], no="such parameter")
    assert SECRET not in written_down(typing)


async def test_a_secret_variable_lasts_from_line_to_line_and_every_line_hides_it(typing: Typing) -> None:
    session = (await typing.script(script=f"DB_PASSWORD={SECRET}; WHO=ada", session="new")).result["session"]
    assert (await typing.line("echo $DB_PASSWORD $WHO", session))[0] == f"{SECRET} ada\n"
    failed = await typing.script(script="cat $DB_PASSWORD; echo x; file/read --path=$DB_PASSWORD", session=session)
    assert (failed.status, SECRET in failed.message) == ("failed", False)
    await typing.line(f"DB_PASSWORD={SECRET}; true {SECRET}", session)
    assert (await typing.line("history", session))[0].count(redact.HIDDEN) == 3
    shown = (await typing.ask("session/show", session=session)).result
    assert shown["variables"] == {"DB_PASSWORD": redact.HIDDEN, "WHO": "ada"}
    await typing.line("alias x='echo $DB_PASSWORD'", session)
    assert (await typing.line("x", session))[0] == f"{SECRET}\n"
    await typing.line("unset DB_PASSWORD", session)
    assert (await typing.line("echo ${DB_PASSWORD:-gone}", session))[0] == "gone\n"
    assert "the variable DB_PASSWORD is not set" in (await typing.line("echo $DB_PASSWORD", session))[1]
    assert SECRET not in written_down(typing)


async def test_what_waits_for_a_person_hides_it_before_and_after_the_yes(typing: Typing) -> None:
    line = f"DB_PASSWORD={SECRET}; echo user ada $DB_PASSWORD > login.txt"
    waits = await typing.script(by="bot", room="general", script=line)
    approval = (await typing.ask("approval/show", id=waits.result["ticket"])).result
    assert SECRET not in json.dumps(approval["params"])
    assert SECRET not in written_down(typing)
    await typing.ask("approval/approve", id=waits.result["ticket"])
    bot = Credential(owner=True, speak_as="bot")
    again = Request(approval["command"], bot, "test", room="general", ticket=waits.result["ticket"])
    done = await typing.house.gate.handle(again)
    assert (done.status, SECRET in (typing.workspace / "login.txt").read_text()) == ("done", True)
    assert SECRET not in written_down(typing)


async def test_after_a_new_start_it_is_gone_and_that_is_said(
    opened: Callable[..., AbstractAsyncContextManager[Any]],
) -> None:
    async with opened() as driver:
        sessions = driver.house.services.sessions
        kept = await sessions.open(ADA, "")
        kept.set_variable("API_KEY", SECRET)
        kept.set_variable("WHO", "ada")
        await sessions.save(kept)
        assert (await sessions.open(ADA, "", kept.id)).env == {"API_KEY": SECRET, "WHO": "ada"}
    async with opened() as driver:
        typing = Typing(driver.house)
        found = await driver.house.services.sessions.open(ADA, "", kept.id)
        assert (found.env, found.lost) == ({"WHO": "ada"}, ["API_KEY"])
        async with driver.house.services.sessions.use(found):
            found.set_variable("API_KEY", "another")
            assert found.lost == []
        id = (await typing.script(script="API_KEY=abcdef", session="new")).result["session"]
    async with opened() as driver:
        typing = Typing(driver.house)
        said = "the value of API_KEY is lost: secret variables are not kept across restarts; set it again"
        assert (await typing.line("echo $API_KEY", id))[1:] == (f"shell: {said}\n", 1)
        assert (await typing.line("echo ${API_KEY:-none}", id))[0] == "none\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("echo hello; PATH_TO=x", set()),
        ('DB_PASSWORD=$OTHER; API_KEY=$(cat key.txt); export AUTH="${OTHER}"', set()),
        ("DB_PASSWORD='$OTHER'", {"$OTHER", "'$OTHER'"}),
        ("PWD=/workspace/src", set()),
        ("set COLOUR blue", set()),
        ("set API_TOKEN 'a b'; X_KEY=c\\ d", {"a b", "'a b'", "c d", "c\\ d"}),
        ("API_TOKEN=abcd | (", {"abcd"}),
        ("API_TOKEN='abc", {"abc", "'abc"}),
    ],
)
def test_the_values_of_names_that_tell_of_a_secret_are_found_in_lines(text: str, found: set[str]) -> None:
    assert {one for one in secrets_in_text(text) if len(one) > 2} == found


def test_a_long_line_is_looked_through_once() -> None:
    for text in ("API_TOKEN='" + "a" * 60_000, "set API_TOKEN " * 4_000, "A_KEY=" * 10_000, "KEY=\\" * 12_000):
        assert len(list(secrets_in_text(text))) < 20_000


def test_whatever_is_given_as_parameters_is_looked_through() -> None:
    for params in ({}, {"script": 7}, {"commands": "x"}, {"commands": [None, {"params": {"args": 7}}, {"params": []}]}):
        assert list(secrets_in_steps(params)) == []
    assert list(secrets_in_args("sh/set", {"args": ["API_TOKEN", 7, None]})) == [""]
    assert list(secrets_in_args("echo", {})) == []


def test_a_session_shows_its_secrets_in_nothing_that_it_remembers() -> None:
    session = ShellSession(tenant="t", user="ada", id="x" * 24, room="")
    session.add_history(f"set MY_TOKEN {SECRET}")
    session.set_variable("MY_TOKEN", SECRET)
    session.add_history(f"curl {shlex.quote(SECRET)}")
    session.add_talk(f"is {SECRET} good", f"{SECRET} is")
    assert SECRET not in repr((session.history, session.talk))
    with pytest.raises(BadParams, match="would contain a secret"):
        session.set_alias("x", f"curl {SECRET}")
    with pytest.raises(BadParams, match="would contain a secret"):
        session.set_alias("x", "API_KEY=abcdef")


def test_memory_holds_a_bounded_amount_and_lets_go_of_the_oldest() -> None:
    memory = SecretVariables(most=20)
    keys = [(str(at), "t", "u", "") for at in range(3)]
    for at, key in enumerate(keys):
        memory.put(key, {"A": "x" * 8}, at)
    assert [dict(memory.get(key)) for key in keys] == [{}, {"A": "x" * 8}, {"A": "x" * 8}]
    memory.put(keys[1], {"A": "y"}, 3)
    memory.drop_unused(before=3)
    assert [dict(memory.get(key)) for key in keys] == [{}, {"A": "y"}, {}]
    memory.put(keys[1], {}, 4)
    assert memory.get(keys[1]) == {}
    memory.put(keys[0], {"A": "x" * 30}, 5)
    assert memory.get(keys[0]) == {}
