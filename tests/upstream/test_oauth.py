"""Being let in by a server: what is kept, what is renewed, and what is asked of a person."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
from guarded_server import Guarded, visit
from scripted_web import Asked, Reply, scripted

from doorward.core.clock import Clock
from doorward.core.errors import DoorwardError
from doorward.upstream.authorization import Challenge, LoginRequired
from doorward.upstream.config import ServerAuth, ServerConfig
from doorward.upstream.http_client import HttpClient
from doorward.upstream.http_connector import HttpConnector
from doorward.upstream.oauth.authorizer import OAuthAuthorizer, OAuthContext
from doorward.upstream.oauth.discovery import fetch
from doorward.upstream.oauth.login import ShowLoginUrl
from doorward.upstream.oauth.token_store import FOLDER, OAuthTokens, StoredLogin, TokenFile
from doorward.upstream.outbound import ForbiddenAddress, OutboundPolicy
from json_texts import FORBIDDEN, OURS_REFUSED
from waiting import PATIENCE

LOCAL = ("127.0.0.0/8",)


async def opens(page: str) -> None:
    assert await visit(page) == 200


class World:
    """A guarded server, and the home folder of a house that wants to be let in."""

    def __init__(self, guarded: Guarded, home: Path) -> None:
        self.guarded = guarded
        self.home = home

    def entry(self, auth: ServerAuth | None = None) -> ServerConfig:
        return ServerConfig(id="far", name="far", transport="http", url=f"{self.guarded.root}/mcp", auth=auth)

    def remote(self, **more: Any) -> HttpConnector:
        return HttpConnector(home=self.home, outbound=OutboundPolicy(LOCAL), clock=Clock(), **more)

    @property
    def file(self) -> TokenFile:
        return TokenFile(self.home, "far", f"{self.guarded.root}/mcp")

    def kept(self) -> StoredLogin:
        return self.file.read()

    async def call(self, auth: ServerAuth | None = None, **more: Any) -> Any:
        """One request over a new connection: the frame that answers it, or the error."""
        found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        connection = await self.remote(**more).connect(self.entry(auth), Once(found))
        try:
            connection.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', id=1, method="ping", params={})
            async with asyncio.timeout(PATIENCE):
                return await found
        finally:
            await connection.close()


class Once:
    """Hears how one request ended."""

    def __init__(self, found: asyncio.Future[Any]) -> None:
        self._found = found

    def received(self, frame: bytes, answering: int | None = None) -> None:
        self._found.set_result(json.loads(frame))

    def unanswered(self, id: int, error: DoorwardError, *, again: bool = False) -> None:
        self._found.set_exception(error)

    def lost(self, error: DoorwardError, *, again: bool = False) -> None:
        raise AssertionError(error)

    def noted(self, line: str) -> None:
        assert "access-" not in line
        assert "refresh-" not in line


@asynccontextmanager
async def world(home: Path) -> AsyncIterator[World]:
    guarded = Guarded()
    async with scripted(guarded) as server:
        guarded.root = server.root
        yield World(guarded, home)


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


@pytest.mark.parametrize(
    ("facts", "resource", "why"),
    [
        ({"issuer": "https://other.example"}, {}, "the two must be equal"),
        ({"token_endpoint": ""}, {}, "has no token_endpoint"),
        ({"token_endpoint": "file:///etc/passwd"}, {}, "must be an https URL"),
        ({"authorization_endpoint": "javascript:alert(1)"}, {}, "must be an https URL"),
        ({"authorization_endpoint": "https://a\u202eb.example/"}, {}, "must be an https URL"),
        ({"code_challenge_methods_supported": ["plain"]}, {}, "PKCE"),
        ({"registration_endpoint": ""}, {}, "does not support dynamic client registration"),
        ({}, {"resource": "https://other.example/mcp"}, "valid: its own URL"),
        ({}, {"resource": "http://127.0.0.1:1/mcp"}, "valid: its own URL"),
        ({}, {"authorization_servers": ["http://192.0.2.1"]}, "valid: an https URL"),
        ({"token_endpoint": "http://192.0.2.1/token"}, {}, "must be an https URL"),
        ({}, {"authorization_servers": []}, "does not name an authorization server"),
        ({}, {"authorization_servers": ["https://" + "a" * 1_000]}, "does not name an authorization server"),
    ],
)
async def test_metadata_that_does_not_fit_ends_the_login_before_anybody_is_sent_anywhere(
    tmp_path: Path, facts: dict[str, Any], resource: dict[str, Any], why: str
) -> None:
    async def nobody(page: str) -> None:
        raise AssertionError(page)

    async with world(tmp_path) as far:
        far.guarded.facts, far.guarded.resource = facts, resource
        with pytest.raises(LoginRequired, match=why):
            await far.remote().log_in(far.entry(), nobody)
    assert not far.guarded.forms


@pytest.mark.parametrize(
    ("brought", "promised", "why"),
    [
        ({"iss": "https://evil.example"}, False, "is from another issuer"),
        ({}, True, "does not name its issuer"),
        ({"error": "access_denied", "code": ""}, False, "refused the login: access_denied"),
        ({"error": "<script>", "code": ""}, False, "an unknown reason"),
        ({"code": ""}, False, "has no authorization code"),
    ],
)
async def test_an_answer_that_is_not_the_one_waited_for_is_never_traded_for_a_token(
    tmp_path: Path, brought: dict[str, str], promised: bool, why: str
) -> None:
    async with world(tmp_path) as far:
        far.guarded.brought = brought
        far.guarded.facts = {"authorization_response_iss_parameter_supported": promised}
        with pytest.raises(LoginRequired, match=why) as refused:
            await far.remote().log_in(far.entry(), opens)
    assert "<script>" not in refused.value.message
    assert not far.guarded.forms


async def test_metadata_that_leads_to_a_private_address_is_not_followed(tmp_path: Path) -> None:
    """The server itself was named by the operator; whomever it refers to was not."""
    async with world(tmp_path) as inner, world(tmp_path) as far:
        far.guarded.challenge = f'Bearer resource_metadata="{inner.guarded.root}/secrets"'
        remote = HttpConnector(home=tmp_path, outbound=OutboundPolicy(), clock=Clock())
        with pytest.raises(ForbiddenAddress, match="is the address"):
            await remote.log_in(far.entry(), opens)
        far.guarded.challenge = ""
        far.guarded.resource = {"authorization_servers": [inner.guarded.root]}
        with pytest.raises(ForbiddenAddress):
            await remote.log_in(far.entry(), opens)


async def test_the_token_url_of_an_entry_is_named_by_the_operator_too(tmp_path: Path) -> None:
    async with world(tmp_path) as tokens, world(tmp_path) as far:
        url = f"{tokens.guarded.root}/token"
        auth = ServerAuth(type="client_credentials", client_id="us", client_secret="x", token_url=url)
        tokens.guarded.good = far.guarded.good
        found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        remote = HttpConnector(home=tmp_path, outbound=OutboundPolicy(), clock=Clock())
        connection = await remote.connect(far.entry(auth), Once(found))
        connection.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', id=1, method="ping", params={})
        assert (await found)["result"] == {}
        await connection.close()


async def test_credentials_of_an_entry_are_not_shown_to_another_authorization_server(tmp_path: Path) -> None:
    async with world(tmp_path) as other, world(tmp_path) as far:
        auth = ServerAuth(type="client_credentials", client_id="us", client_secret="x")
        await far.call(auth)
        far.guarded.good.clear()
        far.guarded.resource = {"authorization_servers": [other.guarded.root]}
        with pytest.raises(LoginRequired, match="are not sent to another"):
            await far.call(auth)
    assert not other.guarded.forms
    assert not other.guarded.basics


async def test_a_secret_is_shown_elsewhere_only_where_its_entry_says_so(tmp_path: Path) -> None:
    """A server may name whomever it likes; the first that it names is nobody's word but its own."""
    async with world(tmp_path) as other, world(tmp_path) as far:
        far.guarded.resource = {"authorization_servers": [other.guarded.root]}
        other.guarded.good = far.guarded.good
        auth = ServerAuth(type="client_credentials", client_id="us", client_secret="x")
        with pytest.raises(LoginRequired, match="sent only to the server's own address") as refused:
            await far.call(auth)
        assert "tokenUrl" in refused.value.hint
        assert not other.guarded.basics
        auth = msgspec.structs.replace(auth, token_url=f"{other.guarded.root}/token")
        assert (await far.call(auth))["result"] == {}
    assert other.guarded.basics == ["us:x"]


