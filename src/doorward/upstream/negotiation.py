"""Negotiates the protocol version: tries the newest first, then the older handshake.

A server that answers `server/discover`, or refuses it with an error code of the newer version, speaks the newer one.
Any other error, or no answer, means an older version. The result is remembered for the next start.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from doorward import __version__
from doorward.core.errors import TimedOut, Unreachable
from doorward.core.wire import meta
from doorward.core.wire.codes import HEADER_MISMATCH, MISSING_CAPABILITY, STATELESS, UNSUPPORTED_VERSION, WITH_SESSIONS
from doorward.upstream import elicitation
from doorward.upstream.connection import RequestRejected
from doorward.upstream.session import ServerError, Session

ProtocolEra = Literal["", "handshake", "stateless"]

ACCEPTED = (*WITH_SESSIONS, "2024-11-05")
"""Versions with a handshake, newest first."""
_MODERN_ERRORS = frozenset({UNSUPPORTED_VERSION, HEADER_MISMATCH, MISSING_CAPABILITY})
_PROBE_SECONDS = 5.0
"""Seconds without an answer after which the server counts as older."""
_LONGEST_INSTRUCTIONS = 20_000


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says about itself. It is untrusted."""

    server: dict[str, Any] = {}
    """Its name and version, from `serverInfo`."""
    protocol: str = ""
    instructions: str = ""
    capabilities: dict[str, Any] = {}

    @property
    def era(self) -> ProtocolEra:
        return "" if not self.protocol else "stateless" if self.protocol >= STATELESS else "handshake"


async def negotiate(
    session: Session, known: ProtocolEra, *, within: float, sampling: bool, probe: float = _PROBE_SECONDS
) -> ServerInfo:
    """Negotiate the version; raises Unreachable when there is none in common. `known` is the last result."""
    info = None
    silent = False
    if known != "handshake":
        try:
            info = await _discover(session, min(probe, within / 3) if not known else within)
        except TimedOut:
            silent = True
        except (ServerError, RequestRejected) as error:
            if isinstance(error, ServerError) and STATELESS in _supported_versions(
                error
            ):  # it refused a version that it supports
                info = await _discover(session, within)
            elif isinstance(error, ServerError) and error.number in _MODERN_ERRORS and not _supports_handshake(error):
                raise _no_version_error(session, error) from error
    if info is None:
        try:
            info = await _initialize(session, within, sampling)
        except ServerError as error:
            # A server that speaks only the newer version and was too slow to answer the first request.
            if not silent and error.number not in _MODERN_ERRORS:
                raise
            info = await _discover(session, within)
            if info is None:
                raise _no_version_error(session, error) from error
    session.connection.agreed(info.protocol)
    return info


async def _discover(session: Session, within: float) -> ServerInfo | None:
    """Ask with `server/discover`; None when the server supports older versions only."""
    session.set_version(STATELESS)
    result = await session.request("server/discover", {}, within=within)
    versions, about = result.get("supportedVersions"), result.get("_meta")
    if type(versions) is not list or STATELESS not in versions:
        return None
    server = about.get(meta.SERVER) if type(about) is dict else None
    return _make_info(STATELESS, result, server)


async def _initialize(session: Session, within: float, sampling: bool) -> ServerInfo:
    session.set_version(ACCEPTED[0])
    params = {
        "protocolVersion": ACCEPTED[0],
        "capabilities": elicitation.client_capabilities(sampling),
        "clientInfo": {"name": "doorward", "version": __version__},
    }
    result = await session.request("initialize", params, within=within)
    version = result.get("protocolVersion")
    if version not in ACCEPTED:
        raise Unreachable(
            f"The server {session.name} requests protocol version {str(version)[:40]!r}; valid:"
            f" {', '.join((STATELESS, *ACCEPTED))}."
        )
    session.set_version(version)
    session.connection.agreed(version)
    session.notify("notifications/initialized")
    return _make_info(version, result, result.get("serverInfo"))


def _make_info(version: str, result: dict[str, Any], server: Any) -> ServerInfo:
    instructions, capabilities = result.get("instructions"), result.get("capabilities")
    return ServerInfo(
        server=server if type(server) is dict else {},
        protocol=version,
        instructions=instructions[:_LONGEST_INSTRUCTIONS] if type(instructions) is str else "",
        capabilities=capabilities if type(capabilities) is dict else {},
    )


def _supports_handshake(error: ServerError) -> bool:
    """Whether the server's refusal lists a version with a handshake."""
    return any(one in ACCEPTED for one in _supported_versions(error))


def _supported_versions(error: ServerError) -> list[Any]:
    """The versions in the server's refusal."""
    named = error.data.get("supported") if type(error.data) is dict else None
    return named if error.number == UNSUPPORTED_VERSION and type(named) is list else []


def _no_version_error(session: Session, error: ServerError) -> Unreachable:
    return Unreachable(
        f"The server {session.name} and Doorward have no protocol version in common; Doorward speaks"
        f" {', '.join((STATELESS, *ACCEPTED))}. {error.message}"
    )
