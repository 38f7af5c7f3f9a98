"""Host and Origin checks for every request, on every listening address.

A page on another site can make a browser send requests here. With DNS rebinding it can even read the answers. Browsers
send the true Host and Origin headers, so both are compared with the names of this server.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Awaitable, Collection

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from doorward.config.settings import ServerSettings
from doorward.core.errors import Unusable
from doorward.doors.http.headers import HeaderFields
from doorward.doors.http.problems import MEDIA_TYPE, OTHER_HOST, OTHER_ORIGIN, ProblemType
from doorward.doors.http.public_address import parse_public_url

_NAME = r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9.-]+)"
_HOST = re.compile(_NAME + r"(?::(?P<port>[0-9]{1,5}))?", re.IGNORECASE | re.ASCII)
_CHECKED_HEADERS = frozenset({b"host", b"origin"})
_MAX_ACCEPTED_HOSTS = 64
_DEFAULT_PORTS = {"http": 80, "https": 443}


class HostGuard:
    """Refuses requests for other host names and from pages of other origins."""

    def __init__(self, app: ASGIApp, allowed: Collection[str], origins: Collection[str] = ()) -> None:
        self._app = app
        self._allowed = frozenset(name.lower() for name in allowed)
        self._origins = frozenset(origin.lower() for origin in origins)
        self._accepted_hosts: set[bytes] = set()
        """Host headers that passed before; most clients send the same one."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] not in ("http", "websocket"):
            return self._app(scope, receive, send)
        head = scope["headers"]
        if type(head) is not HeaderFields:
            return self._select_app(scope)(scope, receive, send)
        if head.passed is not self:
            refusal = self._select_app(scope)
            if refusal is not self._app:
                return refusal(scope, receive, send)
            head.passed = self
        return self._app(scope, receive, send)

    def _select_app(self, scope: Scope) -> ASGIApp:
        """The application, or a response that refuses the request."""
        fields = [field for field in scope["headers"] if field[0] in _CHECKED_HEADERS]
        if len(fields) == 1 and fields[0][1] in self._accepted_hosts and fields[0][0] == b"host":
            return self._app
        hosts = [value.decode("latin-1") for name, value in fields if name == b"host"]
        origins = [value.decode("latin-1") for name, value in fields if name == b"origin"]
        address = _parse_host(hosts[0], scope.get("scheme", "http")) if len(hosts) == 1 else None
        if address is None or address[0] not in self._allowed:
            valid = ", ".join(sorted(self._allowed))
            said = f"The Host header must be one of {valid}. To add a name, change the setting server.allowed_hosts."
            return _refusal_response(OTHER_HOST, said)
        if origins and not (
            len(origins) == 1 and self._is_allowed_origin(origins[0], scope.get("scheme", "http"), address)
        ):
            return _refusal_response(
                OTHER_ORIGIN,
                "Requests from pages of another origin are refused. To allow one, change the setting "
                "server.allowed_origins.",
            )
        if len(self._accepted_hosts) < _MAX_ACCEPTED_HOSTS:
            self._accepted_hosts.update(value for name, value in fields if name == b"host")
        return self._app

    def _is_allowed_origin(self, origin: str, scheme: str, address: tuple[str, int]) -> bool:
        """Whether the origin is this server or one that the settings allow."""
        found, _, rest = origin.partition("://")
        return origin.lower() in self._origins or (found.lower() == scheme and _parse_host(rest, scheme) == address)


def allowed_host_names(server: ServerSettings) -> tuple[str, ...]:
    """The names of this server: those in the settings, the address it listens on, and that of its public address."""
    for name in server.allowed_hosts:
        if not re.fullmatch(_NAME, name, re.IGNORECASE | re.ASCII):
            raise Unusable(
                f"The setting server.allowed_hosts takes plain host names such as `doorward.example`; given {name!r}.",
                hint="Leave out schemes, ports and wildcards. Write an IPv6 address in brackets.",
            )
    names = server.allowed_hosts
    if not is_wildcard_address(server.host):
        names += (f"[{server.host}]" if ":" in server.host else server.host,)
    public = _parse_host(parse_public_url(server.public_url).partition("://")[2], "https")
    return (*names, public[0]) if public is not None else names


def allowed_origins(server: ServerSettings) -> tuple[str, ...]:
    """The origins of pages that may send requests: those in the settings, and the public address."""
    public = parse_public_url(server.public_url)
    return (*server.allowed_origins, public) if public else server.allowed_origins


def wildcard_host_warning(server: ServerSettings) -> str:
    """A warning for a server that listens on every address while allowed_hosts has its default; else empty."""
    if not is_wildcard_address(server.host) or server.public_url:
        return ""
    if server.allowed_hosts != ServerSettings().allowed_hosts:
        return ""
    return (
        f"Doorward listens on every address of this machine but accepts only requests for "
        f"{', '.join(server.allowed_hosts)}. Add the name or address that other machines use to the setting "
        "server.allowed_hosts in doorward.toml."
    )


def is_wildcard_address(host: str) -> bool:
    """Whether a host is a wildcard address, such as 0.0.0.0, which stands for every address of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == ""


def _parse_host(text: str, scheme: str) -> tuple[str, int] | None:
    """The name and port in a Host header; None when its form is wrong."""
    match = _HOST.fullmatch(text)
    if match is None:
        return None
    port = int(match["port"]) if match["port"] else _DEFAULT_PORTS.get(scheme, 80)
    return (match["name"].lower(), port) if 0 < port <= 65_535 else None


def _refusal_response(problem: ProblemType, detail: str) -> Response:
    return Response(problem.body(detail), problem.status, {"Cache-Control": "no-store"}, MEDIA_TYPE)
