"""Who may come in: a token in the header, and nothing else; and how clients learn that."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import jwt
import pytest
from mcp_house import McpHouse
from mcp_web import Web

from doorward.config.settings import McpSettings, ServerSettings, Settings

KNOWN = "http://127.0.0.1:8642/.well-known/oauth-protected-resource/mcp/workshop"


async def refused(web: Web, **headers: str) -> None:
    """Every kind of request is refused, in both eras."""
    body, stateless = web.stateless("tools/call", {"name": "probe_number"})
    old = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
    for text, more, method in (
        (body, stateless, "POST"),
        (web.stateless("tools/list")[0], {**stateless, "mcp-method": "tools/list"}, "POST"),
        (web.stateless("nothing")[0], {**stateless, "mcp-method": "nothing"}, "POST"),
        (json.dumps(old).encode(), web.headers(), "POST"),
        (b'{"jsonrpc":"2.0","method":"notifications/x"}', web.headers(), "POST"),
        (b"", web.headers(mcp_session_id="x"), "GET"),
        (b"", web.headers(mcp_session_id="x"), "DELETE"),
    ):
        answer = await web.whole(web.raw(text, {**more, **headers}, method=method))
        assert answer.status == 401, (answer.status, text)
        assert f'resource_metadata="{KNOWN}"' in answer.headers["www-authenticate"]
        assert answer.error["data"]["code"] == "not_authenticated"


async def test_without_a_token_nothing_is_answered(house: McpHouse):
    await refused(Web(house.server.public, path="/mcp/workshop"))


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Basic b3duZXI6", "Bearer garbage", "bearer a.b.c", "token x"])
async def test_a_header_that_is_no_token_is_refused(house: McpHouse, header: str):
    await refused(Web(house.server.public, path="/mcp/workshop"), authorization=header)


def forged(house: McpHouse, token: str, **changes: Any) -> str:
    """A token like this one, signed with the house's own key but saying something else."""
    claims = jwt.decode(token, options={"verify_signature": False})
    return jwt.encode({**claims, **changes}, house.home.load_key(), algorithm="HS256")


async def test_a_token_for_somebody_else_or_by_nobody_is_refused(house: McpHouse):
    token = await house.token()
    claims = jwt.decode(token, options={"verify_signature": False})
    for wrong in (
        forged(house, token, aud="another"),
        forged(house, token, iss="another"),
        forged(house, token, jti="unknown"),
        jwt.encode(claims, "x" * 32, algorithm="HS256"),
        jwt.encode(claims, "", algorithm="none"),
        token[:-2],
    ):
        await refused(Web(house.server.public, wrong, "/mcp/workshop"))


async def test_an_expired_token_is_refused(own_house: Callable[..., Any]):
    async with own_house() as house:
        web = await house.web(days=1)
        assert (await web.call("probe_number")).status == 200
        house.clock.advance(86_401)
        await refused(web)


async def test_a_token_in_the_address_is_no_token(house: McpHouse):
    token = await house.token()
    web = Web(house.server.public, path=f"/mcp/workshop?access_token={token}&token={token}")
    answer = await web.call("probe_number")
    assert answer.status == 401


async def test_the_way_in_is_told_to_everybody(house: McpHouse):
    web = Web(house.server.public)
    for path, resource in (
        ("", "http://127.0.0.1:8642/mcp"),
        ("/mcp", "http://127.0.0.1:8642/mcp"),
        ("/mcp/workshop", "http://127.0.0.1:8642/mcp/workshop"),
    ):
        exchange = web.raw(
            b"", {"host": "127.0.0.1:8642"}, method="GET", path=f"/.well-known/oauth-protected-resource{path}"
        )
        answer = await web.whole(exchange)
        assert answer.status == 200
        assert answer.last == {
            "resource": resource,
            "resource_name": "Doorward",
            "bearer_methods_supported": ["header"],
        }


async def test_the_settings_name_the_public_address_and_who_gives_tokens(own_house: Callable[..., Any]):
    settings = Settings(
        server=ServerSettings(public_url="https://door.example/"),
        mcp=McpSettings(authorization_servers=("https://login.example",)),
    )
    async with own_house(changes=settings) as house:
        web = Web(house.server.public, path="/mcp/workshop")
        challenge = (await web.call("probe_number")).headers["www-authenticate"]
        where = "https://door.example/.well-known/oauth-protected-resource/mcp/workshop"
        assert challenge == f'Bearer resource_metadata="{where}"'
        exchange = web.raw(b"", {"host": "127.0.0.1"}, method="GET", path="/.well-known/oauth-protected-resource/mcp")
        told = (await web.whole(exchange)).last
        assert told["resource"] == "https://door.example/mcp"
        assert told["authorization_servers"] == ["https://login.example"]


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "a/?x=127.0.0.1"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
    ],
)
async def test_pages_of_other_sites_and_other_names_are_turned_away(house: McpHouse, headers: dict[str, str]):
    before = len(await house.ledger("probe/number"))
    web = await house.web()
    body, given = web.stateless("tools/call", {"name": "probe_number"})
    exchange = await web.raw(body, given | headers).begun()
    assert exchange.status == 403
    assert len(await house.ledger("probe/number")) == before


async def test_a_token_is_written_nowhere(house: McpHouse):
    web = await house.web("careful")
    await web.call("probe_number")
    await web.call("probe_fail")
    await Web(house.server.public, web.token + "x", "/mcp/workshop").call("probe_number")
    secret = web.token.rpartition(".")[2]
    rows = await house.services.store.read("SELECT * FROM ledger")
    assert secret not in json.dumps([{key: str(value) for key, value in row.items()} for row in rows])
    logs = [file.read_text(errors="replace") for file in house.home.path.glob("**/*.log")]
    assert all(secret not in text for text in logs)


async def test_a_token_for_other_rooms_finds_no_such_room(house: McpHouse):
    web = await house.web(rooms=["general"])
    answer = await web.call("probe_number")
    assert answer.result["_meta"]["doorward/code"] == "not_permitted"
    assert "There is no room 'workshop' that you may act in" in answer.said


@pytest.mark.parametrize("room", ["a\r\nx-evil: 1", "\u4e2d", 'a", error="x'])
async def test_a_strange_room_in_the_address_gets_a_clean_challenge(house: McpHouse, room: str):
    answer = await (web := Web(house.server.public, path=f"/mcp/{room}")).call("probe_number")
    challenge = answer.headers["www-authenticate"]
    assert answer.status == 401
    assert challenge.isascii()
    assert challenge.isprintable()
    assert challenge.count('"') == 2
    named = web.raw(
        b"", {"host": "127.0.0.1"}, method="GET", path=f"/.well-known/oauth-protected-resource/mcp/{quote(room)}"
    )
    assert (await web.whole(named)).last["resource"].isascii()
