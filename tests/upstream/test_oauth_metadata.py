"""Metadata and answers of authorization servers that do not fit, lead elsewhere, or ask for a secret."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from oauth_world import Once, opens, world
from scripted_web import Asked, Reply, scripted

from doorward.core.clock import Clock
from doorward.upstream.authorization import LoginRequired
from doorward.upstream.config import ServerAuth
from doorward.upstream.http_client import HttpClient
from doorward.upstream.http_connector import HttpConnector
from doorward.upstream.oauth.discovery import fetch
from doorward.upstream.outbound import ForbiddenAddress, OutboundPolicy
from json_texts import FORBIDDEN, OURS_REFUSED


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
    """The operator named the server itself, but not the servers that it refers to."""
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
    """A server may name any authorization server; nobody else confirms the first one that it names."""
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


async def test_documents_that_are_not_strict_json_count_as_none() -> None:
    texts = iter([*FORBIDDEN, *(text for text, _ in OURS_REFUSED)])

    async def server(asked: Asked, reply: Reply) -> None:
        await reply.whole(200, next(texts))

    async with scripted(server) as odd:
        web = HttpClient(OutboundPolicy(), odd.root)
        for _ in range(len(FORBIDDEN) + len(OURS_REFUSED)):
            assert await fetch(web, "GET", odd.root) == (200, None)
        web.close()
