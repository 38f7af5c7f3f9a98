"""HTTP to servers of others: where connections go, which redirects are followed, and what an answer may be."""

from __future__ import annotations

import asyncio
import ssl

import pytest
import trustme
from scripted_web import Asked, Reply, scripted

from doorward.core.errors import Unreachable
from doorward.upstream.http_client import BadUrl, HttpClient, format_origin, origin, split_url
from doorward.upstream.outbound import ForbiddenAddress, OutboundPolicy
from waiting import PATIENCE

LOCAL = ("127.0.0.0/8",)
SECRET = {"Authorization": "Bearer for-the-first-alone", "X-Api-Key": "also-secret", "Mcp-Method": "ping"}
SECRET["Mcp-Session-Id"] = "whoever-has-it-is-me"


async def fine(asked: Asked, reply: Reply) -> None:
    await reply.whole(200, {"path": asked.path})


async def body_of(web: HttpClient, url: str, method: str = "GET") -> bytes:
    answer = await web.request(method, url, {})
    return await answer.read_all(1_000_000)


async def test_a_connection_goes_to_the_address_that_was_checked_and_the_name_stays_in_the_request() -> None:
    resolved: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        resolved.append(host)
        return ["127.0.0.1"] if len(resolved) == 1 else ["192.0.2.1"]

    async with scripted(fine) as server:
        url = f"http://mcp.example:{server.port}/mcp"
        web = HttpClient(OutboundPolicy(LOCAL, resolve), url)
        assert await body_of(web, url) == b'{"path": "/mcp"}'
        assert await body_of(web, f"{url}?again") == b'{"path": "/mcp?again"}'
        web.close()
    assert resolved == ["mcp.example"], "the name is resolved once for the connection, and never again behind the check"
    assert server.connections == 1
    assert server.asked[0].headers["host"] == f"mcp.example:{server.port}"


async def test_a_redirect_to_a_private_address_is_refused_before_anything_is_sent_there() -> None:
    async with scripted(fine) as inner:

        async def redirect(asked: Asked, reply: Reply) -> None:
            await reply.whole(307, Location=f"{inner.root}/admin")

        async with scripted(redirect) as outer:
            web = HttpClient(OutboundPolicy(), outer.root)
            with pytest.raises(ForbiddenAddress, match=r"127\.0\.0\.1"):
                await web.request("POST", f"{outer.root}/mcp", SECRET, b"{}")
            web.close()
    assert inner.connections == 0


async def test_a_redirect_elsewhere_carries_the_message_and_no_secret() -> None:
    async with scripted(fine) as inner:

        async def redirect(asked: Asked, reply: Reply) -> None:
            await reply.whole(308, Location=f"{inner.root}/mcp")

        async with scripted(redirect) as outer:
            web = HttpClient(OutboundPolicy(LOCAL), outer.root)
            answer = await web.request("POST", f"{outer.root}/mcp", SECRET, b"{}")
            await answer.read_all(1_000)
            web.close()
    assert outer.asked[0].headers["authorization"] == SECRET["Authorization"]
    (asked,) = inner.asked
    assert asked.body == b"{}"
    assert asked.headers["mcp-method"] == "ping"
    assert not {"authorization", "x-api-key", "mcp-session-id"} & set(asked.headers)


async def test_a_redirect_on_the_same_origin_keeps_what_it_was_sent_with() -> None:
    async def redirect(asked: Asked, reply: Reply) -> None:
        if asked.path == "/mcp":
            await reply.whole(307, Location="/mcp/")
        else:
            await fine(asked, reply)

    async with scripted(redirect) as server:
        web = HttpClient(OutboundPolicy(), server.root)
        answer = await web.request("POST", f"{server.root}/mcp", SECRET, b"{}")
        assert await answer.read_all(1_000) == b'{"path": "/mcp/"}'
        web.close()
    assert server.asked[1].headers["authorization"] == SECRET["Authorization"]
    assert server.connections == 1


@pytest.mark.parametrize(
    ("status", "where", "why"),
    [
        (302, "/other", "change the request; valid for POST: 307 and 308"),
        (307, "/mcp", "more than 3 times"),
        (307, "file:///etc/passwd", "is not a valid URL"),
        (307, "gopher://127.0.0.1/", "is not a valid URL"),
        (307, "http://user:pass@example.com/", "is not a valid URL"),
    ],
)
async def test_redirects_that_are_not_followed_say_so(status: int, where: str, why: str) -> None:
    async def redirect(asked: Asked, reply: Reply) -> None:
        await reply.whole(status, Location=where)

    async with scripted(redirect) as server:
        web = HttpClient(OutboundPolicy(), server.root)
        with pytest.raises(BadUrl, match=why) as refused:
            await web.request("POST", f"{server.root}/mcp?key=s3cret", {}, b"{}")
        web.close()
    assert "pass@" not in refused.value.message
    assert "s3cret" not in refused.value.message


