"""Talking in a room: messages in order, edited and taken back with a trace, found again, marked as read (R2.1)."""

from __future__ import annotations

import asyncio

import pytest


@pytest.fixture
async def anna(driver):
    """A member without any office in `general`, and how she asks."""
    await driver.owner("user/create", id="anna", access="read")
    await driver.owner("room/join", name="general", member="anna")
    token = await driver.token("anna-laptop", user="anna", kind="human", access="read")

    async def ask(command, **params):
        return await driver.ask(command, token=token, room="", params=params)

    return ask


async def said(driver, text, **more):
    outcome = await driver.owner("room/say", name="general", text=text, **more)
    return outcome.result["message"]


async def texts(driver, **params):
    return [one["text"] for one in (await driver.owner("room/messages", name="general", **params)).result["items"]]


async def test_messages_said_at_once_have_each_their_revision_and_stand_in_its_order(driver):
    outcomes = await asyncio.gather(
        *(driver.ask("room/say", by="", room="", params={"name": "general", "text": f"{n}"}) for n in range(10))
    )
    page = (await driver.owner("room/messages", name="general")).result
    assert sorted(one.result["revision"] for one in outcomes if one.result) == list(range(1, len(page["items"]) + 1))
    assert [one["position"] for one in page["items"]] == sorted(
        (one["position"] for one in page["items"]), reverse=True
    )


async def test_revisions_go_on_after_a_restart(opened):
    async with opened() as driver:
        first = await driver.owner("room/say", name="general", text="one")
        await driver.owner("room/edit", name="general", message=first.result["message"], text="uno")
    async with opened() as driver:
        second = await driver.owner("room/say", name="general", text="two")
    assert (first.result["revision"], second.result["revision"]) == (1, 3)


async def test_history_is_read_in_pages_backward_forward_and_around_a_message(driver):
    ids = [await said(driver, f"{n}") for n in range(7)]
    newest = (await driver.owner("room/messages", name="general", limit=3)).result
    assert ([one["text"] for one in newest["items"]], newest["newer"]) == (["6", "5", "4"], None)
    older = (await driver.owner("room/messages", name="general", limit=3, before=newest["next"])).result
    assert [one["text"] for one in older["items"]] == ["3", "2", "1"]
    last = (await driver.owner("room/messages", name="general", limit=3, before=older["next"])).result
    assert ([one["text"] for one in last["items"]], last["next"]) == (["0"], None)
    newer = (await driver.owner("room/messages", name="general", limit=4, after=last["newer"])).result
    assert [one["text"] for one in newer["items"]] == ["4", "3", "2", "1"]
    assert await texts(driver, limit=3, after=newer["newer"]) == ["6", "5"]
    around = (await driver.owner("room/messages", name="general", limit=4, around=ids[3])).result
    assert [one["text"] for one in around["items"]] == ["5", "4", "3", "2"]
    assert (around["next"], around["newer"]) == (ids[2], ids[5])
    both = await driver.ask(
        "room/messages", by="", room="", params={"name": "general", "before": ids[1], "after": ids[0]}
    )
    unknown = await driver.ask("room/messages", by="", room="", params={"name": "general", "before": "nosuch"})
    assert (both.code, unknown.code) == ("bad_params", "not_found")


async def test_an_edit_leaves_its_trace_to_the_sender_and_those_who_look_after_the_room(driver, anna):
    mine = (await anna("room/say", name="general", text="Good morning")).result["message"]
    await anna("room/edit", name="general", message=mine, text="Good evening")
    seen = (await driver.owner("room/message", name="general", message=mine)).result
    assert (seen["message"]["text"], seen["earlier"][0]["text"]) == ("Good evening", "Good morning")
    assert (seen["earlier"][0]["change"], seen["earlier"][0]["by"]) == ("edited", "anna")
    owners = await said(driver, "secret plan")
    await driver.owner("room/edit", name="general", message=owners, text="plan")
    assert "earlier" not in (await anna("room/message", name="general", message=owners)).result