async def test_a_description_elsewhere_is_read_over_https_alone(tmp_path: Path) -> None:
    async with world(tmp_path) as far:
        far.guarded.challenge = 'Bearer resource_metadata="http://192.0.2.1/about"'
        with pytest.raises(LoginRequired, match="valid: an https URL, or a URL of the server itself"):
            await far.call()


async def test_what_a_login_brought_is_not_used_under_another_name(tmp_path: Path) -> None:
    async with world(tmp_path) as far:
        await far.remote().log_in(far.entry(), opens)
        auth = ServerAuth(type="client_credentials", client_id="us", client_secret="x", scope="read")
        assert (await far.call(auth))["result"] == {}
        assert [form["grant_type"] for form in far.guarded.forms] == ["authorization_code", "client_credentials"]
        with pytest.raises(LoginRequired, match="login"):
            await far.call()


async def test_what_was_registered_elsewhere_is_not_used_at_a_new_authorization_server(tmp_path: Path) -> None:
    async with world(tmp_path) as other, world(tmp_path) as far:
        await far.remote().log_in(far.entry(), opens)
        far.guarded.good.clear()
        far.guarded.resource = {"authorization_servers": [other.guarded.root]}
        with pytest.raises(LoginRequired, match="login"):
            await far.call()
        await far.remote().log_in(far.entry(), opens)
    assert len(other.guarded.registered) == 1
    assert not any("refresh_token" in form for form in [*other.guarded.forms, *far.guarded.forms])


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


