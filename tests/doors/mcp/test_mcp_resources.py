"""Resources: read through the gate, with the rights and the record of the command that reads them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from mcp_house import McpHouse
from mcp_web import Web


@pytest.fixture
def folder(house: McpHouse) -> Any:
    path = house.home.path / "workspace"
    (path / "notes").mkdir(parents=True, exist_ok=True)
    (path / "notes" / "to day.md").write_text("# Today\nnothing\n")
    (path / "logo.png").write_bytes(b"\x89PNG\x00\xff")
    (path / "blob").write_bytes(b"\x00\x01\xff")
    (path / "data.json").write_text('{"a": 1}')
    return path


async def read(web: Web, uri: str) -> dict[str, Any]:
    (contents,) = (await web.ask("resources/read", {"uri": uri})).result["contents"]
    assert contents["uri"] == uri
    return dict(contents)


async def test_what_can_be_read_is_listed(web: Web):
    listed = (await web.ask("resources/list")).result["resources"]
    assert [one["uri"] for one in listed] == [
        "doorward://files/",
        "doorward://ledger",
        "doorward://rooms/workshop/messages",
    ]
    assert all(one["name"] and one["description"] for one in listed)
    templates = (await web.ask("resources/templates/list")).result["resourceTemplates"]
    assert [one["uriTemplate"] for one in templates] == [
        "doorward://files/{+path}",
        "doorward://rooms/{room}/messages",
    ]


async def test_a_folder_shows_the_address_of_what_it_holds(web: Web, folder: Any):
    found = {item["path"]: item for item in json.loads((await read(web, "doorward://files/"))["text"])}
    assert found["notes"]["uri"] == "doorward://files/notes/"
    assert found["logo.png"]["uri"] == "doorward://files/logo.png"
    (inside,) = json.loads((await read(web, "doorward://files/notes/"))["text"])
    assert inside["uri"] == "doorward://files/notes/to%20day.md"
    assert (await read(web, inside["uri"]))["text"] == "# Today\nnothing\n"


async def test_a_file_is_text_or_bytes_as_it_is(web: Web, folder: Any):
    assert (await read(web, "doorward://files/data.json"))["mimeType"] == "application/json"
    for name, kind in (("logo.png", "image/png"), ("blob", "application/octet-stream")):
        contents = await read(web, f"doorward://files/{name}")
        assert contents["mimeType"] == kind
        assert base64.b64decode(contents["blob"]) == (folder / name).read_bytes()


async def test_reading_a_file_is_a_recorded_call_of_file_read(house: McpHouse, folder: Any):
    web = await house.web("reader")
    await read(web, "doorward://files/data.json")
    *_, row = await house.ledger("file/read")
    assert (row["caller"], row["door"], row["room"]) == ("reader", "mcp", "workshop")
    assert json.loads(row["params"])["path"] == "data.json"


async def test_the_messages_of_the_room(house: McpHouse, web: Web):
    await house.owner("room/say", text="Good morning", name="workshop")
    messages = json.loads((await read(web, "doorward://rooms/workshop/messages"))["text"])
    assert messages[0]["text"] == "Good morning"


async def test_the_ledger_shows_the_callers_own_entries_and_no_others(house: McpHouse):
    mine, other = await house.web("mine"), await house.web("other")
    await mine.call("probe_echo", text="my secret words")
    await other.call("probe_echo", text="their words")
    entries = json.loads((await read(mine, "doorward://ledger"))["text"])
    assert {entry["caller"] for entry in entries} == {"mine"}
    assert entries[0]["command"] == "probe/echo"
    assert "their words" not in json.dumps(entries)


@pytest.mark.parametrize(
    "uri",
    [
        "doorward://files/nothing.txt",
        "doorward://nowhere",
        "doorward://rooms/nowhere/messages",
        "file:///etc/passwd",
        "test://x",
        "doorward://files/%ff",
        "doorward://rooms/../messages",
    ],
)
async def test_what_is_not_there_is_an_error_in_the_way_of_each_era(web: Web, uri: str):
    answer = await web.ask("resources/read", {"uri": uri})
    assert (answer.status, answer.error["code"]) == (400, -32602)
    assert answer.error["data"]["uri"] == uri
    await web.initialize()
    assert (await web.request("resources/read", {"uri": uri})).error["code"] == -32002


@pytest.mark.parametrize("path", ["../secret.key", "%2e%2e/secret.key", "/etc/passwd", "notes/../../secret.key"])
async def test_no_address_leads_out_of_the_workspace(house: McpHouse, web: Web, path: str):
    answer = await web.ask("resources/read", {"uri": f"doorward://files/{path}"})
    assert answer.error["code"] == -32602
    assert (house.home.path / "secret.key").exists()


async def test_what_may_not_be_read_is_not_listed_and_says_why(house: McpHouse):
    await house.owner("room/create", name="mute", recipe="casual-chat")
    web = await house.web(room="mute")
    assert (await web.ask("resources/list")).result["resources"] == []
    assert (await web.ask("resources/templates/list")).result["resourceTemplates"] == []
    answer = await web.ask("resources/read", {"uri": "doorward://files/data.json"})
    assert answer.error["code"] == 403
    assert answer.error["data"]["code"] == "not_permitted"
    await web.initialize()
    subscribed = await web.request("resources/subscribe", {"uri": "doorward://ledger"})
    assert subscribed.error["data"]["code"] == "not_permitted"


async def test_a_resource_without_an_address_is_refused(web: Web):
    for uri in (5, None, ""):
        body, headers = web.stateless("resources/read", {"uri": uri})
        assert (await web.whole(web.raw(body, headers | {"mcp-name": "x"}))).status == 400


async def test_paths_and_rooms_are_completed(web: Web, folder: Any):
    async def values(template: str, argument: str, typed: str) -> list[str]:
        ref = {"type": "ref/resource", "uri": template}
        answer = await web.ask("completion/complete", {"ref": ref, "argument": {"name": argument, "value": typed}})
        return list(answer.result["completion"]["values"])

    assert await values("doorward://files/{+path}", "path", "no") == ["notes/"]
    assert await values("doorward://files/{+path}", "path", "notes/t") == ["notes/to day.md"]
    assert await values("doorward://files/{+path}", "path", "nothing/x") == []
    assert await values("doorward://rooms/{room}/messages", "room", "work") == ["workshop"]