async def test_only_whoever_said_it_edits_and_owners_take_back_anything(driver, anna):
    owners = await said(driver, "mine")
    mine = (await anna("room/say", name="general", text="hers")).result["message"]
    edited = await driver.ask("room/edit", by="", room="", params={"name": "general", "message": mine, "text": "x"})
    taken = await anna("room/delete", name="general", message=owners)
    assert (edited.code, taken.code) == ("not_permitted", "not_permitted")
    gone = (await driver.owner("room/delete", name="general", message=mine)).result
    assert (gone["text"], gone["deletedBy"], gone["position"]) == ("", "owner", 2)
    again = await anna("room/edit", name="general", message=mine, text="x")
    assert (again.code, await texts(driver)) == ("conflict", ["", "mine"])


async def test_an_edit_and_a_deletion_can_be_undone_unless_something_changed_since(driver):
    id = await said(driver, "first")
    edited = await driver.owner("room/edit", name="general", message=id, text="second")
    undone = await driver.owner("undo", execution=edited.call)
    assert await texts(driver) == ["first"]
    await driver.owner("undo", execution=undone.call)
    deleted = await driver.owner("room/delete", name="general", message=id)
    await driver.owner("undo", execution=deleted.call)
    assert await texts(driver) == ["second"]
    blocked = await driver.ask("undo", by="", room="", params={"execution": deleted.call})
    last = await driver.owner("room/edit", name="general", message=id, text="third")
    await driver.owner("room/edit", name="general", message=id, text="fourth")
    late = await driver.ask("undo", by="", room="", params={"execution": last.call})
    assert ([blocked.code, late.code], await texts(driver)) == (["conflict", "conflict"], ["fourth"])


async def test_words_find_messages_of_ones_own_rooms_as_they_are_now(driver, anna):
    first = await said(driver, 'The PUMP\'s pressure is "high" (café)')
    second = await said(driver, "pump again")
    await driver.owner("room/create", name="den", recipe="support")
    await driver.owner("room/say", name="den", text="pump in private")

    async def found(words, **more):
        return [one["text"] for one in (await anna("room/search", words=words, **more)).result["items"]]

    assert await found("pump") == ["pump again", 'The PUMP\'s pressure is "high" (café)']
    assert len(await found("press pum")) == 0
    assert len(await found("pump press")) == len(await found('"high"')) == len(await found("cafe")) == 1
    assert len(await found("pump & press")) == 1
    assert await found("NOT OR * ( : ^ -") == await found("...") == await found("\x00") == []
    page = (await anna("room/search", words="pump", limit=1)).result
    assert await found("pump", before=page["next"]) == ['The PUMP\'s pressure is "high" (café)']
    await driver.owner("room/edit", name="general", message=second, text="valve again")
    await driver.owner("room/delete", name="general", message=first)
    assert (await found("pump"), await found("valve")) == ([], ["valve again"])
    hidden = await anna("room/search", words="pump", name="den")
    assert hidden.code == "not_found"


async def test_what_others_said_is_unread_up_to_the_mark(driver, anna):
    for n in range(3):
        await said(driver, f"{n}")
    await anna("room/say", name="general", text="mine")
    assert (await anna("room/show", name="general")).result["unread"] == 3
    marked = (await anna("room/mark", name="general", position=2)).result
    listed = (await anna("room/list")).result["items"][0]
    assert (marked["unread"], listed["unread"], listed["read"]) == (1, 1, 2)
    assert (await anna("room/mark", name="general")).result["unread"] == 0
    beyond = await anna("room/mark", name="general", position=99)
    assert beyond.code == "bad_params"


async def test_a_message_is_kept_as_it_is_however_odd_and_refused_when_it_is_far_too_long(driver):
    odd = "\u202eevil\x00\x1b[31m<script>alert(1)</script> [x](javascript:1)\r\n\u2066"
    id = await said(driver, odd)
    assert (await driver.owner("room/message", name="general", message=id)).result["message"]["text"] == odd
    long = await driver.ask("room/say", by="", room="", params={"name": "general", "text": "x" * 1_000_000})
    empty = await driver.ask("room/say", by="", room="", params={"name": "general", "text": " \n"})
    assert (long.code, empty.code) == ("bad_params", "bad_params")
    assert "100000" in long.message


