"""Client registration and token requests at an authorization server."""

from __future__ import annotations

import base64
import re
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from doorward.upstream.authorizing import NotLetIn
from doorward.upstream.fetching import fetch
from doorward.upstream.oauth.discovery import Facts
from doorward.upstream.tokens import Client, Tokens
from doorward.upstream.web import Web

_METHODS = ("none", "client_secret_basic", "client_secret_post")
_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")
_CODE = re.compile(r"[a-z_]{1,60}")
_LONGEST_LIFE = 10 * 365 * 86_400


class Refused(NotLetIn):
    """The authorization server refused a token."""


def method_for(facts: Facts, secret: str) -> str:
    """The safest client authentication method that the authorization server supports."""
    wanted = ("client_secret_basic", "client_secret_post", "none") if secret else ("none",)
    for method in wanted:
        if method in facts.methods:
            return method
    return "client_secret_basic" if secret else "none"


async def register(web: Web, facts: Facts, redirect: str) -> Client:
    """Register Doorward as a client with this redirect URI."""
    wanted = next((method for method in _METHODS if method in facts.methods), None)
    if wanted is None:
        raise NotLetIn(
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
        raise NotLetIn(
            f"{facts.issuer!r} did not register Doorward as a client: it answered {status}{_why(given)}.",
            hint="Register Doorward there by hand, and set `clientId` in `auth` of the server's entry.",
        )
    method, secret = given.get("token_endpoint_auth_method", wanted), given.get("client_secret", "")
    if method not in _METHODS or not isinstance(secret, str) or (method != "none" and not secret):
        raise NotLetIn(
            f"{facts.issuer!r} registered Doorward for {str(method)[:60]!r} without a secret, or by an unknown method; "
            f"valid: {', '.join(_METHODS)}."
        )
    return Client(id, "" if method == "none" else secret, method, redirect)


async def token(web: Web, facts: Facts, client: Client, now: float, **form: str) -> Tokens:
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
        raise Refused(f"{facts.issuer!r} gave no token: it answered {status}{_why(given)}.")
    access, refresh, life = given.get("access_token"), given.get("refresh_token", ""), given.get("expires_in")
    if not isinstance(access, str) or not _TOKEN.fullmatch(access) or str(given.get("token_type")).lower() != "bearer":
        raise Refused(f"{facts.issuer!r} gave no valid bearer token.")
    expires = now + life if isinstance(life, int | float) and 0 < life < _LONGEST_LIFE else None
    return Tokens(access, refresh if isinstance(refresh, str) else "", expires)


def _why(given: dict[str, Any] | None) -> str:
    """The OAuth error code. The description beside it is untrusted text and not shown."""
    code = given.get("error") if given else None
    return f" ({code})" if isinstance(code, str) and _CODE.fullmatch(code) else ""
