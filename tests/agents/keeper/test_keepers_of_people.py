"""The keeper of one person is nobody else: not that person where they type themselves, and not another's keeper."""

from __future__ import annotations

import base64
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from doorward.store.sqlite import Statement
from keeper_house import Kept, call, kept, run


async def person(keeper: Kept, id: str) -> str:
    """A token of a person, who is made when there is none yet."""
    await keeper.run("user/create", id=id, access="edit")
    made = await keeper.done("token/create", name=f"of-{id}", user=id, kind="human", access="edit")
    return str(made["token"])


async def kitchen(keeper: Kept) -> tuple[str, str]:
    """A room of Anna and Bob, and their tokens."""
    tokens = await person(keeper, "anna"), await person(keeper, "bob")
    await keeper.run("room/create", name="kitchen", recipe="admin")
    for member in ("anna", "bob"):
        await keeper.run("room/join", name="kitchen", member=member)
    return tokens


async def told(keeper: Kept, token: str, *wishes: Any) -> list[Any]:
    """What became of each call that a person's keeper wants to make in the kitchen, approved by the owner."""
    keeper.says(*[[one] for one in wishes], "Done.")
    answer = (await keeper.ask("do as I said", token=token, room="kitchen")).result
    made = answer["toolCalls"]
    while answer["ended"] == "waiting":
        ticket = made[-1]["ticket"]
        await keeper.done("approval/approve", id=ticket)
        answer = (await keeper.ask(token=token, room="kitchen", session=answer["sessionId"], ticket=ticket)).result
        made = [*made[:-1], *answer["toolCalls"]]
    return list(made)


async def test_an_alias_of_the_keepers_does_not_run_when_the_person_types(keeper: Kept) -> None:
    """For what a person types themselves nobody is asked, so the keeper must not put words into their mouth."""
    await keeper.done("file/write", path="tmp/dear.txt", content="x")
    session = (await keeper.done("session/open"))["session"]
    theirs = {"session": session, "args": ["ls=rm tmp/dear.txt"]}
    keeper.says(
        [call("run_command", command="alias ls='rm tmp/dear.txt'")],
        [run("sh/alias", **theirs)],
        [run("shell/script", session=session, script="alias ls='rm tmp/dear.txt'")],
        "Done.",
    )
    made = (await keeper.ask("what is in here", session=session)).result["toolCalls"]
    assert [one["status"] == "done" for one in made] == [True, False, False], made
    assert (await keeper.run("shell/script", script="ls", session=session)).status == "done"
    assert (await keeper.run("file/stat", path="tmp/dear.txt")).status == "done"


async def test_the_keeper_leaves_the_persons_folder_variables_and_history_alone(keeper: Kept) -> None:
    session = (await keeper.done("shell/script", script="set WHERE here", session="new"))["session"]
    await keeper.done("file/write", path="elsewhere/x.txt", content="x")
    before = await keeper.done("session/show", session=session)
    keeper.says([call("run_command", command="cd elsewhere; set WHERE there; history -c")], "Done.")
    await keeper.ask("look around", session=session)
    after = await keeper.done("session/show", session=session)
    names = ("cwd", "variables", "history")
    assert [after[name] for name in names] == [before[name] for name in names]


async def test_it_begins_where_the_person_is_and_stays_where_it_went_until_it_is_done(keeper: Kept) -> None:
    await keeper.done("file/write", path="there/deeper/x.txt", content="found")
    session = (await keeper.done("shell/script", script="cd there; A=1", session="new"))["session"]
    keeper.says(
        [call("run_command", command="cd deeper; echo $A; history")],
        [call("read_file", path="x.txt")],
        [call("run_command", command="rm x.txt")],
        "Done.",
    )
    answer = (await keeper.ask("look around", session=session)).result
    looked, read, waits = answer["toolCalls"]
    assert looked["output"].startswith("1\n")
    assert "cd there" in looked["output"]
    assert "found" in read["output"]
    await keeper.done("approval/approve", id=waits["ticket"])
    keeper.says([call("run_command", command="pwd")], "Done.")
    rest = (await keeper.ask(session=session, ticket=waits["ticket"])).result["toolCalls"]
    assert rest[-1]["output"] == "/workspace/there/deeper"


