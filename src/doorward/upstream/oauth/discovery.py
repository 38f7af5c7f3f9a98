"""Where a server says that one logs in, and what is known of that place. All of it is checked before it is used."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import msgspec

from doorward.upstream.authorizing import NotLetIn
from doorward.upstream.fetching import fetch
from doorward.upstream.outbound import is_this_machine
from doorward.upstream.web import BadAddress, Web, origin, public, shown, split

_RESOURCE = "/.well-known/oauth-protected-resource"
_SERVER = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"
_LONGEST = 500
"""Characters of an address in metadata."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a server and of the authorization server that vouches for its callers."""

    resource: str
    """What the server calls itself; sent along, so that a token is good for it alone."""
    issuer: str
    token_endpoint: str
    authorization_endpoint: str = ""
    registration_endpoint: str = ""
    methods: tuple[str, ...] = ("client_secret_basic",)
    """How a client may show itself when it asks for a token."""
    scopes: tuple[str, ...] | None = None
    """What the server wants at least; None when it does not say."""
    offline: bool = False
    """Whether tokens that can be renewed are a scope of their own."""
    names_itself: bool = False
    """Whether every answer of the authorization server must say whose it is."""
    reads_documents: bool = False
    """Whether a client may be known by the address of a document about it."""
    proves: bool = False
    """Whether whoever began a login must prove it when it ends (PKCE with S256)."""


async def discover(web: Web, url: str, said: str = "") -> Facts:
    """The facts about the server at `url`; `said` is the address of its metadata as a refusal gave it."""
    described = await _described(web, url, said)
    if described is None:  # the way of 2025-03-26: the server is its own authorization server
        resource, issuer, scopes = url, shown(origin(url)), None
    else:
        resource, issuer, scopes = described
    plain = origin(url)[0] == "http"
    if not _is_fit(issuer, plain):
        raise NotLetIn(
            f"{shown(origin(url))} names the authorization server {issuer[:200]!r}; it must be an address with https,"
            f" or one of this machine where the server's own has no https either."
        )
    metadata = await _metadata(web, issuer)
    if metadata is None and described is None:
        raise NotLetIn(
            f"{shown(origin(url))} wants a token, and names no authorization server that gives one; give it one with"
            " doorward servers add --bearer, or as `auth` in mcp-servers.json.",
            hint="Ask whoever runs it for a token.",
        )
    if metadata is None:
        raise NotLetIn(
            f"{shown(origin(url))} wants to know who asks, but {issuer[:200]!r} does not say how one logs in there.",
            hint="Give the server a token or a header in mcp-servers.json, or ask whoever runs it.",
        )
    if metadata.get("issuer") != issuer:
        raise NotLetIn(
            f"The authorization server {issuer[:200]!r} calls itself {str(metadata.get('issuer'))[:200]!r}; it must be "
            f"the very same name."
        )
    return _facts(metadata, resource, issuer, scopes, plain=plain)


async def _described(web: Web, url: str, said: str) -> tuple[str, str, tuple[str, ...] | None] | None:
    """What the server says of itself: its name, its authorization server and its scopes; None when it says nothing."""
    parts, root = urlsplit(url), shown(origin(url))
    if said and not _is_fit(said, origin(url)[0] == "http") and not _covers(root, said):
        raise NotLetIn(
            f"{root} says that it is described at {public(said)!r}; that must be an address with https, or one of its"
            f" own."
        )
    places = [said] if said else []
    places += [f"{root}{_RESOURCE}{parts.path}"] if parts.path not in ("", "/") else []
    places.append(f"{root}{_RESOURCE}")
    for place in dict.fromkeys(places):
        document = await _document(web, place)
        if document is None:
            continue
        resource, servers = document.get("resource"), document.get("authorization_servers")
        if not isinstance(resource, str) or not _covers(resource, url):
            raise NotLetIn(
                f"{root} calls itself {str(resource)[:200]!r}; that must be its own address, or the beginning of it."
            )
        if not isinstance(servers, list) or not servers or not _is_name(servers[0]):
            raise NotLetIn(f"{root} does not say which authorization server vouches for its callers.")
        return resource, servers[0], _texts(document.get("scopes_supported"))
    return None


async def _metadata(web: Web, issuer: str) -> dict[str, Any] | None:
    root, path = shown(origin(issuer)), urlsplit(issuer).path.rstrip("/")
    places = [f"{root}{_SERVER}{path}", f"{root}{_OPENID}{path}"]
    if path:
        places.append(f"{root}{path}{_OPENID}")
    for place in places:
        document = await _document(web, place)
        if document is not None:
            return document
    return None


async def _document(web: Web, url: str) -> dict[str, Any] | None:
    """None when it is not there; an error when nobody can tell."""
    status, document = await fetch(web, "GET", url)
    if status >= 500 or status == 429:
        raise NotLetIn(f"{shown(origin(url))} answered {status} when it was asked how one logs in.")
    return document if status == 200 else None


def _facts(
    metadata: dict[str, Any], resource: str, issuer: str, scopes: tuple[str, ...] | None, *, plain: bool
) -> Facts:
    def endpoint(name: str) -> str:
        address = metadata.get(name, "")
        if not isinstance(address, str) or (address and not _is_fit(address, plain)):
            raise NotLetIn(
                f"The {name} of {issuer[:200]!r} must be an address with https; given was {str(address)[:200]!r}."
            )
        return address

    token_endpoint = endpoint("token_endpoint")
    if not token_endpoint:
        raise NotLetIn(f"The authorization server {issuer[:200]!r} does not say where it gives tokens.")
    return Facts(
        resource=resource,
        issuer=issuer,
        token_endpoint=token_endpoint,
        authorization_endpoint=endpoint("authorization_endpoint"),
        registration_endpoint=endpoint("registration_endpoint"),
        methods=_texts(metadata.get("token_endpoint_auth_methods_supported")) or ("client_secret_basic",),
        scopes=scopes,
        offline="offline_access" in (_texts(metadata.get("scopes_supported")) or ()),
        names_itself=metadata.get("authorization_response_iss_parameter_supported") is True,
        reads_documents=metadata.get("client_id_metadata_document_supported") is True,
        proves="S256" in (_texts(metadata.get("code_challenge_methods_supported")) or ()),
    )


def _is_name(issuer: Any) -> bool:
    return isinstance(issuer, str) and issuer.isascii() and 0 < len(issuer) <= _LONGEST


def _is_fit(address: str, plain: bool) -> bool:
    """Whether it can be asked, and shown to a person without hiding anything.

    Without https anybody on the way could answer in its place, say where tokens are given, and be shown our secret
    there. Nobody is on the way to this machine itself, which is enough for a server that has no https either: `plain`.
    """
    if not _is_name(address):
        return False
    try:
        parts = split(address)
    except BadAddress:
        return False
    return not parts.fragment and (parts.scheme == "https" or (plain and is_this_machine(parts.hostname or "")))


def _covers(resource: str, url: str) -> bool:
    """Whether a server at `url` may call itself this: the same origin, and the beginning of its path."""
    try:
        if origin(resource) != origin(url) or urlsplit(resource).fragment:
            return False
    except BadAddress:
        return False
    above, path = urlsplit(resource).path.rstrip("/"), urlsplit(url).path.rstrip("/")
    return path == above or path.startswith(f"{above}/")


def _texts(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return None
    return tuple(value)
