"""The authorization code flow: a person logs in, and Doorward gets tokens."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl, urlencode, urlsplit

from doorward.upstream.authorizing import NotLetIn
from doorward.upstream.oauth.callback import Callback
from doorward.upstream.oauth.discovery import Facts
from doorward.upstream.oauth.grants import token
from doorward.upstream.tokens import Client, Tokens
from doorward.upstream.web import Web

Person = Callable[[str], Awaitable[None]]
"""Shows a person the URL to open. Doorward never opens it by itself, and no shell ever sees it."""

PATIENCE = 300.0
_CODE = re.compile(r"[a-z_]{1,60}")


async def log_in(
    web: Web, facts: Facts, client: Client, scope: str, callback: Callback, person: Person, now: Callable[[], float]
) -> Tokens:
    """Send a person to the login page, wait for the callback, and exchange the code for tokens."""
    if not facts.authorization_endpoint:
        raise NotLetIn(f"The authorization server {facts.issuer!r} has no authorization_endpoint for a login.")
    if not facts.proves:
        raise NotLetIn(
            f"The authorization server {facts.issuer!r} does not support PKCE with S256, which a login requires."
        )
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(64)
    callback.expect(state)
    await person(_page(facts, client, scope, callback.redirect, state, verifier))
    try:
        brought = await callback.answer(PATIENCE)
    except TimeoutError as error:
        raise NotLetIn(f"The login was not completed within {PATIENCE:g} seconds.") from error
    _check(facts, brought)
    return await token(
        web,
        facts,
        client,
        now(),
        grant_type="authorization_code",
        code=brought["code"],
        redirect_uri=callback.redirect,
        code_verifier=verifier,
    )


def _page(facts: Facts, client: Client, scope: str, redirect: str, state: str, verifier: str) -> str:
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    parts = urlsplit(facts.authorization_endpoint)
    query = [
        *parse_qsl(parts.query, keep_blank_values=True),
        ("response_type", "code"),
        ("client_id", client.id),
        ("redirect_uri", redirect),
        ("state", state),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256"),
        ("resource", facts.resource),
    ]
    if scope:
        query.append(("scope", scope))
        if "offline_access" in scope.split():
            query.append(("prompt", "consent"))
    return parts._replace(query=urlencode(query), fragment="").geturl()


def _check(facts: Facts, brought: dict[str, str]) -> None:
    """Check the issuer first: a response of another server is neither used nor shown."""
    issuer = brought.get("iss")
    if issuer is None and facts.names_itself:
        raise NotLetIn(f"The login response does not name its issuer, which must be {facts.issuer!r}.")
    if issuer is not None and issuer != facts.issuer:
        raise NotLetIn(f"The login response is from another issuer than {facts.issuer!r}.")
    if "error" in brought:
        code = brought["error"] if _CODE.fullmatch(brought["error"]) else "an unknown reason"
        raise NotLetIn(f"The authorization server {facts.issuer!r} refused the login: {code}.")
    if not brought.get("code"):
        raise NotLetIn(f"The login response of {facts.issuer!r} has no authorization code.")
