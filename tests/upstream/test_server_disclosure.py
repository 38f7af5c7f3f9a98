"""Servers are told, and repeat, only what they may: secrets, tokens, addresses and other tenants' tools."""

from __future__ import annotations

import asyncio
import json

import pytest
from scripted import tool, turns
from scripted_web import scripted

from doorward.core.clock import Clock
from doorward.core.errors import Unreachable
from doorward.core.wire.meta import CAPABILITIES, CLIENT, VERSION
from doorward.doors.http.applications import HttpApplications
from doorward.upstream.authorization import FixedToken, LoginRequired
from doorward.upstream.config import ServerAuth, ServerConfig
from doorward.upstream.http_client import HttpClient
from doorward.upstream.http_endpoint import ServerEndpoint
from doorward.upstream.oauth.authorizer import OAuthAuthorizer, OAuthContext
from doorward.upstream.oauth.discovery import discover
from doorward.upstream.oauth.token_store import OAuthTokens, StoredLogin, TokenFile
from doorward.upstream.outbound import ForbiddenAddress, OutboundPolicy
from upstream_house import Answering, upstairs
from waiting import PATIENCE

NOW = tool("now", description="Tells the time.")
TIME = {"id": "time", "name": "Time"}


@pytest.fixture
async def house(opened, monkeypatch):
    async with upstairs(opened, monkeypatch, time=Answering(NOW, tool("add"))) as house:
        yield house


async def test_what_a_server_was_given_as_a_secret_is_kept_from_models_when_it_repeats_it(house, monkeypatch):
    """SERVERS.md: kept out of the record, the log, errors, and what models see."""
    await house.file({**TIME, "autoApprove": True, "env": {"API_KEY": "sesame-sesame-42"}})
    await house.ready()
    house.servers["time"].answers["now"] = {"content": [{"type": "text", "text": "key is sesame-sesame-42"}]}
    outcome = await house.run("mcp/time/now")
    assert outcome.status == "done"
    assert "sesame" not in outcome.text


async def test_adding_a_server_leaves_no_secret_of_its_arguments_or_address_in_the_record(house):
    args = ["--api-key", "sesame-sesame-42", "--pat", "sesame-sesame-43", "--key=sesame-sesame-44"]
    entries = [
        {"id": "db", "command": "server", "args": args},
        {"id": "web", "url": "https://example.org/mcp?key=sesame-sesame-45"},
        {"id": "path", "url": "https://example.org/mcp?token=sesame-sesame-46&x=1"},
    ]
    for params in entries:
        outcome = await house.driver.ask("mcp/add", by="", room="", params=params)
        assert outcome.status == "done", outcome
    text = json.dumps(await house.driver.ledger())
    assert [n for n in range(42, 47) if f"sesame-{n}" in text] == []


async def test_a_server_with_https_does_not_send_anybody_to_log_in_by_way_of_plain_http(monkeypatch):
    """An attacker in between could name its own token endpoint, and receive the client's secret there."""
    documents = {
        "https://far.example/.well-known/oauth-protected-resource/mcp": {
            "resource": "https://far.example/mcp",
            "authorization_servers": ["http://login.example"],
        },
        "http://login.example/.well-known/oauth-authorization-server": {
            "issuer": "http://login.example",
            "token_endpoint": "https://thief.example/token",
        },
    }
    asked = []

    async def fetch(web, method, url, headers=None, body=b""):
        asked.append(url)
        return (200, documents[url]) if url in documents else (404, None)

    monkeypatch.setattr("doorward.upstream.oauth.discovery.fetch", fetch)
    with pytest.raises(LoginRequired):
        await discover(None, "https://far.example/mcp")
    assert not [url for url in asked if url.startswith("http://")]


@pytest.mark.parametrize("address", ["fec0::1"])
async def test_an_address_of_a_site_is_not_one_of_the_internet(address):
    async def resolve(host, port):
        return [address]

    with pytest.raises(ForbiddenAddress):
        await OutboundPolicy(resolve=resolve).resolve("far.example", 443)