async def test_where_only_files_of_the_workspace_are_allowed_paths_mean_what_they_mean_elsewhere(keeper: Kept) -> None:
    """`~` and the folder of the session are no names of files, whichever command a recipe leaves for them."""
    commands = ["agent/ask", "file/*", "shell/script", "sh/cd", "vfs/stat"]
    strategy = {"aiCommands": {"enabled": True, "whitelist": commands}}
    text = json.dumps({"recipeId": "files", "displayName": "Files", "strategy": strategy})
    await keeper.done("recipe/put", id="files", text=text)
    await keeper.done("room/create", name="desk", recipe="files")
    await keeper.done("file/write", path="plans/old.txt", content="x")
    moved = await keeper.run("shell/script", by="helper", room="desk", script="cd plans", session="new")
    assert moved.status == "done", moved
    keeper.says(
        [call("write_file", path="new.txt", content="x"), call("write_file", "2", path="~/n.txt", content="x")],
        [call("write_file", path="/tmp/t.txt", content="x"), call("read_file", "2", path="/data/notes/mine")],
        "Done.",
    )
    made = (await keeper.ask("write", by="helper", room="desk", session=moved.result["session"])).result["toolCalls"]
    assert [one["status"] for one in made] == ["done", "done", "done", "refused"], made
    assert "is outside the workspace" in made[-1]["output"]
    for path in ("plans/new.txt", "home/owner/n.txt", "tmp/t.txt"):
        assert (await keeper.run("file/stat", path=path)).status == "done", path


async def test_it_looks_at_the_sessions_of_the_person(keeper: Kept) -> None:
    session = (await keeper.done("shell/script", script="pwd", session="new"))["session"]
    keeper.says([run("session/list")], [run("session/show", session=session)], "Done.")
    listed, shown = (await keeper.ask("which sessions have I")).result["toolCalls"]
    assert session in listed["output"]
    assert '"pwd"' in shown["output"]


async def test_nobody_makes_the_keeper_a_member_of_a_room(keeper: Kept) -> None:
    """There is one name for the keepers of all people: as a member it would let everybody in."""
    bob = await person(keeper, "bob")
    await keeper.run("room/create", name="lab", recipe="admin")
    joined = await keeper.run("room/join", name="lab", member="keeper", kind="ai")
    assert joined.code == "bad_params"
    assert "Make that person a member" in joined.message
    await keeper.done("room/say", name="lab", text="the plan is blue")
    keeper.says([run("room/messages", name="lab")], [run("data/list", collection="messages")], "Done.")
    made = (await keeper.ask("what is said in the lab", token=bob)).result["toolCalls"]
    assert [one["status"] == "done" for one in made] == [False, True], made
    assert "the plan is blue" not in repr(made)


async def test_one_that_is_a_member_from_before_is_left_out_and_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with kept(tmp_path / "home") as first:
        row = ("local", "general", "keeper", "ai", "member")
        insert = "INSERT INTO members (tenant, room, id, kind, role) VALUES (?, ?, ?, ?, ?)"
        await first.house.services.store.write(Statement(insert, row))
    with caplog.at_level(logging.WARNING):
        async with kept(tmp_path / "home") as second:
            members = (await second.done("room/show", name="general"))["members"]
    assert "keeper" not in members
    assert "'keeper' is a member of the room 'general'" in caplog.text


async def test_no_access_list_names_the_keeper(keeper: Kept) -> None:
    await keeper.run("collection/define", name="notes", schema={"type": "object"})
    for name in ("access_read", "access_deny"):
        refused = await keeper.run("data/create", collection="notes", data={name: ["owner", "keeper"]})
        assert refused.code == "bad_params"
        assert "name that person" in refused.message


