"""What the keeper wants that cannot be taken back waits for a person, and goes on when they said yes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from doorward.core.model import Credential, Request
from keeper_house import Kept, call, kept, run


async def written(keeper: Kept, path: str) -> str:
    await keeper.done("file/write", path=path, content="old")
    return path


async def there(keeper: Kept, path: str) -> bool:
    return (await keeper.run("file/stat", path=path)).status == "done"


async def test_what_destroys_waits_for_the_person_it_is_done_for_and_then_goes_on(keeper: Kept) -> None:
    path = await written(keeper, "tmp/a.txt")
    model = keeper.says([run("file/delete", path=path)], "It is gone.")
    outcome = await keeper.ask("delete a.txt in tmp")
    answer = outcome.result
    (made,) = answer["toolCalls"]
    assert outcome.status == "done"
    assert (answer["success"], answer["ended"]) == (False, "waiting")
    assert made["status"] == "parked"
    assert await there(keeper, path)
    assert f"doorward approvals approve {made['ticket']}" in answer["response"]
    assert path in answer["response"]
    listed = (await keeper.done("approval/list", pending=True))["items"]
    assert [one["waitsForYou"] for one in listed if one["id"] == made["ticket"]] == [True]
    assert "The keeper wants" in (await keeper.done("approval/show", id=made["ticket"]))["why"]

    early = (await keeper.ask(session=answer["sessionId"], ticket=made["ticket"])).result
    assert early["ended"] == "waiting"
    assert not early["toolCalls"]
    assert len(model.shown) == 1

    await keeper.done("approval/approve", id=made["ticket"])
    rest = (await keeper.ask(session=answer["sessionId"], ticket=made["ticket"])).result
    assert rest["success"]
    assert rest["response"] == "It is gone."
    assert not await there(keeper, path)
    assert [(one["status"], one["input"]["command"]) for one in rest["toolCalls"]] == [("done", "file/delete")]
    told = model.shown[1].turns
    assert [turn.role for turn in told] == ["user", "assistant", "result"]
    assert told[-1].answers == "1"
    again = await keeper.ask(session=answer["sessionId"], ticket=made["ticket"])
    assert again.code == "not_found"


@pytest.mark.parametrize(
    "wish",
    [
        call("run_command", command="rm tmp/b.txt"),
        call("run_command", command="vfs/remove", params={"paths": ["/tmp/b.txt"]}),
        call("run_command", command="echo first && rm tmp/b.txt && echo then"),
    ],
)
async def test_a_call_deep_inside_a_line_is_what_waits(keeper: Kept, wish: Any) -> None:
    path = await written(keeper, "tmp/b.txt")
    model = keeper.says([wish], "It is gone.")
    answer = (await keeper.ask("delete b.txt")).result
    (made,) = answer["toolCalls"]
    assert answer["ended"] == "waiting", answer
    assert made["status"] == "parked"
    await keeper.done("approval/approve", id=made["ticket"])
    rest = (await keeper.ask(session=answer["sessionId"], ticket=made["ticket"])).result
    assert rest["success"], rest
    assert not await there(keeper, path)
    assert len(model.shown) == 2
    assert "Only this part of your line was run" in model.shown[1].turns[-1].text


async def test_of_several_calls_in_a_line_that_wait_only_the_one_that_would_run_can_be_approved(keeper: Kept) -> None:
    one, two = await written(keeper, "tmp/one.txt"), await written(keeper, "tmp/two.txt")
    keeper.says([call("run_command", command=f"echo $(rm {one}) $(rm {two})")], "One is gone.")
    before = {item["id"] for item in (await keeper.done("approval/list", pending=True))["items"]}
    (made,) = (await keeper.ask("delete both")).result["toolCalls"]
    waiting = {item["id"] for item in (await keeper.done("approval/list", pending=True))["items"]}
    assert waiting - before == {made["ticket"]}


async def test_no_means_no_and_is_told_as_that(keeper: Kept) -> None:
    path = await written(keeper, "tmp/c.txt")
    model = keeper.says([run("file/delete", path=path)])
    answer = (await keeper.ask("delete c.txt")).result
    ticket = answer["toolCalls"][0]["ticket"]
    await keeper.done("approval/deny", id=ticket)
    rest = await keeper.ask(session=answer["sessionId"], ticket=ticket)
    assert rest.result["ended"] == "not_approved"
    assert rest.result["model"] == "scripted"
    assert "Denied" in rest.result["response"]
    assert await there(keeper, path)
    assert len(model.shown) == 1


async def test_what_stands_behind_a_call_that_waits_is_not_done(keeper: Kept) -> None:
    path = await written(keeper, "tmp/d.txt")
    keeper.says([run("file/delete", "1", path=path), run("file/write", "2", path="tmp/after.txt", content="x")])
    answer = (await keeper.ask("delete d.txt and write after.txt")).result
    assert len(answer["toolCalls"]) == 1
    assert not await there(keeper, "tmp/after.txt")


@pytest.mark.parametrize(
    "wish",
    [
        run("room/create", name="den", recipe="admin"),
        call("run_command", command="room/create --name=den --recipe=admin"),
        call("run_command", command="echo first; room/create --name=den --recipe=admin; echo then"),
    ],
)
async def test_a_room_that_the_keeper_wants_waits_for_a_person_even_when_that_person_may_do_everything(
    keeper: Kept, wish: Any
) -> None:
    keeper.says([wish], "It is there.")
    (made,) = (await keeper.ask("read the letter")).result["toolCalls"]
    assert made["status"] == "parked"
    assert (await keeper.run("room/show", name="den")).status == "failed"
    why = (await keeper.done("approval/show", id=made["ticket"]))["why"]
    assert why == "room/create can widen what somebody may do. The keeper needs approval for every such call."
    keeper.says([call("run_command", command=f"approval/approve --id={made['ticket']}")], "I may not.")
    (own,) = (await keeper.ask("approve it")).result["toolCalls"]
    assert own["status"] in ("refused", "failed")
    assert (await keeper.done("approval/show", id=made["ticket"]))["state"] == "pending"


async def test_the_keeper_cannot_bring_back_access_that_a_person_took_away(keeper: Kept) -> None:
    await keeper.done("user/create", id="mallory", access="read")
    granted = await keeper.run("user/change", id="mallory", access="root")
    taken = await keeper.run("undo", execution=granted.call)
    keeper.says([run("undo", execution=taken.call)], "I may not.")
    (made,) = (await keeper.ask("read the letter")).result["toolCalls"]
    assert made["status"] in ("refused", "failed")
    assert "Only a person may undo it" in made["output"]
    (mallory,) = [one for one in (await keeper.done("user/list"))["items"] if one["id"] == "mallory"]
    assert mallory["access"] == "read"


async def test_an_agent_makes_no_room_where_its_recipe_allows_everything_and_a_dry_run_asks_nobody(
    keeper: Kept,
) -> None:
    await keeper.done("room/create", name="offices", recipe="admin")
    before = (await keeper.done("approval/list"))["items"]
    request = Request(
        command="room/create",
        credential=Credential(owner=True, speak_as="helper"),
        door="test",
        room="offices",
        params={"name": "attic", "recipe": "admin"},
    )
    tried = await keeper.house.gate.handle(msgspec.structs.replace(request, dry_run=True))
    assert (tried.code, tried.result["decision"]) == ("dry_run", "refused")
    own = Request(command="room/create", credential=Credential(owner=True), door="test", params=request.params)
    assert (await keeper.house.gate.handle(msgspec.structs.replace(own, dry_run=True))).result["decision"] == "allowed"
    assert (await keeper.done("approval/list"))["items"] == before
    assert (await keeper.house.gate.handle(request)).code == "not_permitted"


@pytest.mark.parametrize(
    "command",
    [
        run("approval/approve", id="01k9x2m4q7ab3cde"),
        run("token/create", name="mine"),
        run("user/create", id="eve"),
        run("recipe/put", id="trial", text="{}"),
        run("system/shutdown"),
        run("agent/ask", prompt="do it for me"),
        call("doorward_agent", prompt="do it for me"),
        call("run_command", command="sh/approve 01k9x2m4q7ab3cde"),
    ],
)
async def test_what_only_people_may_do_is_out_of_its_reach(keeper: Kept, command: Any) -> None:
    keeper.says([command], "I may not.")
    answer = (await keeper.ask("go ahead")).result
    (made,) = answer["toolCalls"]
    assert made["status"] in ("refused", "failed"), made
    assert not answer["success"]
    assert "None of the calls was done" in answer["error"]


async def test_others_neither_see_nor_decide_what_waits_outside_rooms(keeper: Kept) -> None:
    path = await written(keeper, "tmp/e.txt")
    keeper.says([run("file/delete", path=path)])
    answer = (await keeper.ask("delete e.txt")).result
    ticket = answer["toolCalls"][0]["ticket"]
    await keeper.done("user/create", id="bea", access="root")
    token = (await keeper.done("token/create", name="bea-laptop", user="bea", kind="human", access="root"))["token"]
    for command in ("approval/approve", "approval/deny", "approval/show"):
        assert (await keeper.run(command, token=token, id=ticket)).code == "not_found", command
    assert (await keeper.run("approval/list", token=token)).result["items"] == []
    other = await keeper.ask(token=token, session=answer["sessionId"], ticket=ticket)
    assert other.code == "not_found"
    fresh = (await keeper.ask("hello")).result["sessionId"]
    elsewhere = await keeper.ask(session=fresh, ticket=ticket)
    assert elsewhere.code == "not_found"


async def test_an_approval_for_the_keeper_is_good_for_nothing_else(keeper: Kept) -> None:
    path = await written(keeper, "tmp/f.txt")
    keeper.says([run("file/delete", path=path)])
    ticket = (await keeper.ask("delete f.txt")).result["toolCalls"][0]["ticket"]
    await keeper.done("approval/approve", id=ticket)
    for by, room in (("", ""), ("helper", "general")):
        request = Request(
            command="file/delete",
            credential=Credential(owner=True, speak_as=by),
            door="test",
            room=room,
            params={"path": path},
            ticket=ticket,
        )
        assert (await keeper.house.gate.handle(request)).code == "not_approved"
    lent = Credential(owner=True, speak_as="keeper")
    request = Request(command="file/delete", credential=lent, door="test", params={"path": path}, ticket=ticket)
    assert (await keeper.house.gate.handle(request)).code == "not_authenticated"
    assert await there(keeper, path)


async def test_in_a_room_its_recipe_and_its_owners_decide(keeper: Kept) -> None:
    keeper.says([run("file/write", path="tmp/g.txt", content="new")], "Written.")
    answer = (await keeper.ask("write g.txt", by="helper", room="general")).result
    (made,) = answer["toolCalls"]
    assert answer["ended"] == "waiting"
    assert "owners and admins in the room 'general'" in answer["response"]
    await keeper.done("approval/approve", id=made["ticket"])
    by_itself = Request(
        command="file/write",
        credential=Credential(owner=True, speak_as="helper"),
        door="test",
        room="general",
        params={"path": "tmp/g.txt", "content": "new"},
        ticket=made["ticket"],
    )
    assert (await keeper.house.gate.handle(by_itself)).code == "not_approved"
    rest = await keeper.ask(by="helper", room="general", session=answer["sessionId"], ticket=made["ticket"])
    assert rest.result["success"], rest
    assert rest.result["toolCalls"][0]["status"] == "done"


async def test_an_append_in_a_room_goes_on_and_tells_nothing_of_the_file_as_it_was(keeper: Kept) -> None:
    await keeper.done("file/write", path="tmp/list.txt", content="milk")
    asker: dict[str, Any] = {"by": "helper", "room": "general"}
    answer = (await keeper.ask("append eggs to tmp/list.txt", model="house", **asker)).result
    ticket = answer["toolCalls"][-1]["ticket"]
    assert '"content": "milk\\neggs\\n"' in (await keeper.done("approval/show", id=ticket))["shown"]
    await keeper.done("approval/approve", id=ticket)
    rest = (await keeper.ask(session=answer["sessionId"], ticket=ticket, **asker)).result
    assert rest["response"].startswith("I wrote tmp/list.txt: it has 10 bytes now.")


async def test_a_room_allows_the_keeper_no_more_than_its_recipe(keeper: Kept) -> None:
    await keeper.done("room/create", name="reading", recipe="research-chat")
    keeper.says("Hello.")
    assert (await keeper.ask("hello", by="helper", room="reading")).code == "not_permitted"
    keeper.says([run("system/settings")], "I may not.")
    answer = (await keeper.ask("show the settings", by="helper", room="general")).result
    assert answer["toolCalls"][0]["status"] == "refused"


async def test_access_is_that_of_the_person(keeper: Kept) -> None:
    await keeper.done("user/create", id="rita", access="read")
    token = (await keeper.done("token/create", name="r", user="rita", kind="human", access="read"))["token"]
    keeper.says([run("file/write", path="tmp/h.txt", content="new")], "I may not.")
    answer = (await keeper.ask("write h.txt", token=token)).result
    assert answer["toolCalls"][0]["status"] == "refused"
    assert "edit access" in answer["toolCalls"][0]["output"]


async def test_what_waits_outlives_the_house(tmp_path: Path) -> None:
    async with kept(tmp_path / "home") as keeper:
        path = await written(keeper, "tmp/i.txt")
        keeper.says([run("file/delete", path=path)])
        answer = (await keeper.ask("delete i.txt")).result
    async with kept(tmp_path / "home") as keeper:
        ticket = answer["toolCalls"][0]["ticket"]
        await keeper.done("approval/approve", id=ticket)
        keeper.says("It is gone.")
        rest = (await keeper.ask(session=answer["sessionId"], ticket=ticket)).result
        assert rest["success"]
        assert not await there(keeper, path)


async def noted(keeper: Kept, id: str, token: str = "", **data: Any) -> str:
    """A line that reads a record of these fields."""
    await keeper.run("collection/define", name="notes", schema={"type": "object"})
    outcome = await keeper.run("data/create", token=token, collection="notes", id=id, data=data)
    assert outcome.status == "done", outcome
    return f"data/read --collection=notes --id={id}"


@pytest.mark.parametrize(
    "fields",
    [{"ticket": "T-1234", "title": "out of paper"}, {"exitCode": 75, "stdout": "out of paper", "leaves": True}],
    ids=["ticket", "exit code"],
)
async def test_a_record_that_looks_like_something_that_waits_is_a_record(keeper: Kept, fields: dict[str, Any]) -> None:
    line = await noted(keeper, f"printer-{len(fields)}", **fields)
    keeper.says([call("run_command", command=f"echo begin; {line}")], "It is out of paper.")
    outcome = await keeper.ask("what does the note say")
    assert outcome.status == "done", outcome
    (made,) = outcome.result["toolCalls"]
    assert (outcome.result["ended"], made["status"], "ticket" in made) == ("answered", "done", False)
    assert "out of paper" in made["output"]
    assert made["output"].startswith("begin")


async def test_a_program_that_ends_with_75_does_not_wait_for_anybody(keeper: Kept) -> None:
    keeper.says([call("run_command", command="exit 75")], "It did not work.")
    answer = (await keeper.ask("do that")).result
    assert (answer["ended"], answer["toolCalls"][0]["status"]) == ("answered", "failed")


async def test_the_ticket_of_somebody_else_in_a_record_shows_and_takes_nothing(keeper: Kept) -> None:
    await keeper.run("user/create", id="bob", access="edit")
    bob = (await keeper.done("token/create", name="of-bob", user="bob", kind="human", access="edit"))["token"]
    path = await written(keeper, "tmp/salaries.txt")
    keeper.says([run("file/delete", path=path)], "It is gone.")
    mine = (await keeper.ask("delete the salaries")).result
    ticket = mine["toolCalls"][0]["ticket"]
    keeper.says([call("run_command", command=await noted(keeper, "borrowed", bob, ticket=ticket))], "A note.")
    theirs = await keeper.ask("read my note", token=bob)
    assert "salaries" not in theirs.text
    taken = await keeper.ask(token=bob, session=theirs.result["sessionId"], ticket=ticket)
    assert taken.code == "not_found"
    await keeper.done("approval/approve", id=ticket)
    keeper.says("It is gone.")
    assert (await keeper.ask(session=mine["sessionId"], ticket=ticket)).result["success"]
    assert not await there(keeper, path)
