"""Being let in by a server: what is kept, what is renewed, and what is asked of a person."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
from guarded_server import visit
from oauth_world import LOCAL, opens, world
from scripted_web import Asked, Reply, scripted

from doorward.core.clock import Clock
from doorward.upstream.authorization import Challenge, LoginRequired
from doorward.upstream.config import ServerAuth
from doorward.upstream.http_client import HttpClient
from doorward.upstream.oauth.authorizer import OAuthAuthorizer, OAuthContext
from doorward.upstream.oauth.login import ShowLoginUrl
from doorward.upstream.oauth.token_store import FOLDER, OAuthTokens, StoredLogin, TokenFile
from doorward.upstream.outbound import OutboundPolicy


async def test_a_call_that_needs_a_login_says_so_and_opens_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as far:
        with pytest.raises(LoginRequired, match="doorward servers login far") as refused:
            await far.call()
    assert refused.value.retry == "after_fix"
    assert not far.guarded.registered
    assert not far.guarded.asked_for


async def test_after_a_login_calls_are_let_in_and_the_token_is_for_the_owner_alone(tmp_path: Path) -> None:
    async with world(tmp_path) as far:
        await far.remote().log_in(far.entry(), opens)
        assert (await far.call())["result"] == {}
    (file,) = (tmp_path / FOLDER).iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert far.guarded.asked_for["resource"] == f"{far.guarded.root}/mcp"
    assert far.guarded.forms[0]["resource"] == f"{far.guarded.root}/mcp"
    assert far.guarded.registered[0]["application_type"] == "native"
    assert "access-1" not in repr(far.kept())


async def test_a_token_that_ended_is_renewed_without_anybody(tmp_path: Path) -> None:
    async with world(tmp_path) as far:
        await far.remote().log_in(far.entry(), opens)
        far.guarded.good.clear()
        assert (await far.call())["result"] == {}
        assert [form["grant_type"] for form in far.guarded.forms] == ["authorization_code", "refresh_token"]
        far.guarded.good.clear()
        far.guarded.refreshes.clear()
        with pytest.raises(LoginRequired, match="login"):
            await far.call()
        assert far.kept().tokens is None


async def test_requests_that_are_refused_together_renew_once(tmp_path: Path) -> None:
    async with world(tmp_path) as far:
        await far.remote().log_in(far.entry(), opens)
        far.guarded.good.clear()
        web = HttpClient(OutboundPolicy(LOCAL), far.entry().url)
        oauth = OAuthAuthorizer(far.entry(), web, OAuthContext(file=far.file, clock=Clock()))
        sent = (await oauth.headers())["Authorization"]
        await asyncio.gather(*(oauth.challenged(Challenge(401, "Bearer", sent)) for _ in range(5)))
        web.close()
    assert [form["grant_type"] for form in far.guarded.forms] == ["authorization_code", "refresh_token"]


async def test_a_second_login_comes_back_to_where_the_first_was_registered_for(tmp_path: Path) -> None:
    async with world(tmp_path) as far:
        await far.remote().log_in(far.entry(), opens)
        first = far.guarded.asked_for["redirect_uri"]
        await far.remote().log_in(far.entry(), opens)
    assert far.guarded.asked_for["redirect_uri"] == first
    assert len(far.guarded.registered) == 1


async def test_client_credentials_need_no_person_and_are_asked_for_once(tmp_path: Path) -> None:
    async with world(tmp_path) as far:
        auth = ServerAuth(type="client_credentials", client_id="us", client_secret="s3cret: &", scope="read")
        assert (await far.call(auth))["result"] == {}
        assert (await far.call(auth))["result"] == {}
    (form,) = far.guarded.forms
    assert (form["grant_type"], form["scope"]) == ("client_credentials", "read")
    assert far.guarded.basics == ["us:s3cret: &"]
    assert "client_secret" not in form


async def test_client_credentials_with_a_token_url_ask_there_before_the_first_request(tmp_path: Path) -> None:
    async with world(tmp_path) as far:
        auth = ServerAuth(
            type="client_credentials", client_id="us", client_secret="x", token_url=f"{far.guarded.root}/token"
        )
        assert (await far.call(auth))["result"] == {}
        assert far.guarded.made == 1
        kept = far.kept()
        assert kept.tokens is not None
        far.file.write(msgspec.structs.replace(kept, tokens=OAuthTokens("access-1", "", Clock().now() + 1)))
        assert (await far.call(auth))["result"] == {}
    assert far.guarded.made == 2, "a token about to end is replaced before it is refused"


async def test_what_a_login_brought_is_not_used_under_another_name(tmp_path: Path) -> None:
    async with world(tmp_path) as far:
        await far.remote().log_in(far.entry(), opens)
        auth = ServerAuth(type="client_credentials", client_id="us", client_secret="x", scope="read")
        assert (await far.call(auth))["result"] == {}
        assert [form["grant_type"] for form in far.guarded.forms] == ["authorization_code", "client_credentials"]
        with pytest.raises(LoginRequired, match="login"):
            await far.call()


async def test_a_scope_that_a_call_lacked_is_asked_for_at_the_next_login(tmp_path: Path) -> None:
    async with world(tmp_path) as far:
        far.guarded.resource = {"scopes_supported": ["read"]}
        await far.remote().log_in(far.entry(), opens)
        assert far.guarded.asked_for["scope"] == "read"
        oauth = OAuthAuthorizer(
            far.entry(), HttpClient(OutboundPolicy(LOCAL), far.entry().url), OAuthContext(file=far.file, clock=Clock())
        )
        sent = (await oauth.headers())["Authorization"]
        challenge = Challenge(403, 'Bearer error="insufficient_scope", scope="write"', sent)
        with pytest.raises(LoginRequired, match="login"):
            await oauth.challenged(challenge)
        await far.remote().log_in(far.entry(), opens)
        assert far.guarded.asked_for["scope"].split() == ["read", "write"]
        sent = f"Bearer access-{far.guarded.made}"
        with pytest.raises(LoginRequired, match="requested but not granted"):
            await oauth.challenged(Challenge(403, challenge.header, sent))


async def test_tokens_of_an_entry_that_leads_elsewhere_now_stay_behind(tmp_path: Path) -> None:
    async with world(tmp_path) as far:
        await far.remote().log_in(far.entry(), opens)
    assert TokenFile(tmp_path, "far", "https://elsewhere.example/mcp").read() == StoredLogin()
    far.remote().log_out(far.entry())
    assert far.kept() == StoredLogin()


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"tokens": 7}', b'{"issuer": "a", "issuer": "b"}', b"\xff"])
def test_a_file_of_tokens_that_cannot_be_read_counts_as_none(tmp_path: Path, text: bytes) -> None:
    file = TokenFile(tmp_path, "far", "https://far.example")
    file.write(StoredLogin(issuer="x"))
    (written,) = (tmp_path / FOLDER).iterdir()
    written.write_bytes(text)
    assert file.read() == StoredLogin()


async def test_strangers_who_visit_the_page_of_a_login_are_sent_away(tmp_path: Path) -> None:
    seen: list[int] = []

    async def person(page: str) -> None:
        query = dict(parse_qsl(urlsplit(page).query))
        back, state = query["redirect_uri"], query["state"]
        seen.append(await visit(f"{back}?code=stolen&state=guessed"))
        seen.append(await visit(f"{back}?code=a&code=b&state={state}"))
        seen.append(await visit(f"{back.replace('/callback', '/other')}?code=a&state={state}"))
        seen.append(await visit(f"{back.replace('127.0.0.1', 'localhost')}?code=a&state={state}"))
        await opens(page)

    async with world(tmp_path) as far:
        shown: ShowLoginUrl = person
        await far.remote().log_in(far.entry(), shown)
    assert seen == [404, 404, 404, 404]
    assert [form["code"] for form in far.guarded.forms] == ["the-code"]


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (
            'Bearer scope="a b", resource_metadata="https://x/y?z=1"',
            {"scope": "a b", "resource_metadata": "https://x/y?z=1"},
        ),
        ("Bearer error=insufficient_scope,scope=a", {"error": "insufficient_scope", "scope": "a"}),
        ('Bearer realm="a \\"b\\"", scope="c", scope="d"', {"realm": 'a "b"', "scope": "c"}),
        ("Basic", {}),
        ("", {}),
    ],
)
def test_a_challenge_is_read_as_it_is_written(header: str, found: dict[str, str]) -> None:
    assert Challenge(401, header, "").parameters == found


async def test_a_server_that_names_no_authorization_server_wants_a_token(tmp_path: Path) -> None:
    async def bare(asked: Asked, reply: Reply) -> None:
        await reply.whole(401 if asked.path == "/mcp" else 404)

    async with world(tmp_path) as far, scripted(bare) as silent:
        far.guarded.root = silent.root
        with pytest.raises(LoginRequired, match=r"requires a token but names no authorization server; .* --bearer"):
            await far.call()
