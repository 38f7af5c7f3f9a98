"""Who may address this server: Host and Origin checked on every request, whatever address it listens on."""

from __future__ import annotations

import re
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_ADDRESS = r"(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::[0-9]{1,5})?"
_HOST = re.compile(_ADDRESS, re.IGNORECASE | re.ASCII)
_ORIGIN = re.compile(f"https?://{_ADDRESS}", re.IGNORECASE | re.ASCII)


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
        if len(hosts) != 1 or _name(_HOST, hosts[0]) not in self._allowed:
            refusal = "The Host header names no address of this server"
        elif origins and (len(origins) != 1 or _name(_ORIGIN, origins[0]) not in self._allowed):
            refusal = "Requests from pages of another origin are not taken"
        else:
            await self._app(scope, receive, send)
            return
        valid = ", ".join(sorted(self._allowed))
        await JSONResponse({"error": f"{refusal}; valid: {valid}."}, status_code=403)(scope, receive, send)


def _name(form: re.Pattern[str], text: str) -> str:
    """The host name in a header that has exactly this form, else ""."""
    match = form.fullmatch(text)
    return match[1].lower() if match else ""
