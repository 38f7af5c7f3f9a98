"""Host and Origin on the public address (INCIDENTS on DNS rebinding and crafted Host headers)."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse

from doorward.config.settings import ServerSettings
from doorward.core.errors import Unusable
from doorward.doors.http.host_guard import (
    HostGuard,
    allowed_host_names,
    allowed_origins,
    is_wildcard_address,
    wildcard_host_warning,
)
from doorward.doors.http.public_address import TrustedProxies

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


def test_the_public_address_is_an_allowed_host_and_origin() -> None:
    server = ServerSettings(public_url="https://Doorward.example:8443/")
    assert "doorward.example" in allowed_host_names(server)
    assert allowed_origins(server) == ("https://doorward.example:8443",)
    for wrong in ("doorward.example", "ftp://doorward.example", "https://doorward.example/path", "https://a b"):
        with pytest.raises(Unusable, match=r"server\.public_url takes an address without a path"):
            allowed_host_names(ServerSettings(public_url=wrong))


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["192.0.2.7"], "192.0.2.7"),
        ("127.0.0.1", ["203.0.113.9, 192.0.2.7"], "192.0.2.7"),
        ("127.0.0.1", ["203.0.113.9, 192.0.2.7, 10.1.2.3"], "192.0.2.7"),
        ("127.0.0.1", ["203.0.113.9", "192.0.2.7,10.1.2.3"], "192.0.2.7"),
        ("::ffff:127.0.0.1", ["2001:db8::7"], "2001:db8::7"),
        ("127.0.0.1", ["192.0.2.7, unknown"], "127.0.0.1"),
        ("127.0.0.1", ["127.0.0.1"], "127.0.0.1"),
        ("198.51.100.1", ["192.0.2.7"], "198.51.100.1"),
        ("198.51.100.1", ["127.0.0.1"], "198.51.100.1"),
    ],
)
def test_the_client_is_the_right_most_address_that_is_not_a_trusted_proxy(
    peer: str, forwarded: list[str], client: str
) -> None:
    proxies = TrustedProxies(["127.0.0.1", "10.0.0.0/8"])
    fields = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    assert proxies.client_address(peer, fields) == client
    secure = [*fields, (b"x-forwarded-proto", b"https")]
    assert proxies.scheme(peer, secure, "http") == ("http" if peer.startswith("198") else "https")
    assert TrustedProxies([]).client_address(peer, fields) == peer


def test_a_proxy_that_is_not_an_address_is_refused() -> None:
    with pytest.raises(Unusable, match=r"server\.trusted_proxies takes addresses and networks"):
        TrustedProxies(["proxy.example"])
