"""What the keeper changes is what was asked for: no secret is lost, nothing of others taken back, no claim false."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from doorward.cli import audit
from doorward.core.model import Credential, Outcome, Request
from doorward.store.ledger.record import origin_of
from keeper_house import Kept, call, run

_ENV = "NAME=x\nAPI_KEY=sk-proj-abcdefghijklmnopqrst\npassword: hunter2hunter2"
_MARKED = "NAME=y\nAPI_KEY=[redacted]\n"


async def held(keeper: Kept, path: str) -> str:
    return str((await keeper.done("file/read", path=path))["content"])


async def house(keeper: Kept, prompt: str, session: str = "", **where: Any) -> Any:
    """What the house model makes of a request."""
    named = {"session": session} if session else {}
    outcome: Outcome = await keeper.ask(prompt, model="house", **named, **where)
    assert outcome.result, outcome
    return outcome.result


@pytest.mark.parametrize("request_", ["append DEBUG=1 to {}", "add a line DEBUG=1 to {}"])
@pytest.mark.parametrize("ended", ["\n", ""])
async def test_a_line_is_put_behind_a_file_without_touching_its_secrets(
    keeper: Kept, request_: str, ended: str
) -> None:
    await keeper.done("file/write", path="tmp/conf.env", content=_ENV + ended)
    assert (await house(keeper, request_.format("tmp/conf.env")))["success"]
    assert await held(keeper, "tmp/conf.env") == f"{_ENV}\nDEBUG=1\n"


@pytest.mark.parametrize(
    "wish",
    [
        run("file/write", path="tmp/s.env", content=_MARKED),
        run("vfs/write", path="/tmp/s.env", content=_MARKED),
        run("file/edit", path="tmp/s.env", oldString="NAME=x", newString="NAME=[redacted]"),
        call("run_command", command="data/update", params={"collection": "k", "id": "k", "data": {"n": "[redacted]"}}),
        call("write_file", path="tmp/s.env", content=_MARKED),
        call("run_command", command="echo 'NAME=[redacted]' > tmp/s.env"),
    ],
)
async def test_what_stands_for_a_secret_is_never_written_in_its_place(keeper: Kept, wish: Any) -> None:
    await keeper.done("file/write", path="tmp/s.env", content=_ENV)
    keeper.says([wish], "Done.")
    answer = (await keeper.ask("change the name")).result
    (made,) = answer["toolCalls"]
    assert not answer["success"]
    assert made["status"] in ("refused", "failed")
    assert "the placeholder of a secret" in made["output"]
    assert await held(keeper, "tmp/s.env") == _ENV


async def test_a_persona_does_not_write_it_either(keeper: Kept) -> None:
    credential = Credential(persona="guide", asker="owner", room="general")
    params = {"path": "tmp/s.env", "content": _MARKED}
    asked = Request(command="file/write", credential=credential, door="test", room="general", params=params)
    outcome = await keeper.house.gate.handle(asked)
    assert "the placeholder of a secret" in outcome.message


async def test_the_mark_in_a_file_or_in_talk_is_no_hindrance(keeper: Kept) -> None:
    await keeper.done("file/write", path="tmp/log.txt", content="key=[redacted]\n")
    keeper.says([run("vfs/append", path="/tmp/log.txt", content="more\n")], "Done.")
    assert (await keeper.ask("add more")).result["success"]
    assert await held(keeper, "tmp/log.txt") == "key=[redacted]\nmore\n"
    keeper.says([run("room/say", name="general", text="it shows [redacted]")], "Done.")
    said = (await keeper.ask("say it")).result["toolCalls"][0]
    assert "stands for a secret" not in said["output"]


async def test_a_secret_that_was_given_to_be_written_is_refused_and_not_replaced(keeper: Kept) -> None:
    for words in ("password=hunter2hunter2", "my password is hunter3hunter3"):
        answer = await house(keeper, f"write tmp/k.txt saying {words}")
        assert not answer["success"]
        assert "secret" in answer["response"]
    assert (await keeper.run("file/stat", path="tmp/k.txt")).code == "not_found"


async def test_a_password_that_somebody_tells_is_written_down_nowhere(keeper: Kept) -> None:
    answer = await house(keeper, "my password is hunter9hunter9 and how many rooms are there")
    await house(keeper, "and now", answer["sessionId"])
    kept = await keeper.house.services.store.read("SELECT body FROM shell_sessions")
    assert "hunter9hunter9" not in f"{await keeper.records()}{kept}"


async def test_undo_means_what_was_changed_in_the_same_session_one_after_the_other(keeper: Kept) -> None:
    await keeper.done("file/write", path="tmp/own.txt", content="mine")
    other = await house(keeper, "write tmp/other.txt saying other")
    first = await house(keeper, "write tmp/one.txt saying one")
    session = first["sessionId"]
    await house(keeper, "write tmp/two.txt saying two", session)
    for name in ("two", "one"):
        undone = await house(keeper, "undo that", session)
        assert undone["success"]
        assert f"tmp/{name}.txt" in undone["response"]
        assert (await keeper.run("file/stat", path=f"tmp/{name}.txt")).code == "not_found"
    for ask in (session, ""):
        none = await house(keeper, "undo that", ask)
        assert not none["success"]
        assert none["response"].startswith("I did nothing")
        assert "undo" not in [one["input"]["command"] for one in none["toolCalls"]]
        assert other["toolCalls"][-1]["execution"] in none["response"]
    assert await held(keeper, "tmp/other.txt") == "other"
    assert await held(keeper, "tmp/own.txt") == "mine"
    named = await house(keeper, f"undo {other['toolCalls'][-1]['execution']}")
    assert named["success"]
    assert (await keeper.run("file/stat", path="tmp/other.txt")).code == "not_found"


async def test_any_model_is_told_what_it_could_take_back_in_this_session(keeper: Kept) -> None:
    model = keeper.says([run("vfs/write", path="/tmp/three.txt", content="3")], "Written.", "Nothing.", "Nothing.")
    session = (await keeper.ask("write it")).result["sessionId"]
    await keeper.ask("what did you do", session=session)
    await keeper.ask("what did you do")
    shown = [prompt.instructions for prompt in model.shown]
    assert ["file/write of tmp/three.txt" in one for one in shown] == [False, False, True, False]


@pytest.mark.parametrize(
    ("request_", "ended"),
    [
        ("delete notes.txt and report.md", "answered"),
        ("x" * 4_100 + " delete the file notes.txt", "answered"),
        ("undo that", "answered"),
        ("fly me to the moon", "not_understood"),
    ],
)
async def test_where_nothing_was_done_there_is_no_success(keeper: Kept, request_: str, ended: str) -> None:
    answer = await house(keeper, request_)
    assert not answer["success"], answer
    assert answer["error"]
    assert answer["ended"] in (ended, "not_understood")


async def test_what_is_not_offered_is_no_success_and_speaks_of_no_room(keeper: Kept) -> None:
    await keeper.run("user/create", id="rita", access="read")
    made = await keeper.done("token/create", name="rita", user="rita", kind="human", access="read")
    answer = await house(keeper, "delete the file notes.txt", token=made["token"])
    assert (answer["success"], answer["toolCalls"]) == (False, [])
    assert "this room" not in answer["response"]


async def test_a_look_before_a_failure_makes_no_success_of_it(keeper: Kept) -> None:
    looks, fails = run("data/list", "1", collection="rooms"), run("file/read", "2", path="tmp/nowhere.txt")
    keeper.says([looks], [fails], "There you are.")
    answer = (await keeper.ask("read it")).result
    assert (answer["success"], answer["error"]) == (False, "1 of the last 1 calls was not done.")
    keeper.says([fails], [looks], "There you are.")
    assert (await keeper.ask("read it")).result["success"]


async def test_a_model_that_wants_the_same_again_and_again_is_stopped(keeper: Kept) -> None:
    keeper.says(again=[run("data/list", collection="rooms")])
    answer = (await keeper.ask("go round in circles")).result
    assert (answer["success"], answer["ended"], len(answer["toolCalls"])) == (False, "model_failed", 3)
    assert "same call" in answer["error"]


async def test_the_record_ties_every_call_of_the_keeper_to_its_request(
    keeper: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper.says([run("vfs/write", path="/tmp/tied.txt", content="x"), run("file/read", path="tmp/no.txt")], "Done.")
    outcome = await keeper.ask("write it", by="helper", room="general")
    notes = {row["command"]: origin_of(row["note"]) for row in await keeper.records() if row["door"] == "test"}
    assert outcome.call in notes["vfs/write"]
    assert notes["agent/ask"] == ""
    keeper.says([run("vfs/write", path="/tmp/tied.txt", content="x")], "Done.")
    outside = await keeper.ask("write it")
    made = [row for row in await keeper.records() if outside.call in row["note"]]
    assert {(row["command"], row["phase"]) for row in made} >= {("vfs/write", "start"), ("file/write", "start")}
    assert {row["caller"] for row in made} == {"keeper"}
    monkeypatch.setenv("DOORWARD_HOME", str(keeper.house.home.path))
    shown = CliRunner().invoke(audit.command, ["show", made[0]["call"]]).output
    assert f"thought of by the keeper in agent/ask {outside.call}" in shown


async def test_how_it_goes_on_names_the_room_the_time_and_what_was_not_looked_at(keeper: Kept) -> None:
    keeper.says([run("file/write", path="tmp/r.txt", content="new")], "Written.")
    answer = (await keeper.ask("write r.txt", by="helper", room="general")).result
    (made,) = answer["toolCalls"]
    assert f"doorward ai --room general --session {answer['sessionId']}" in answer["response"]
    assert "within " in answer["response"]
    both = {"session": answer["sessionId"], "ticket": made["ticket"], "by": "helper", "room": "general"}
    assert (await keeper.ask("and delete all", **both)).result["notes"]
    assert not (await keeper.ask("write r.txt", **both)).result["notes"]


async def test_whoever_shows_the_keepers_ticket_is_told_who_takes_it_up(keeper: Kept) -> None:
    await keeper.done("file/write", path="tmp/t.txt", content="x")
    keeper.says([run("file/delete", path="tmp/t.txt")])
    ticket = (await keeper.ask("delete it")).result["toolCalls"][0]["ticket"]
    request = Request(command="file/delete", credential=Credential(owner=True), door="test", ticket=ticket)
    outcome = await keeper.house.gate.handle(request)
    assert outcome.code == "not_approved"
    assert "doorward_agent" in outcome.hint
