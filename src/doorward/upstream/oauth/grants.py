"""Client registration and token requests at an authorization server."""

from __future__ import annotations

import base64
import re
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from doorward.upstream.authorization import LoginRequired
from doorward.upstream.http_client import HttpClient
from doorward.upstream.oauth.discovery import OAuthMetadata, fetch
from doorward.upstream.oauth.token_store import OAuthClient, OAuthTokens

_METHODS = ("none", "client_secret_basic", "client_secret_post")
_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")
_CODE = re.compile(r"[a-z_]{1,60}")
_LONGEST_LIFE = 10 * 365 * 86_400


class TokenRefused(LoginRequired):
    """The authorization server refused a token."""


def choose_auth_method(facts: OAuthMetadata, secret: str) -> str:
    """The safest client authentication method that the authorization server supports."""
    wanted = ("client_secret_basic", "client_secret_post", "none") if secret else ("none",)
    for method in wanted:
        if method in facts.methods:
            return method
    return "client_secret_basic" if secret else "none"


async def register_client(web: HttpClient, facts: OAuthMetadata, redirect: str) -> OAuthClient:
    """Register Doorward as a client with this redirect URI."""
    wanted = next((method for method in _METHODS if method in facts.methods), None)
    if wanted is None:
        raise LoginRequired(
            f"{facts.issuer!r} supports only the authentication methods {', '.join(facts.methods)[:200]}; valid: "
            f"{', '.join(_METHODS)}."
        )
    about = {
        "client_name": "Doorward",
        "application_type": "native",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted,
    }
    status, given = await fetch(
        web,
        "POST",
        facts.registration_endpoint,
        {"Content-Type": "application/json"},
        msgspec.json.encode(about),
    )
    id = given.get("client_id") if given else None
    if status not in (200, 201) or given is None or not isinstance(id, str) or not id:
        raise LoginRequired(
            f"{facts.issuer!r} did not register Doorward as a client: it answered {status}{_error_code(given)}.",
            hint="Register Doorward there by hand, and set `clientId` in `auth` of the server's entry.",
        )
    method, secret = given.get("token_endpoint_auth_method", wanted), given.get("client_secret", "")
    if method not in _METHODS or not isinstance(secret, str) or (method != "none" and not secret):
        raise LoginRequired(
            f"{facts.issuer!r} registered Doorward for {str(method)[:60]!r} without a secret, or by an unknown method; "
            f"valid: {', '.join(_METHODS)}."
        )
    return OAuthClient(id, "" if method == "none" else secret, method, redirect)


async def request_token(
    web: HttpClient, facts: OAuthMetadata, client: OAuthClient, now: float, **form: str
) -> OAuthTokens:
    """Request tokens with this form and the client's authentication."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    if facts.resource:
        form["resource"] = facts.resource
    if client.method == "client_secret_basic":
        pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    else:
        form["client_id"] = client.id
        if client.method == "client_secret_post":
            form["client_secret"] = client.secret
    status, given = await fetch(web, "POST", facts.token_endpoint, headers, urlencode(form).encode())
    if status != 200 or given is None:
        raise TokenRefused(f"{facts.issuer!r} gave no token: it answered {status}{_error_code(given)}.")
    access, refresh, life = given.get("access_token"), given.get("refresh_token", ""), given.get("expires_in")
    if not isinstance(access, str) or not _TOKEN.fullmatch(access) or str(given.get("token_type")).lower() != "bearer":
        raise TokenRefused(f"{facts.issuer!r} gave no valid bearer token.")
    expires = now + life if isinstance(life, int | float) and 0 < life < _LONGEST_LIFE else None
    return OAuthTokens(access, refresh if isinstance(refresh, str) else "", expires)


def _error_code(given: dict[str, Any] | None) -> str:
    """The OAuth error code. The description beside it is untrusted text and not shown."""
    code = given.get("error") if given else None
    return f" ({code})" if isinstance(code, str) and _CODE.fullmatch(code) else ""
