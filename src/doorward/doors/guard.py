"""Who may address this server: Host and Origin checked on every request, whatever address it listens on.

A page on another site can make a browser send requests here, and by a trick with names (DNS rebinding) even read the
answers. The browser says truly which name it asked for and which page asks, so both are compared with what is ours.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Awaitable, Collection

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from doorward.doors.heads import Fields
from doorward.doors.problem import MEDIA_TYPE, OTHER_HOST, OTHER_ORIGIN, Problem
from doorward.errors import Unusable
from doorward.settings import Server

_NAME = r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9.-]+)"
_HOST = re.compile(_NAME + r"(?::(?P<port>[0-9]{1,5}))?", re.IGNORECASE | re.ASCII)
_WEIGHED = frozenset({b"host", b"origin"})
_MOST_KNOWN = 64
_DEFAULT_PORTS = {"http": 80, "https": 443}


class HostGuard:
    """Refuses requests for other names than ours, and from pages that are not ours."""

    def __init__(self, app: ASGIApp, allowed: Collection[str], origins: Collection[str] = ()) -> None:
        self._app = app
        self._allowed = frozenset(name.lower() for name in allowed)
        self._origins = frozenset(origin.lower() for origin in origins)
        self._known: set[bytes] = set()
        """Host headers that were found good; most clients send the same."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] not in ("http", "websocket"):
            return self._app(scope, receive, send)
        head = scope["headers"]
        if type(head) is not Fields:
            return self._judged(scope)(scope, receive, send)
        if head.passed is not self:
            refusal = self._judged(scope)
            if refusal is not self._app:
                return refusal(scope, receive, send)
            head.passed = self
        return self._app(scope, receive, send)

    def _judged(self, scope: Scope) -> ASGIApp:
        """What answers: the application, or a refusal."""
        fields = [field for field in scope["headers"] if field[0] in _WEIGHED]
        if len(fields) == 1 and fields[0][1] in self._known and fields[0][0] == b"host":
            return self._app
        hosts = [value.decode("latin-1") for name, value in fields if name == b"host"]
        origins = [value.decode("latin-1") for name, value in fields if name == b"origin"]
        address = _address(hosts[0], scope.get("scheme", "http")) if len(hosts) == 1 else None
        if address is None or address[0] not in self._allowed:
            valid = ", ".join(sorted(self._allowed))
            said = f"The Host header must name this server, as one of: {valid}; the setting is allowed_hosts."
            return _refuse(OTHER_HOST, said)
        if origins and not (len(origins) == 1 and self._is_ours(origins[0], scope.get("scheme", "http"), address)):
            return _refuse(
                OTHER_ORIGIN, "Requests from pages of another origin are not taken; the setting is allowed_origins."
            )
        if len(self._known) < _MOST_KNOWN:
            self._known.update(value for name, value in fields if name == b"host")
        return self._app

    def _is_ours(self, origin: str, scheme: str, address: tuple[str, int]) -> bool:
        """Whether a page of this very server asks, or one that the settings name."""
        found, _, rest = origin.partition("://")
        return origin.lower() in self._origins or (found.lower() == scheme and _address(rest, scheme) == address)


def names(server: Server) -> tuple[str, ...]:
    """What this server may be called: the names in the settings, and the one address that it listens on."""
    for name in server.allowed_hosts:
        if not re.fullmatch(_NAME, name, re.IGNORECASE | re.ASCII):
            raise Unusable(
                f"The setting server.allowed_hosts must hold plain names, such as `doorward.example`; given {name!r}.",
                hint="Leave out schemes, ports and wildcards; an IPv6 address stands in brackets.",
            )
    own = f"[{server.host}]" if ":" in server.host else server.host
    return server.allowed_hosts if is_everywhere(server.host) else (*server.allowed_hosts, own)


def who_is_refused(server: Server) -> str:
    """What to say at the start on all addresses of this machine, where nobody said under which names they are used."""
    if not is_everywhere(server.host) or server.allowed_hosts != Server().allowed_hosts:
        return ""
    return (
        f"Doorward listens on every address of this machine, but takes only requests for "
        f"{', '.join(server.allowed_hosts)}; all others are refused. The setting server.allowed_hosts in doorward.toml "
        "names more, such as the name or address that other machines use."
    )


def is_everywhere(host: str) -> bool:
    """Whether that is no address of its own but all of this machine's."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == ""


def _address(text: str, scheme: str) -> tuple[str, int] | None:
    """The name and port that stand in a header of exactly this form."""
    match = _HOST.fullmatch(text)
    if match is None:
        return None
    port = int(match["port"]) if match["port"] else _DEFAULT_PORTS.get(scheme, 80)
    return (match["name"].lower(), port) if 0 < port <= 65_535 else None


def _refuse(problem: Problem, detail: str) -> Response:
    return Response(problem.body(detail), problem.status, {"Cache-Control": "no-store"}, MEDIA_TYPE)