async def test_listening_to_a_resource_tells_its_server_nothing_that_needs_an_approval(house):
    """Reading it waits for a person. Its address is the agent's own words, and goes to the server all the same."""
    server = house.servers["time"]
    server.capabilities = {"tools": {}, "resources": {"subscribe": True}}
    reply = server._reply

    def more(wire, asked):
        if asked.get("method") == "resources/list":
            wire.answer(asked, {"resources": [{"uri": "note:///one", "name": "one"}]})
        elif asked.get("method") == "resources/templates/list":
            wire.answer(asked, {"resourceTemplates": []})
        else:
            reply(wire, asked)

    server._reply = more
    await house.file(TIME)
    await house.ready()
    assert house.command("mcp/time/resources.read").asks_first
    token = await house.driver.token("bot")
    uri = "mcp://time/note:///?stolen=the-private-key"
    about = {VERSION: "2026-07-28", CLIENT: {"name": "test", "version": "1"}, CAPABILITIES: {}}
    params = {"notifications": {"resourceSubscriptions": [uri]}, "_meta": about}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}).encode()
    headers = {
        "host": "127.0.0.1:8642",
        "content-type": "application/json",
        "content-length": str(len(body)),
        "accept": "application/json, text/event-stream",
        "authorization": f"Bearer {token}",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
    }
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": "/mcp/den",
        "raw_path": b"/mcp/den",
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
        "server": ("127.0.0.1", 8642),
        "client": ("127.0.0.1", 50_000),
    }
    given = [{"type": "http.request", "body": body, "more_body": False}]
    begun = asyncio.Event()
    sent = []

    async def receive():
        if given:
            return given.pop()
        return await asyncio.get_running_loop().create_future()

    async def send(message):
        sent.append(message)
        if message.get("body"):
            begun.set()

    listening = asyncio.ensure_future(
        HttpApplications(house.house.gate, house.house.services).public(scope, receive, send)
    )
    try:
        async with asyncio.timeout(PATIENCE):
            await begun.wait()
        await turns(50)
        assert b"acknowledged" in b"".join(one.get("body", b"") for one in sent), sent
        assert server.wire.asked("resources/subscribe") == []
    finally:
        listening.cancel()
        await asyncio.wait([listening])


async def test_headers_of_the_entry_and_the_session_stay_with_the_server_that_they_are_for():
    """SERVERS.md: tokens and headers of the entry go to no other address than its own; one may begin with mcp-."""

    async def fine(asked, reply):
        await reply.whole(200, {})

    async with scripted(fine) as elsewhere:

        async def redirect(asked, reply):
            await reply.whole(307, Location=f"{elsewhere.root}/mcp")

        async with scripted(redirect) as server:
            url = f"{server.root}/mcp"
            entry = ServerConfig(id="far", name="far", transport="http", url=url, headers={"Mcp-Api-Key": "sesame"})
            web = HttpClient(OutboundPolicy(("127.0.0.0/8",)), url)
            endpoint = ServerEndpoint(entry, web, FixedToken("far"))
            answer = await endpoint.request(
                "POST", {"Mcp-Session-Id": "whoever-has-it-is-me", "Mcp-Method": "ping"}, b"{}"
            )
            answer.release()
            web.close()
    (asked,) = elsewhere.asked
    assert "mcp-api-key" not in asked.headers
    assert "mcp-session-id" not in asked.headers


async def test_a_token_is_of_no_use_once_the_entry_names_another_client(tmp_path):
    """A person's login, or the client of last year, is not who the operator says Doorward is now."""
    url = "https://far.example/mcp"
    file = TokenFile(tmp_path, "far", url)
    file.write(StoredLogin(issuer="https://far.example", tokens=OAuthTokens("of-somebody-else"), scope="everything"))
    auth = ServerAuth(
        type="client_credentials", client_id="robot", client_secret="s", token_url="https://far.example/token"
    )
    entry = ServerConfig(id="far", name="far", transport="http", url=url, auth=auth)

    async def nowhere(host, port):
        return []

    oauth = OAuthAuthorizer(
        entry, HttpClient(OutboundPolicy(resolve=nowhere), url), OAuthContext(file=file, clock=Clock())
    )
    with pytest.raises(Unreachable):  # it asks for a token of its own, which it cannot get here
        assert await oauth.headers() == {}


async def test_another_tenant_learns_nothing_of_the_tools_of_the_house(house):
    """Not which there are, and not what they take: parameters are looked at before anybody asks whose the tool is."""
    schema = {"type": "object", "properties": {"payroll": {"type": "string"}}, "required": ["payroll"]}
    house.servers["time"].tools = [{"name": "now", "inputSchema": schema}]
    await house.file(TIME)
    await house.ready()
    await house.driver.owner("user/create", id="eve", tenant="rival")
    made = await house.driver.owner("token/create", name="bot", user="eve", tenant="rival", access="read")
    there = await house.driver.ask("mcp/time/now", token=made.result["token"], room="", params={})
    nowhere = await house.driver.ask("mcp/time/then", token=made.result["token"], room="", params={})
    assert "payroll" not in f"{there.message} {there.hint}"
    assert there.code == nowhere.code