async def test_a_record_for_one_person_is_for_their_keeper_and_no_other(keeper: Kept) -> None:
    anna, bob = await kitchen(keeper)
    await keeper.run("collection/define", name="notes", schema={"type": "object"})
    await keeper.done("data/create", collection="notes", id="mine", data={"access_read": ["anna"], "title": "tea"})
    for token, sees in ((anna, True), (bob, False)):
        (read,) = await told(keeper, token, call("run_command", command="data/read --collection=notes --id=mine"))
        assert (read["status"] == "done") == sees, read


async def test_the_keeper_of_one_person_does_not_learn_what_another_wants(keeper: Kept) -> None:
    bob = await person(keeper, "bob")
    await keeper.done("file/write", path="tmp/private-matter.txt", content="x")
    keeper.says([run("file/delete", path="tmp/private-matter.txt")])
    ticket = (await keeper.ask("delete it")).result["toolCalls"][0]["ticket"]
    keeper.says(
        [run("data/list", collection="approvals")],
        [run("event/list", only="approval")],
        [run("approval/show", id=ticket)],
        "Done.",
    )
    made = (await keeper.ask("what waits", token=bob)).result["toolCalls"]
    assert [one["status"] for one in made] == ["done", "done", "refused"]
    assert "private-matter" not in repr([one["output"] for one in made])
    assert ticket not in made[1]["output"]
    himself = await keeper.run("data/list", token=bob, collection="approvals")
    assert "private-matter" not in himself.text
    assert ticket not in (await keeper.run("event/list", token=bob, only="approval")).text


async def test_undo_alone_takes_back_what_the_keeper_did_last_in_this_session(keeper: Kept) -> None:
    await keeper.done("file/write", path="tmp/own.txt", content="mine")
    session = (await keeper.done("session/open"))["session"]
    keeper.says([call("write_file", path="tmp/kept.txt", content="its")], "Done.")
    await keeper.ask("write it down", session=session)
    elsewhere = await keeper.done("shell/script", script="undo -l", session="new")
    assert "tmp/kept.txt" not in elsewhere["stdout"]
    for last in ("tmp/kept.txt", "tmp/own.txt"):
        undone = await keeper.done("shell/script", script="undo", session=session)
        assert undone["stdout"].endswith(f"file/write of {last} was undone\n"), undone
        assert (await keeper.run("file/stat", path=last)).code == "not_found"


async def test_the_keeper_of_one_person_does_not_change_what_that_of_another_said(keeper: Kept) -> None:
    anna, bob = await kitchen(keeper)
    await told(keeper, anna, run("room/say", name="kitchen", text="anna wants tea", key="tea"))
    (said,) = (await keeper.done("room/messages", name="kitchen"))["items"]
    again = run("room/say", name="kitchen", text="so does bob", key="tea")
    edited = run("room/edit", name="kitchen", message=said["id"], text="anna wants nothing")
    made = await told(keeper, bob, edited, again)
    assert [one["status"] == "done" for one in made] == [False, True]
    made = await told(keeper, anna, run("room/edit", name="kitchen", message=said["id"], text="anna wants cake"))
    assert [one["status"] for one in made] == ["done"]
    items = (await keeper.done("room/messages", name="kitchen"))["items"]
    assert [(one["text"], one["onBehalfOf"]) for one in items] == [("so does bob", "bob"), ("anna wants cake", "anna")]
    printed = (await keeper.done("shell/script", script="messages kitchen"))["stdout"]
    assert "keeper for anna: anna wants cake\n" in printed
    assert "keeper for bob: so does bob\n" in printed


async def test_a_file_that_a_keeper_brought_is_the_persons(keeper: Kept) -> None:
    anna, bob = await kitchen(keeper)
    content = base64.b64encode(b"hello").decode()
    (brought,) = await told(keeper, anna, run("room/attach", name="kitchen", file="n.txt", content=content))
    id = brought["output"].partition('"id": "')[2][:16]
    for token, theirs in ((bob, False), (anna, True)):
        shown, said = await told(
            keeper,
            token,
            call("run_command", command=f"room/attachment --name=kitchen --id={id}"),
            run("room/say", name="kitchen", text="", attachments=[id]),
        )
        assert (shown["status"] == "done", said["status"] == "done") == (theirs, theirs)
