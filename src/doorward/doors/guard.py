"""Who may address this server: Host and Origin checked on every request, whatever address it listens on."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class HostGuard:
    """Refuses requests for other names than ours, which is what a web page on another site would send."""

    def __init__(self, app: ASGIApp, allowed: Collection[str]) -> None:
        self._app = app
        self._allowed = frozenset(name.lower() for name in allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or self._name(f"//{hosts[0]}") not in self._allowed:
            refusal = "The Host header names no address of this server"
        elif origins and (len(origins) != 1 or self._name(origins[0]) not in self._allowed):
            refusal = "Requests from pages of another origin are not taken"
        else:
            await self._app(scope, receive, send)
            return
        valid = ", ".join(sorted(self._allowed))
        await JSONResponse({"error": f"{refusal}; valid: {valid}."}, status_code=403)(scope, receive, send)

    @staticmethod
    def _name(address: str) -> str:
        """The host name in `//host:port`, or "" for anything that holds more or less than that."""
        try:
            parts = urlsplit(address)
            _ = parts.port
        except ValueError:
            return ""
        if parts.path or parts.query or parts.fragment or parts.username is not None or not parts.hostname:
            return ""
        return f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
