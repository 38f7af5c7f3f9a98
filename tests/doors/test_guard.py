"""Host and Origin on the public address (INCIDENTS on DNS rebinding and crafted Host headers)."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse

from doorward.config.settings import ServerSettings
from doorward.core.errors import Unusable
from doorward.doors.http.host_guard import HostGuard, allowed_host_names, is_wildcard_address, wildcard_host_warning

ALLOWED = ("127.0.0.1", "localhost", "[::1]")
CONSOLE = "https://console.example"


async def answer(*headers: tuple[str, str]) -> tuple[int, str, bytes]:
    """How a guard answers that has let somebody in before, whom it knows again."""
    guard = HostGuard(PlainTextResponse("in"), ALLOWED, (CONSOLE,))
    for host in ("localhost", "127.0.0.1:8642"):
        assert (await asked(guard, ("host", host)))[0] == 200
    return await asked(guard, *headers)


async def asked(guard: HostGuard, *headers: tuple[str, str]) -> tuple[int, str, bytes]:
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/health",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
    }
    await guard(scope, receive, send)
    kind = dict(sent[0]["headers"])[b"content-type"].decode()
    return sent[0]["status"], kind, sent[1]["body"]


async def status(*headers: tuple[str, str]) -> int:
    return (await answer(*headers))[0]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8642", "localhost", "LOCALHOST:1", "[::1]", "[::1]:8642"])
async def test_our_own_names_are_taken(host):
    assert await status(("host", host)) == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8642",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "a/?x=",
        "localhost/?x=",
        "localhost#",
        "localhost@evil.example",
        "evil.example@localhost",
        "localhost:port",
        "localhost:999999",
        "127.0.0.2",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
        "localhost evil",
        "localhost.",
        "localhost:",
        "localhost:0",
        "localhost:65536",
        "localhost:-1",
        "localhost:80:80",
        "localhost,evil.example",
        "localhost\x00",
        "localhost\t",
        " localhost",
        "[::1",
        "::1",
        "[::1]]",
        "[::1%lo]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:7f00:1]",
        "[::]",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "127.0.0.1.",
        "*",
        "l\u00f6calhost",
        "xn--loclhost-1ya",
    ],
)
async def test_other_names_are_refused(host):
    assert await status(("host", host)) == 403


async def test_a_missing_or_doubled_host_is_refused():
    assert await status() == 403
    assert await status(("host", "localhost"), ("host", "evil.example")) == 403
    assert await status(("host", "localhost"), ("host", "localhost")) == 403
    assert await status(("origin", "localhost")) == 403


@pytest.mark.parametrize("port", ["", ":8642"])
async def test_pages_of_this_very_server_are_taken(port):
    assert await status(("host", f"localhost{port}"), ("origin", f"http://localhost{port}")) == 200
    assert await status(("host", f"LOCALHOST{port}"), ("origin", f"HTTP://LocalHost{port}")) == 200
    assert await status(("host", f"[::1]{port}"), ("origin", f"http://[::1]{port}")) == 200


async def test_the_usual_port_may_be_written_out_or_left_out():
    assert await status(("host", "localhost"), ("origin", "http://localhost:80")) == 200
    assert await status(("host", "localhost:80"), ("origin", "http://localhost")) == 200


async def test_pages_that_the_settings_name_are_taken():
    assert await status(("host", "localhost:8642"), ("origin", CONSOLE)) == 200
    assert await status(("host", "localhost:8642"), ("origin", f"{CONSOLE}:444")) == 403
    assert await status(("host", "localhost:8642"), ("origin", "http://console.example")) == 403


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "*",
        "file://",
        "localhost:8642",
        "http://evil.example",
        "http://evil.example:8642",
        "http://localhost",
        "http://localhost:3000",
        "http://localhost:86420",
        "http://127.0.0.1:8642",
        "https://localhost:8642",
        "ws://localhost:8642",
        "chrome-extension://localhost:8642",
        "http:localhost:8642",
        "http://localhost:8642/",
        "http://localhost:8642/path",
        "http://localhost:8642#",
        "http://user@localhost:8642",
        "http://localhost:8642@evil.example",
        "http://localhost.:8642",
        "http://localhost.evil.example:8642",
        "http://localhost:8642 http://evil.example",
        "http://localhost:8642, http://evil.example",
        "http://l\u00f6calhost:8642",
    ],
)
async def test_pages_of_other_origins_are_refused(origin):
    assert await status(("host", "localhost:8642"), ("origin", origin)) == 403


async def test_several_origins_are_refused_even_when_each_is_ours():
    ours = ("origin", "http://localhost:8642")
    assert await status(("host", "localhost:8642"), ours, ours) == 403


async def test_a_refusal_says_what_would_be_taken_and_repeats_nothing_of_the_request():
    code, kind, body = await answer(("host", "<script>evil"))
    assert (code, kind) == (403, "application/problem+json")
    assert b"must be one of 127.0.0.1, [::1], localhost. To add a name, change the setting" in body
    assert b"evil" not in body


def test_the_one_address_that_it_listens_on_is_a_name_of_it_and_all_of_them_are_none():
    assert "192.0.2.7" in allowed_host_names(ServerSettings(host="192.0.2.7"))
    assert "[2001:db8::7]" in allowed_host_names(ServerSettings(host="2001:db8::7"))
    for everywhere in ("0.0.0.0", "::", "0:0:0:0:0:0:0:0"):
        assert is_wildcard_address(everywhere)
        assert allowed_host_names(ServerSettings(host=everywhere)) == ServerSettings().allowed_hosts


def test_whoever_listens_everywhere_and_names_nothing_is_told_who_is_refused():
    assert "accepts only requests for 127.0.0.1, localhost, [::1]." in wildcard_host_warning(
        ServerSettings(host="0.0.0.0")
    )
    assert wildcard_host_warning(ServerSettings(host="::"))
    assert not wildcard_host_warning(ServerSettings(host="0.0.0.0", allowed_hosts=("doorward.example",)))
    assert not wildcard_host_warning(ServerSettings(host="192.0.2.7"))


@pytest.mark.parametrize("name", ["*.example.com", "a.example:80", "http://a.example", "::1", "a b", ""])
def test_a_name_that_no_request_could_match_is_refused_at_the_start(name):
    with pytest.raises(Unusable, match="takes plain host names"):
        allowed_host_names(ServerSettings(allowed_hosts=(name,)))
