"""The server's URL, and the token and room that go with it."""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import urlsplit

import msgspec

from doorward.core.errors import BadParams, NotAuthenticated

DEFAULT_URL = "http://127.0.0.1:8642"
URL_VARIABLE, TOKEN_VARIABLE, ROOM_VARIABLE = "DOORWARD_URL", "DOORWARD_TOKEN", "DOORWARD_ROOM"
"""Environment variables for what the client is not given."""


class ServerAddress(msgspec.Struct, frozen=True):
    """A validated server address."""

    url: str
    """Without a trailing slash."""
    origin: tuple[str, str, int]
    local: bool
    """Whether the server is on this machine."""


def resolve_address(url: str | None, *, plain_http: bool) -> ServerAddress:
    """Return the server's address: the given one, else the environment's, else the default on this machine."""
    text = url or os.environ.get(URL_VARIABLE) or DEFAULT_URL
    which = "The server's address" if url or text == DEFAULT_URL else f"The server's address in {URL_VARIABLE}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadParams(f"{which} is not a URL: {error}; valid: one such as {DEFAULT_URL}.") from error
    if parts.scheme not in ("http", "https") or not host:
        raise BadParams(
            f"{which} must start with http:// or https:// and name a host, such as {DEFAULT_URL}; "
            f"given: scheme {parts.scheme!r} and host {host or ''!r}."
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise BadParams(
            f"{which} must not contain a user, query or fragment; given: one for the host {host!r}.",
            hint="Give the token as token=… or in DOORWARD_TOKEN.",
        )
    local = _is_local(host)
    if parts.scheme == "http" and not local and not plain_http:
        raise BadParams(
            f"Over http:// the token would be sent unencrypted to {host}; valid: https://, or this machine.",
            hint="If you trust the network, pass plain_http=True.",
        )
    origin = (parts.scheme, host, port or (443 if parts.scheme == "https" else 80))
    return ServerAddress(text.rstrip("/"), origin, local)


def resolve_token(where: ServerAddress, given: str | None) -> str:
    """Return the token for a server. The environment's token is sent only to the environment's server."""
    token = given
    if token is None:
        theirs = resolve_address(None, plain_http=True)
        token = os.environ.get(TOKEN_VARIABLE, "") if theirs.origin == where.origin else ""
    token = token.strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise BadParams("The token contains invalid characters; valid: the text that doorward token create printed.")
    return token


def missing_token_error(where: ServerAddress) -> NotAuthenticated:
    """Return the error for a missing token."""
    hint = "The owner creates one with: doorward token create NAME --room=ROOM"
    if os.environ.get(TOKEN_VARIABLE) and resolve_address(None, plain_http=True).origin != where.origin:
        trusted = os.environ.get(URL_VARIABLE) or DEFAULT_URL
        hint = f"{TOKEN_VARIABLE} is sent only to {trusted}; set {URL_VARIABLE} too, or give token=…"
    return NotAuthenticated(
        f"No token for {where.url}; valid: token=…, {TOKEN_VARIABLE} in the environment, or a login.", hint=hint
    )


def resolve_room(given: str | None) -> str:
    return os.environ.get(ROOM_VARIABLE, "") if given is None else given


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