async def test_an_answer_names_a_message_of_the_same_room(driver):
    id = await said(driver, "question")
    await said(driver, "answer", replyTo=id)
    assert (await driver.owner("room/messages", name="general")).result["items"][0]["replyTo"] == id
    await driver.owner("room/create", name="den", recipe="support")
    other = await driver.ask("room/say", by="", room="", params={"name": "den", "text": "x", "replyTo": id})
    assert other.code == "not_found"


async def test_an_archived_room_is_readable_only_until_it_is_opened_again(driver):
    id = await said(driver, "old")
    await driver.owner("room/archive", name="general")
    attempts = [
        await driver.ask(command, by="", room="", params={"name": "general", **params})
        for command, params in (
            ("room/say", {"text": "new"}),
            ("room/edit", {"message": id, "text": "new"}),
            ("room/delete", {"message": id}),
            ("room/attach", {"file": "a", "content": "YQ=="}),
        )
    ]
    assert ({one.code for one in attempts}, await texts(driver)) == ({"not_permitted"}, ["old"])
    await driver.owner("room/reopen", name="general")
    await said(driver, "new")
    assert await texts(driver) == ["new", "old"]


async def test_a_stranger_learns_nothing_of_a_room(driver):
    id = await said(driver, "inside")
    await driver.owner("user/create", id="stranger", access="edit")
    token = await driver.token("s", user="stranger", kind="human", access="edit")
    for command, params in (
        ("room/show", {}),
        ("room/messages", {}),
        ("room/message", {"message": id}),
        ("room/wait", {"after": 0, "seconds": 0}),
        ("room/mark", {}),
        ("room/who", {}),
        ("room/search", {"words": "inside"}),
        ("room/attachment", {"id": id}),
    ):
        outcome = await driver.ask(command, token=token, room="", params={"name": "general", **params})
        assert (outcome.code, "inside" in outcome.text) == ("not_found", False), command
    assert (await driver.ask("room/search", token=token, room="", params={"words": "inside"})).result["items"] == []


async def test_messages_are_events_with_what_changed_of_them(driver):
    heard = []
    driver.house.services.events.subscribe(lambda event: heard.append((event.name, getattr(event, "change", ""))))
    id = await said(driver, "one")
    await driver.owner("room/edit", name="general", message=id, text="two")
    await driver.owner("room/delete", name="general", message=id)
    await driver.owner("room/change", name="general", topic="Everything")
    told = [one for one in heard if one[0].startswith(("chat", "room"))]
    assert told == [
        ("chat:message-received", ""),
        ("chat:message-changed", "edited"),
        ("chat:message-changed", "deleted"),
        ("room:changed", ""),
    ]


async def test_a_message_sent_again_with_its_key_is_there_once_also_after_a_restart(opened):
    async with opened() as driver:
        first = await driver.owner("room/say", name="general", text="hello", key="k1")
        at_once = await asyncio.gather(
            *(
                driver.ask("room/say", by="", room="", params={"name": "general", "text": "two", "key": "k2"})
                for _ in "ab"
            )
        )
        await driver.owner("room/edit", name="general", message=first.result["message"], text="hello all")
    async with opened() as driver:
        again = await driver.owner("room/say", name="general", text="hello", key="k1")
        other = await driver.ask("room/say", by="", room="", params={"name": "general", "text": "2", "key": "k2"})
        await driver.owner("room/say", name="general", text="no key")
        await driver.owner("room/say", name="general", text="no key")
        assert await texts(driver) == ["no key", "no key", "two", "hello all"]
    assert again.result == first.result
    assert at_once[0].result == at_once[1].result
    assert (other.code, "Use a new key" in other.message) == ("conflict", True)


async def test_a_word_sent_again_with_its_key_decides_nothing_again(driver):
    async def waiting(path):
        ticket = (await driver.ask("file/write", params={"path": path, "content": "x"})).ticket
        await driver.owner("approval/show", id=ticket)
        return ticket

    await waiting("a.txt")
    said = await driver.owner("room/say", name="general", text="approve", key="k")
    later = await waiting("b.txt")
    again = await driver.owner("room/say", name="general", text="approve", key="k")
    assert (said.result["decided"]["state"], "decided" in again.result) == ("approved", False)
    assert "already sent" in again.result["note"]
    assert (await driver.owner("approval/show", id=later)).result["state"] == "pending"
