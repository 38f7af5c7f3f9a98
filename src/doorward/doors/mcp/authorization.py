"""Bearer tokens for MCP over HTTP, and the metadata that tells clients about them (RFC 9728)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.types import Receive, Scope, Send

from doorward.config.settings import Settings
from doorward.core.errors import NotAuthenticated
from doorward.core.model import Credential
from doorward.doors.http.public_address import parse_public_url

WELL_KNOWN = "/.well-known/oauth-protected-resource"
_encode = msgspec.json.Encoder().encode


def read_bearer(headers: Mapping[bytes, bytes]) -> Credential:
    """The credential in the Authorization header. A token in the URL or the body does not count."""
    header = headers.get(b"authorization")
    if header is None:
        raise NotAuthenticated(
            "No credentials. Send the header `Authorization: Bearer TOKEN` with a token from `doorward token create`."
        )
    scheme, _, token = header.decode("latin-1").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise NotAuthenticated("The Authorization header must be `Bearer TOKEN`; the given header has another form.")
    return Credential(token=token.strip())


def base_url(scope: Scope, headers: Mapping[bytes, bytes], settings: Settings) -> str:
    """The base URL that the client used. The guard has already checked the Host header."""
    if settings.server.public_url:
        return parse_public_url(settings.server.public_url)
    host = headers.get(b"host", b"127.0.0.1").decode("latin-1")
    return f"{scope.get('scheme', 'http')}://{host}"


def build_challenge(scope: Scope, headers: Mapping[bytes, bytes], settings: Settings, path: str) -> bytes:
    """The WWW-Authenticate header of a refusal: where the client learns how to authenticate.

    A client can put anything into a path, and the path arrives decoded, so it is encoded again for the header.
    """
    where = f'Bearer resource_metadata="{base_url(scope, headers, settings)}{WELL_KNOWN}{_quote_path(path)}"'
    if b"authorization" in headers:
        where += ', error="invalid_token", error_description="The token is not valid here."'
    return where.encode("latin-1")


class ProtectedResourceMetadata:
    """The public RFC 9728 document that says how an MCP endpoint is protected."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        path = scope["path"].removeprefix(WELL_KNOWN) or "/mcp"
        about: dict[str, Any] = {
            "resource": base_url(scope, headers, self._settings) + _quote_path(path),
            "resource_name": "Doorward",
            "bearer_methods_supported": ["header"],
        }
        if self._settings.mcp.authorization_servers:
            about["authorization_servers"] = self._settings.mcp.authorization_servers
        body = _encode(about)
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [
                    (b"content-type", b"application/json"),
                    (b"content-length", b"%d" % len(body)),
                    (b"cache-control", b"max-age=300"),
                ],
            }
        )
        await send({"type": "http.response.body", "body": body})


def _quote_path(path: str) -> str:
    return quote(path, errors="replace")
