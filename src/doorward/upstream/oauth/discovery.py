"""OAuth discovery: finds a server's authorization server and its metadata, and checks them before use."""

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
"""Length limit of URLs in metadata."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Metadata of a server and its authorization server."""

    resource: str
    """The server's resource identifier, sent with token requests so that a token is valid for it alone."""
    issuer: str
    token_endpoint: str
    authorization_endpoint: str = ""
    registration_endpoint: str = ""
    methods: tuple[str, ...] = ("client_secret_basic",)
    """Client authentication methods of the token endpoint."""
    scopes: tuple[str, ...] | None = None
    """Scopes that the server supports; None when it does not say."""
    offline: bool = False
    """Whether refresh tokens need the scope offline_access."""
    names_itself: bool = False
    """Whether authorization responses must contain `iss`."""
    reads_documents: bool = False
    """Whether client ID metadata documents are supported."""
    proves: bool = False
    """Whether PKCE with S256 is supported."""


async def discover(web: Web, url: str, said: str = "") -> Facts:
    """Discover the metadata for the server at `url`. `said` is the metadata URL from a challenge."""
    described = await _described(web, url, said)
    if described is None:  # as in 2025-03-26: the server is its own authorization server
        resource, issuer, scopes = url, shown(origin(url)), None
    else:
        resource, issuer, scopes = described
    plain = origin(url)[0] == "http"
    if not _is_fit(issuer, plain):
        raise NotLetIn(
            f"{shown(origin(url))} names the authorization server {issuer[:200]!r}; valid: an https URL, or a URL of"
            f" this machine if the server itself does not use https."
        )
    metadata = await _metadata(web, issuer)
    if metadata is None and described is None:
        raise NotLetIn(
            f"{shown(origin(url))} requires a token but names no authorization server; set the token with"
            " doorward servers add --bearer, or as `auth` in mcp-servers.json.",
            hint="Ask the operator of the server for a token.",
        )
    if metadata is None:
        raise NotLetIn(
            f"{shown(origin(url))} requires a login, but {issuer[:200]!r} has no authorization server metadata.",
            hint="Set a token or a header in mcp-servers.json, or ask the operator of the server.",
        )
    if metadata.get("issuer") != issuer:
        raise NotLetIn(
            f"The metadata of the authorization server {issuer[:200]!r} has the issuer "
            f"{str(metadata.get('issuer'))[:200]!r}; the two must be equal."
        )
    return _facts(metadata, resource, issuer, scopes, plain=plain)


async def _described(web: Web, url: str, said: str) -> tuple[str, str, tuple[str, ...] | None] | None:
    """Read the protected resource metadata: resource, authorization server and scopes; None when there is none."""
    parts, root = urlsplit(url), shown(origin(url))
    if said and not _is_fit(said, origin(url)[0] == "http") and not _covers(root, said):
        raise NotLetIn(
            f"{root} names the metadata URL {public(said)!r}; valid: an https URL, or a URL of the server itself."
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
            raise NotLetIn(f"{root} names the resource {str(resource)[:200]!r}; valid: its own URL, or a prefix of it.")
        if not isinstance(servers, list) or not servers or not _is_name(servers[0]):
            raise NotLetIn(f"{root} does not name an authorization server in its metadata.")
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
    """Fetch a metadata document; None when it does not exist, NotLetIn when that is unknown."""
    status, document = await fetch(web, "GET", url)
    if status >= 500 or status == 429:
        raise NotLetIn(f"{shown(origin(url))} answered {status} to the request for its OAuth metadata.")
    return document if status == 200 else None


def _facts(
    metadata: dict[str, Any], resource: str, issuer: str, scopes: tuple[str, ...] | None, *, plain: bool
) -> Facts:
    def endpoint(name: str) -> str:
        address = metadata.get(name, "")
        if not isinstance(address, str) or (address and not _is_fit(address, plain)):
            raise NotLetIn(f"The {name} of {issuer[:200]!r} must be an https URL; given {str(address)[:200]!r}.")
        return address

    token_endpoint = endpoint("token_endpoint")
    if not token_endpoint:
        raise NotLetIn(f"The authorization server {issuer[:200]!r} has no token_endpoint in its metadata.")
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
    """Whether a URL is safe to use and to show to a person.

    Without https, anybody on the network path could answer instead, name another token endpoint and get our secret.
    There is no such path to this machine itself, which is enough for a server without https (`plain`).
    """
    if not _is_name(address):
        return False
    try:
        parts = split(address)
    except BadAddress:
        return False
    return not parts.fragment and (parts.scheme == "https" or (plain and is_this_machine(parts.hostname or "")))


def _covers(resource: str, url: str) -> bool:
    """Whether `resource` is valid for a server at `url`: the same origin, and a prefix of its path."""
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