async def test_from_https_no_redirect_leads_to_http_and_the_certificate_is_that_of_the_name() -> None:
    authority = trustme.CA()
    theirs, ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("mcp.example").configure_cert(theirs)
    authority.configure_trust(ours)

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async def redirect(asked: Asked, reply: Reply) -> None:
        await reply.whole(307, Location="http://mcp.example/plain")

    async with scripted(redirect, theirs) as server:
        url = f"https://mcp.example:{server.port}"
        web = HttpClient(OutboundPolicy(LOCAL, resolve), url, tls=ours)
        with pytest.raises(BadUrl, match="from https only https is followed"):
            await web.request("POST", url, {}, b"{}")
        with pytest.raises(Unreachable, match="certificate is not valid"):
            await web.request("POST", f"https://other.example:{server.port}", {}, b"{}")
        web.close()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "is not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", "before its response was complete"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal", "before its response was complete"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", "cannot be used"),
        (b"HTTP/1.1 200 OK\r\n" + b"X-Filler: " + b"a" * 2_000_000, "headers of its response are larger"),
        (b"", "before its response was complete"),
    ],
)
async def test_an_answer_that_is_none_is_one_clear_error(said: bytes, why: str) -> None:
    async def answer(asked: Asked, reply: Reply) -> None:
        reply.closes = True
        await reply.raw(said)

    async with scripted(answer) as server:
        web = HttpClient(OutboundPolicy(), server.root)
        with pytest.raises(Unreachable, match=why):
            await body_of(web, server.root)
        web.close()


async def test_an_answer_may_come_in_chunks_after_an_interim_one_or_up_to_the_end_of_the_connection() -> None:
    said = {
        "/chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n",
        "/interim": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nonetwo",
        "/end": b"HTTP/1.1 200 OK\r\n\r\nonetwo",
    }

    async def answer(asked: Asked, reply: Reply) -> None:
        reply.closes = asked.path == "/end"
        await reply.raw(said[asked.path])

    async with scripted(answer) as server:
        web = HttpClient(OutboundPolicy(), server.root)
        for path in said:
            assert await body_of(web, server.root + path) == b"onetwo"
        web.close()
    assert server.connections == 1


async def test_a_body_that_is_too_large_is_refused_and_not_kept() -> None:
    async def endless(asked: Asked, reply: Reply) -> None:
        await reply.raw(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await reply.raw(b"a" * 65_536)

    async with scripted(endless) as server:
        web = HttpClient(OutboundPolicy(), server.root)
        with pytest.raises(Unreachable, match="larger than the limit of 1000000 bytes"):
            await body_of(web, server.root)
        await server.hung_up.wait()
        web.close()


async def test_connections_are_used_again_and_one_that_the_server_closed_is_replaced() -> None:
    async def answer(asked: Asked, reply: Reply) -> None:
        if asked.path == "/last":
            reply.closes = True
            await reply.whole(200, {}, Connection="close")
        else:
            await fine(asked, reply)

    async with scripted(answer) as server:
        web = HttpClient(OutboundPolicy(), server.root)
        for path in ("/", "/", "/last", "/"):
            await body_of(web, server.root + path)
        web.close()
    assert server.connections == 2


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted(fine) as server, scripted(fine) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.root)
        web = HttpClient(OutboundPolicy(), server.root)
        await body_of(web, server.root)
        web.close()
    assert proxy.connections == 0


async def test_a_server_that_is_not_there_is_one_clear_error() -> None:
    async with scripted(fine) as server:
        root = server.root
    web = HttpClient(OutboundPolicy(), root)
    with pytest.raises(Unreachable, match="could not be reached: connection refused"):
        await asyncio.wait_for(web.request("GET", root, {}), PATIENCE)
    web.close()


async def test_a_header_cannot_smuggle_another() -> None:
    async with scripted(fine) as server:
        web = HttpClient(OutboundPolicy(), server.root)
        with pytest.raises(Unreachable, match="characters that are invalid in HTTP"):
            await web.request("GET", server.root, {"X-A": "b\r\nX-C: d"})
        web.close()
    assert not server.asked


@pytest.mark.parametrize(
    "url",
    ["", "mcp.example", "ftp://x/", "http://", "http://x:99999/", "http://a b/", "http://a/\r\nX: y", "http://[::1/"],
)
def test_what_is_no_address_of_the_web_is_refused(url: str) -> None:
    with pytest.raises(BadUrl, match="is not a valid URL"):
        split_url(url)


def test_an_origin_is_shown_as_people_write_it() -> None:
    assert format_origin(origin("https://Mcp.Example:443/a?b")) == "https://mcp.example"
    assert format_origin(origin("http://[::1]:3000/mcp")) == "http://[::1]:3000"
