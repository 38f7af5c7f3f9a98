"""`approve` and `deny` as a person's whole message decide about what waits in the room (R4.3)."""

from __future__ import annotations


async def waiting(driver, path="a.txt"):
    parked = await driver.ask("file/write", params={"path": path, "content": "x"})
    assert parked.status == "parked"
    return parked.ticket


async def say(driver, text, **more):
    given = {"by": "", "room": "", **more}
    return (await driver.ask("room/say", params={"name": "general", "text": text}, **given)).result


async def test_a_word_decides_about_the_one_that_waits_and_is_recorded_as_that_persons(driver):
    ticket = await waiting(driver)
    await driver.owner("approval/show", id=ticket)
    said = await say(driver, "approve")
    assert said["decided"] == {"approval": ticket, "verdict": "approve", "state": "approved", "command": "file/write"}
    assert (await driver.ask("file/write", ticket=ticket)).status == "done"
    decided = [one for one in await driver.ledger() if one["command"] == "approval/approve"]
    assert {one["caller"] for one in decided} == {"owner"}
    assert [one["text"] for one in (await driver.owner("room/messages", name="general")).result["items"]] == ["approve"]


async def test_with_several_waiting_only_the_one_that_is_named_is_decided(driver):
    first, second = await waiting(driver), await waiting(driver, "b.txt")
    unsure = await say(driver, "deny")
    assert "decided" not in unsure
    assert (first in unsure["note"], second in unsure["note"]) == (True, True)
    assert (await say(driver, f"deny {second}"))["decided"]["state"] == "denied"
    assert (await driver.owner("approval/show", id=first)).result["state"] == "pending"


async def test_other_words_other_rooms_and_agents_decide_nothing(driver):
    ticket = await waiting(driver)
    await driver.owner("room/create", name="den", recipe="admin")
    for text in ("I disapprove", "approve please", f"approve {ticket[:-1]}"):
        assert "decided" not in await say(driver, text)
    elsewhere = await driver.owner("room/say", name="den", text=f"approve {ticket}")
    agent = await driver.ask("room/say", room="den", params={"text": f"approve {ticket}"})
    assert "decided" not in elsewhere.result
    assert agent.result.keys() == {"message", "room", "revision"}
    assert (await driver.owner("approval/show", id=ticket)).result["state"] == "pending"


async def test_who_may_not_decide_is_told_so_and_has_spoken_all_the_same(driver):
    ticket = await waiting(driver)
    await driver.owner("user/create", id="anna", access="full")
    await driver.owner("room/join", name="general", member="anna")
    token = await driver.token("anna-laptop", user="anna", kind="human", access="full")
    said = await say(driver, "approve", token=token)
    assert "You may not decide in room 'general'" in said["note"]
    driver.clock.advance(60)
    late = await say(driver, f"approve {ticket}")
    assert "No approval" in late["note"]
    assert len((await driver.owner("room/messages", name="general")).result["items"]) == 2


async def test_what_is_nearly_a_word_of_decision_is_answered_with_how_it_is_said(driver):
    assert "note" not in await say(driver, "Deny.")
    ticket = await waiting(driver)
    for text in ("APPROVE!", "approve nonsense1234567"):
        said = await say(driver, text)
        assert ("decided" in said, ticket in said["note"]) == (False, True)
    assert "note" not in await say(driver, "I disapprove")


async def test_a_bare_word_does_not_decide_about_a_call_that_took_the_place_of_another(driver):
    """The first one expires while the person reads it, and another is pending when the word arrives."""
    first = await waiting(driver)
    await driver.owner("approval/show", id=first)
    driver.clock.advance(31)
    second = await waiting(driver, "b.txt")
    await driver.owner("approval/show", id=second)
    said = await say(driver, "approve")
    assert ("decided" in said, second in said["note"]) == (False, True)
    assert "another approval was pending" in said["note"]
    assert (await driver.owner("approval/show", id=second)).result["state"] == "pending"
    assert (await say(driver, "approve"))["decided"]["approval"] == second


async def test_a_bare_word_does_not_decide_about_a_call_that_was_not_shown(driver):
    ticket = await waiting(driver)
    said = await say(driver, "approve")
    assert ("decided" in said, ticket in said["note"]) == (False, True)
    assert (await driver.owner("approval/show", id=ticket)).result["state"] == "pending"
    assert (await say(driver, f"approve {ticket}"))["decided"]["state"] == "approved"
