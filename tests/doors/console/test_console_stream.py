"""One stream for a page: the house and the room that it shows, from where it was."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from console_door import Console

from doorward.doors.console import stream as telling
from doorward.doors.rest import event_streams


async def test_a_page_is_told_of_the_house_and_of_its_room(console: Console) -> None:
    browser = await console.owner()
    async with browser.stream("room=general") as stream:
        await stream.until("ready")
        await stream.until("room-ready")
        await browser.run("room/say", name="general", text="Good morning")
        id, message = await stream.until("room-message", text="Good morning")
        assert message["sender"] == "owner"
        assert id.endswith(f"/{message['revision']}")
        await browser.run("room/create", name="lab", recipe="code-collaboration")
        _, event = await stream.until("happened", event="room:changed")
        assert event["data"]["room"] == "lab"


async def test_after_a_restart_a_page_goes_on_where_it_was_and_hears_nothing_twice(
    opened: Any, console_of: Any
) -> None:
    async with opened() as driver, console_of(driver) as console:
        browser = await console.owner()
        secret, proof = browser.secret, browser.csrf
        async with browser.stream("room=general") as stream:
            await stream.until("room-ready")
            await browser.run("room/say", name="general", text="one")
            place, _ = await stream.until("room-message", text="one")
        await browser.run("room/say", name="general", text="two")
    async with opened() as driver, console_of(driver) as console:
        browser = console.browser()
        browser.http.cookies.set("doorward_session", secret)
        browser.csrf = proof
        async with browser.stream("room=general", last=place) as stream:
            _, ready = await stream.until("ready")
            assert ready["missed"] is True
            await stream.until("room-message", text="two")
            assert [data["text"] for name, _, data in stream.seen if name == "room-message"] == ["two"]


async def test_a_room_that_is_not_ones_own_is_said_and_the_house_goes_on(console: Console) -> None:
    browser = await console.owner()
    async with browser.stream("room=nowhere", last="/4") as stream:
        _, error = await stream.until("room-error")
        assert (error["code"], "nowhere" in error["detail"]) == ("not_found", True)
        await browser.run("room/create", name="lab", recipe="code-collaboration")
        id, event = await stream.until("happened", event="room:changed")
        assert id == f"{event['id']}/4"


async def test_whoever_is_taken_out_of_the_room_hears_of_the_house_only(console: Console) -> None:
    driver, browser = console.driver, console.browser()
    services = driver.house.services
    await driver.owner("user/create", id="anna", access="edit")
    await driver.owner("room/join", name="general", member="anna")
    await driver.owner("room/create", name="lab", recipe="code-collaboration")
    await driver.owner("room/join", name="lab", member="anna")
    await browser.login(code=services.browsers.create_link("local", "anna"))
    async with browser.stream("room=general") as stream:
        await stream.until("room-ready")
        await driver.owner("room/say", name="general", text="welcome")
        await stream.until("room-message", text="welcome")
        await driver.owner("room/leave", name="general", member="anna")
        await driver.owner("room/say", name="general", text="among us")
        await stream.until("room-error", code="not_found")
        assert services.presence.present_members("local", "general") == set()
        await driver.owner("room/say", name="lab", text="hello")
        _, event = await stream.until("happened", event="chat:message-received")
        while event["data"]["room"] != "lab":
            stream.seen.clear()
            _, event = await stream.until("happened", event="chat:message-received")
        assert "among us" not in str(stream.seen)


async def test_what_a_page_has_heard_is_what_is_behind_its_place(console: Console) -> None:
    browser = await console.owner()
    services = console.driver.house.services
    async with browser.stream("room=general") as stream:
        await stream.until("room-ready")
        for number in range(3):
            await browser.run("room/say", name="general", text=f"{number}")
        last = services.recent.id(services.recent.number)
        await stream.until("happened", id=last)
    heard = [(name, id.partition("/"), data) for name, id, data in stream.seen if name in ("happened", "room-message")]
    happened = revision = ""
    for name, (house, _, room), data in heard:
        if name == "happened":
            happened = data["id"]
        else:
            revision = str(data["revision"])
        assert (house, room) == (happened or house, revision or room)
    numbers = [int(data["id"].rpartition("-")[2]) for name, _, data in heard if name == "happened"]
    assert numbers == sorted(set(numbers))


async def test_what_happens_is_written_once_however_many_pages_hear_it(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, written = await console.owner(), []
    happened = event_streams.describe_event
    monkeypatch.setattr(event_streams, "describe_event", lambda *given: written.append(given[1]) or happened(*given))
    async with contextlib.AsyncExitStack() as stack:
        pages = [await stack.enter_async_context(browser.stream("room=general")) for _ in range(10)]
        for page in pages:
            await page.until("room-ready")
        await browser.run("room/create", name="lab", recipe="code-collaboration")
        for page in pages:
            await page.until("happened", event="room:changed")
    assert written
    assert len(written) == len(set(written))


async def test_a_page_is_told_that_its_stream_is_alive_and_when_it_reads_too_slowly(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "_MOST_WAITING", 5)
    monkeypatch.setattr(telling, "SILENCE", 0.0)
    monkeypatch.setattr(telling, "_RECHECK", 0.001)
    browser = await console.owner()
    services = console.driver.house.services
    async with browser.stream("room=general") as stream:
        await stream.until("room-ready")
        await stream.until("tick")
        for number in range(20):
            services.live.publish_thinking(services.rooms.require("local", "general"), f"ward{number}", "thinking")
        await stream.until("end")
    assert sum(name == "room-thinking" for name, _, _ in stream.seen) <= 5


async def test_a_place_that_is_none_is_refused(console: Console) -> None:
    browser = await console.owner()
    answer = await browser.http.get("/api/console/stream?since=%3Cb%3E", headers={"Accept": "text/event-stream"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_params")
