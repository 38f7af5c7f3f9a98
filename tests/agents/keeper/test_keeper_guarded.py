"""What must not follow from a plain request: that the keeper, or a record that looks like its answer, gets further than
the people who ask."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from doorward.agents.models.model import AnswerPiece, Prompt
from keeper_house import Kept, run

_SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}}


async def person(keeper: Kept, id: str, access: str = "edit", **more: Any) -> str:
    """A token of a person, who is made when there is none yet."""
    await keeper.run("user/create", id=id, access=access)
    made = await keeper.done("token/create", name=f"of-{id}", user=id, kind="human", access=access, **more)
    return str(made["token"])


async def noted(keeper: Kept, id: str, token: str = "", **data: Any) -> None:
    await keeper.run("collection/define", name="notes", schema=_SCHEMA)
    outcome = await keeper.run("data/create", token=token, collection="notes", id=id, data=data)
    assert outcome.status == "done", outcome


async def test_a_record_that_looks_like_an_answer_of_the_keeper_is_a_record(keeper: Kept) -> None:
    """Showing it broke in the middle of the gate, so that what had begun never got an end in the ledger."""
    await noted(keeper, "like-an-answer", toolCalls=[1], sessionId="x")
    outcome = await keeper.run("data/read", collection="notes", id="like-an-answer")
    assert outcome.result["sessionId"] == "x"


async def test_a_record_that_broke_while_it_was_shown_has_an_end(keeper: Kept) -> None:
    await keeper.run("collection/define", name="notes", schema=_SCHEMA)
    try:
        await keeper.run("data/create", collection="notes", id="ends", data={"toolCalls": [], "sessionId": "x"})
    finally:
        rows = await keeper.records()
        begun = {row["call"] for row in rows if row["phase"] == "start"}
        ended = {row["call"] for row in rows if row["phase"] == "end"}
        assert begun <= ended


async def test_a_token_that_is_revoked_ends_the_work_of_a_keeper_inside_a_script(keeper: Kept) -> None:
    made = await keeper.done("token/create", name="inner", kind="human", access="root")

    async def revoked(prompt: Prompt) -> AsyncGenerator[AnswerPiece, None]:
        await keeper.done("token/revoke", id=made["id"])
        yield run("file/write", path="tmp/after.txt", content="x")

    keeper.says(revoked, "Done.")
    await keeper.run("shell/script", token=made["token"], script="agent/ask --prompt='write it'")
    assert (await keeper.run("file/stat", path="tmp/after.txt")).code == "not_found"


async def test_the_record_names_the_rule_by_which_the_keeper_waits(keeper: Kept) -> None:
    """The recipe of this room asks for no approval at all; the built-in rule does, since it is the keeper."""
    await keeper.run("room/create", name="workshop", recipe="admin")
    await keeper.done("file/write", path="tmp/rule.txt", content="x")
    keeper.says([run("file/delete", path="tmp/rule.txt")])
    await keeper.ask("delete it", room="workshop")
    waits = [row for row in await keeper.records() if row["status"] == "parked" and row["room"] == "workshop"]
    assert [row["rule"].partition(":")[0] for row in waits] == ["built-in"]


async def test_another_person_learns_nothing_of_what_waits_outside_rooms(keeper: Kept) -> None:
    """approval/show says that there is no such approval; the collection and the events say the same."""
    dora = await person(keeper, "dora", "full")
    await keeper.done("file/write", path="tmp/own-matter.txt", content="x")
    keeper.says([run("file/delete", path="tmp/own-matter.txt")])
    ticket = (await keeper.ask("delete it")).result["toolCalls"][0]["ticket"]
    assert (await keeper.run("approval/show", token=dora, id=ticket)).code == "not_found"
    assert "own-matter" not in (await keeper.run("data/list", token=dora, collection="approvals")).text
    assert ticket not in (await keeper.run("event/list", token=dora, only="approval")).text


async def test_only_people_who_answer_for_the_house_choose_what_it_thinks_with(keeper: Kept) -> None:
    """Models cost money, and their keys are the house's own."""
    reader = await person(keeper, "rita", "read")
    asked = await keeper.run("agent/ask", token=reader, prompt="how many rooms do we have", model="openai:gpt-4o")
    assert (asked.code, asked.rule) == ("not_permitted", "settings: keeper.models")
    assert asked.message == ("You may not choose this model for the keeper. Valid: house; given 'openai:gpt-4o'.")
    owner = await keeper.run("agent/ask", prompt="how many rooms do we have", model="openai:gpt-4o")
    assert owner.code != "not_permitted"
