"""One stream for a page: the house and the room that it shows, from where it was."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from console_door import Console

from doorward.doors.console.telling import told
from doorward.doors.rest.sse import framed
from doorward.errors import NotFound


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


async def test_a_room_that_is_not_ones_own_is_said_and_the_house_goes_on() -> None:
    async def house() -> AsyncGenerator[bytes, None]:
        yield framed("ready", {"missed": False}, "p-1")
        yield framed("approval:requested", {"event": "approval:requested"}, "p-2")

    async def room() -> AsyncGenerator[bytes, None]:
        raise NotFound("There is no room 'x' that you are a member of.")
        yield b""

    pieces = b"".join([piece async for piece in told({"": house(), "room-": room()}, "", "4")]).decode()
    assert "event: room-error\n" in pieces
    assert "event: happened\nid: p-2/4\n" in pieces


async def test_a_place_that_is_none_is_refused(console: Console) -> None:
    browser = await console.owner()
    answer = await browser.http.get("/api/console/stream?since=%3Cb%3E", headers={"Accept": "text/event-stream"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_params")