async def test_what_is_posted_for_a_token_follows_no_redirect(tmp_path: Path) -> None:
    """Its body is the secret, so leaving out headers would not help."""
    async with world(tmp_path) as thief, world(tmp_path) as far:

        async def redirects(asked: Asked, reply: Reply) -> None:
            await reply.whole(307, Location=f"{thief.guarded.root}/token")

        async with scripted(redirects) as crooked:
            far.guarded.facts = {"token_endpoint": f"{crooked.root}/token"}
            with pytest.raises(LoginRequired, match="answered 307"):
                await far.remote().log_in(far.entry(), opens)
    assert crooked.asked
    assert not thief.guarded.forms


async def test_no_error_shows_a_token(tmp_path: Path) -> None:
    async with world(tmp_path) as far:
        await far.remote().log_in(far.entry(), opens)
        far.guarded.good.clear()
        far.guarded.refreshes.clear()
        with pytest.raises(LoginRequired) as refused:
            await far.call()
    seen: BaseException | None = refused.value
    while seen is not None:
        assert "access-" not in f"{seen}{seen!r}"
        assert "refresh-" not in f"{seen}{seen!r}"
        seen = seen.__cause__ or seen.__context__


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


async def test_documents_that_are_not_strict_json_count_as_none() -> None:
    texts = iter([*FORBIDDEN, *(text for text, _ in OURS_REFUSED)])

    async def server(asked: Asked, reply: Reply) -> None:
        await reply.whole(200, next(texts))

    async with scripted(server) as odd:
        web = HttpClient(OutboundPolicy(), odd.root)
        for _ in range(len(FORBIDDEN) + len(OURS_REFUSED)):
            assert await fetch(web, "GET", odd.root) == (200, None)
        web.close()


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
