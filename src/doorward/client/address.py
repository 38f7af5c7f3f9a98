"""Where the server is, and which token belongs there."""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import urlsplit

import msgspec

from doorward.errors import BadParams, NotAuthenticated

LOCAL = "http://127.0.0.1:8642"
URL, TOKEN, ROOM = "DOORWARD_URL", "DOORWARD_TOKEN", "DOORWARD_ROOM"
"""The variables of the environment that a client takes what it is not given from."""


class Address(msgspec.Struct, frozen=True):
    """A server's address, checked."""

    url: str
    """Without a slash at the end."""
    origin: tuple[str, str, int]
    local: bool
    """Whether it is this machine."""


def address(url: str | None, *, plain_http: bool) -> Address:
    """The server that is meant: the one given, else that of the environment, else the one on this machine."""
    text = url or os.environ.get(URL) or LOCAL
    which = "The server's address" if url or text == LOCAL else f"The server's address in {URL}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadParams(f"{which} is no URL: {error}; valid is one such as {LOCAL}.") from error
    if parts.scheme not in ("http", "https") or not host:
        raise BadParams(
            f"{which} must begin with http:// or https:// and name a host, such as {LOCAL}; "
            f"given was scheme {parts.scheme!r} and host {host or ''!r}."
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise BadParams(
            f"{which} may hold no user, query or fragment; given was one for the host {host!r}.",
            hint="Give the token as token=… or in DOORWARD_TOKEN.",
        )
    local = _is_local(host)
    if parts.scheme == "http" and not local and not plain_http:
        raise BadParams(
            f"Over http:// the token would travel readably to {host}; valid: https://, or this machine.",
            hint="Where the network between is your own, say plain_http=True.",
        )
    origin = (parts.scheme, host, port or (443 if parts.scheme == "https" else 80))
    return Address(text.rstrip("/"), origin, local)


def token_for(where: Address, given: str | None) -> str:
    """The token to show there. That of the environment goes only to the server of the environment."""
    token = given
    if token is None:
        theirs = address(None, plain_http=True)
        token = os.environ.get(TOKEN, "") if theirs.origin == where.origin else ""
    token = token.strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise BadParams("The token holds characters that no token has; valid is what doorward token create printed.")
    return token


def missing(where: Address) -> NotAuthenticated:
    """There is no token to show there."""
    hint = "The owner makes one with: doorward token create NAME --room=ROOM"
    if os.environ.get(TOKEN) and address(None, plain_http=True).origin != where.origin:
        hint = (
            f"{TOKEN} belongs to {os.environ.get(URL) or LOCAL} and goes nowhere else; set {URL} too, or give token=…"
        )
    return NotAuthenticated(
        f"There is no token for {where.url}; valid: token=…, {TOKEN} in the environment, or a login.", hint=hint
    )


def room_for(given: str | None) -> str:
    return os.environ.get(ROOM, "") if given is None else given


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
