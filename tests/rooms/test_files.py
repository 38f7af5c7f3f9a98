"""Files are what their bytes say, and bear names that hide nothing."""

from __future__ import annotations

import base64

import pytest

from doorward.config.settings import RoomSettings, Settings
from doorward.rooms.attachments import detect_media_type

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVE", "application/octet-stream"),
        (b"%PDF-1.7", "application/pdf"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "text/plain"),
        (b"<html><script>alert(1)</script>", "text/plain"),
        ("grüße".encode(), "text/plain"),
        (b"MZ\x00\x01", "application/octet-stream"),
        (b"\xfe\xff", "application/octet-stream"),
    ],
)
def test_a_file_is_what_its_bytes_say(content, kind):
    assert detect_media_type(content) == kind


async def brought(driver, content=PNG, file="a.png", **more):
    params = {"name": "general", "file": file, "content": base64.b64encode(content).decode()}
    return await driver.ask("room/attach", by="", room="", params=params, **more)


async def test_a_file_comes_with_one_message_of_whoever_brought_it(driver):
    file = (await brought(driver, file="C:\\pics\\..\\a\u202egnp.png")).result
    assert (file["name"], file["mediaType"], file["size"]) == ("a\\u202egnp.png", "image/png", len(PNG))
    await driver.owner("user/create", id="anna", access="edit")
    await driver.owner("room/join", name="general", member="anna")
    anna = await driver.token("anna-laptop", user="anna", kind="human", access="edit")
    say = {"name": "general", "text": "look", "attachments": [file["id"]]}
    stolen = await driver.ask("room/say", token=anna, room="", params=say)
    unseen = await driver.ask("room/attachment", token=anna, room="", params={"name": "general", "id": file["id"]})
    await driver.owner("room/say", **say)
    twice = await driver.ask("room/say", by="", room="", params=say)
    seen = await driver.ask(
        "room/attachment", token=anna, room="", params={"name": "general", "id": file["id"], "offset": 1, "length": 3}
    )
    assert [stolen.code, unseen.code, twice.code] == ["not_found", "not_found", "not_found"]
    assert base64.b64decode(seen.result["content"]) == b"PNG"


async def test_a_file_of_a_message_that_was_taken_back_is_left_to_those_who_look_after_the_room(driver):
    file = (await brought(driver)).result["id"]
    said = await driver.owner("room/say", name="general", text="look", attachments=[file])
    await driver.owner("user/create", id="anna", access="edit")
    await driver.owner("room/join", name="general", member="anna")
    anna = await driver.token("anna-laptop", user="anna", kind="human", access="edit")
    await driver.owner("room/delete", name="general", message=said.result["message"])
    asked = {"name": "general", "id": file}
    hidden = await driver.ask("room/attachment", token=anna, room="", params=asked)
    shown = await driver.ask("room/attachment", by="", room="", params=asked)
    assert (hidden.code, shown.code) == ("not_found", "ok")


async def test_too_large_too_many_and_no_files_are_refused(opened):
    async with opened(
        changes=Settings(rooms=RoomSettings(attachment_bytes=30, attachments=2, loose_attachments=3))
    ) as driver:
        large = await brought(driver, bytes(31))
        garbage = await driver.ask(
            "room/attach", by="", room="", params={"name": "general", "file": "a", "content": "not base64!"}
        )
        ids = [(await brought(driver)).result["id"] for _ in range(3)]
        fourth = await brought(driver)
        many = await driver.ask("room/say", by="", room="", params={"name": "general", "text": "x", "attachments": ids})
        assert [large.code, garbage.code, fourth.code, many.code] == ["bad_params"] * 2 + ["conflict", "bad_params"]
        assert "between 1 and 30 bytes; given 31" in large.message
        driver.clock.advance(25 * 3_600)
        await driver.house.services.store.write(*driver.house.services.files.cleanup_statements())
        assert (await brought(driver)).code == "ok"


async def test_the_bytes_of_a_file_are_in_no_record(driver):
    secret = b"the bytes of a file" * 200
    await brought(driver, secret)
    assert base64.b64encode(secret).decode() not in str(await driver.ledger())
