"""OAuth discovery: finds a server's authorization server and its metadata, and checks them before use."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from doorward.core import strictjson
from doorward.core.errors import Unreachable
from doorward.upstream.authorization import LoginRequired
from doorward.upstream.http_client import BadUrl, HttpClient, format_origin, origin, redact_url, split_url
from doorward.upstream.outbound import is_loopback_host

_FETCH_TIMEOUT = 30.0
_MAX_DOCUMENT_BYTES = 1024 * 1024


async def fetch(
    web: HttpClient, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> tuple[int, dict[str, Any] | None]:
    """Return the status and the JSON object of the answer, None when it is not an object. Raises Unreachable.

    A POST contains codes and secrets, so redirects are followed only for GET.
    """
    try:
        async with asyncio.timeout(_FETCH_TIMEOUT):
            shows = {"Accept": "application/json", **(headers or {})}
            answer = await web.request(method, url, shows, body, follow=method == "GET")
            try:
                text = await answer.read_all(_MAX_DOCUMENT_BYTES)
            finally:
                answer.release()
    except TimeoutError as error:
        raise Unreachable(f"{format_origin(origin(url))} did not answer within {_FETCH_TIMEOUT:g} seconds.") from error
    try:
        value = strictjson.loads(text, max_bytes=_MAX_DOCUMENT_BYTES)
    except strictjson.NotJson:
        return answer.status, None
    return answer.status, value if isinstance(value, dict) else None


_RESOURCE = "/.well-known/oauth-protected-resource"
_SERVER = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"
_LONGEST = 500
"""Length limit of URLs in metadata."""


class OAuthMetadata(msgspec.Struct, frozen=True, kw_only=True):
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


async def discover(web: HttpClient, url: str, said: str = "") -> OAuthMetadata:
    """Discover the metadata for the server at `url`. `said` is the metadata URL from a challenge."""
    described = await _read_resource_metadata(web, url, said)
    if described is None:  # as in 2025-03-26: the server is its own authorization server
        resource, issuer, scopes = url, format_origin(origin(url)), None
    else:
        resource, issuer, scopes = described
    plain = origin(url)[0] == "http"
    if not _is_safe_url(issuer, plain):
        raise LoginRequired(
            f"{format_origin(origin(url))} names the authorization server {issuer[:200]!r}; valid: an https URL, or a "
            f"URL of this machine if the server itself does not use https."
        )
    metadata = await _read_server_metadata(web, issuer)
    if metadata is None and described is None:
        raise LoginRequired(
            f"{format_origin(origin(url))} requires a token but names no authorization server; set the token with"
            " doorward servers add --bearer, or as `auth` in mcp-servers.json.",
            hint="Ask the operator of the server for a token.",
        )
    if metadata is None:
        raise LoginRequired(
            f"{format_origin(origin(url))} requires a login, but {issuer[:200]!r} has no authorization server "
            "metadata.",
            hint="Set a token or a header in mcp-servers.json, or ask the operator of the server.",
        )
    if metadata.get("issuer") != issuer:
        raise LoginRequired(
            f"The metadata of the authorization server {issuer[:200]!r} has the issuer "
            f"{str(metadata.get('issuer'))[:200]!r}; the two must be equal."
        )
    return _make_metadata(metadata, resource, issuer, scopes, plain=plain)


async def _read_resource_metadata(
    web: HttpClient, url: str, said: str
) -> tuple[str, str, tuple[str, ...] | None] | None:
    """Read the protected resource metadata: resource, authorization server and scopes; None when there is none."""
    parts, root = urlsplit(url), format_origin(origin(url))
    if said and not _is_safe_url(said, origin(url)[0] == "http") and not _is_valid_resource(root, said):
        raise LoginRequired(
            f"{root} names the metadata URL {redact_url(said)!r}; valid: an https URL, or a URL of the server itself."
        )
    places = [said] if said else []
    places += [f"{root}{_RESOURCE}{parts.path}"] if parts.path not in ("", "/") else []
    places.append(f"{root}{_RESOURCE}")
    for place in dict.fromkeys(places):
        document = await _fetch_document(web, place)
        if document is None:
            continue
        resource, servers = document.get("resource"), document.get("authorization_servers")
        if not isinstance(resource, str) or not _is_valid_resource(resource, url):
            raise LoginRequired(
                f"{root} names the resource {str(resource)[:200]!r}; valid: its own URL, or a prefix of it."
            )
        if not isinstance(servers, list) or not servers or not _is_valid_issuer(servers[0]):
            raise LoginRequired(f"{root} does not name an authorization server in its metadata.")
        return resource, servers[0], _text_list(document.get("scopes_supported"))
    return None


async def _read_server_metadata(web: HttpClient, issuer: str) -> dict[str, Any] | None:
    root, path = format_origin(origin(issuer)), urlsplit(issuer).path.rstrip("/")
    places = [f"{root}{_SERVER}{path}", f"{root}{_OPENID}{path}"]
    if path:
        places.append(f"{root}{path}{_OPENID}")
    for place in places:
        document = await _fetch_document(web, place)
        if document is not None:
            return document
    return None


async def _fetch_document(web: HttpClient, url: str) -> dict[str, Any] | None:
    """Fetch a metadata document; None when it does not exist, LoginRequired when that is unknown."""
    status, document = await fetch(web, "GET", url)
    if status >= 500 or status == 429:
        raise LoginRequired(f"{format_origin(origin(url))} answered {status} to the request for its OAuth metadata.")
    return document if status == 200 else None


def _make_metadata(
    metadata: dict[str, Any], resource: str, issuer: str, scopes: tuple[str, ...] | None, *, plain: bool
) -> OAuthMetadata:
    def endpoint(name: str) -> str:
        address = metadata.get(name, "")
        if not isinstance(address, str) or (address and not _is_safe_url(address, plain)):
            raise LoginRequired(f"The {name} of {issuer[:200]!r} must be an https URL; given {str(address)[:200]!r}.")
        return address

    token_endpoint = endpoint("token_endpoint")
    if not token_endpoint:
        raise LoginRequired(f"The authorization server {issuer[:200]!r} has no token_endpoint in its metadata.")
    return OAuthMetadata(
        resource=resource,
        issuer=issuer,
        token_endpoint=token_endpoint,
        authorization_endpoint=endpoint("authorization_endpoint"),
        registration_endpoint=endpoint("registration_endpoint"),
        methods=_text_list(metadata.get("token_endpoint_auth_methods_supported")) or ("client_secret_basic",),
        scopes=scopes,
        offline="offline_access" in (_text_list(metadata.get("scopes_supported")) or ()),
        names_itself=metadata.get("authorization_response_iss_parameter_supported") is True,
        reads_documents=metadata.get("client_id_metadata_document_supported") is True,
        proves="S256" in (_text_list(metadata.get("code_challenge_methods_supported")) or ()),
    )


def _is_valid_issuer(issuer: Any) -> bool:
    return isinstance(issuer, str) and issuer.isascii() and 0 < len(issuer) <= _LONGEST


def _is_safe_url(address: str, plain: bool) -> bool:
    """Whether a URL is safe to use and to show to a person.

    Without https, anybody on the network path could answer instead, name another token endpoint and get our secret.
    There is no such path to this machine itself, which is enough for a server without https (`plain`).
    """
    if not _is_valid_issuer(address):
        return False
    try:
        parts = split_url(address)
    except BadUrl:
        return False
    return not parts.fragment and (parts.scheme == "https" or (plain and is_loopback_host(parts.hostname or "")))


def _is_valid_resource(resource: str, url: str) -> bool:
    """Whether `resource` is valid for a server at `url`: the same origin, and a prefix of its path."""
    try:
        if origin(resource) != origin(url) or urlsplit(resource).fragment:
            return False
    except BadUrl:
        return False
    above, path = urlsplit(resource).path.rstrip("/"), urlsplit(url).path.rstrip("/")
    return path == above or path.startswith(f"{above}/")


def _text_list(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return None
    return tuple(value)
