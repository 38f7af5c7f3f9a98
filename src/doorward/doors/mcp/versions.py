"""The two eras of MCP: with a handshake and sessions, and stateless."""

from __future__ import annotations

import enum

from doorward.core.wire.codes import STATELESS, SUPPORTED, UNSUPPORTED_VERSION, WITH_SESSIONS
from doorward.core.wire.frames import WireError


class Era(enum.Enum):
    SESSIONS = "sessions"
    """Up to 2025-11-25: `initialize` first, then requests in both directions."""
    STATELESS = "stateless"
    """From 2026-07-28: no handshake; the server asks for input in its results."""


def negotiate_version(asked: object) -> str:
    """The version for a session: the requested one if it is supported, else our newest."""
    return asked if isinstance(asked, str) and asked in WITH_SESSIONS else WITH_SESSIONS[0]


def unsupported_version(version: str) -> WireError:
    """The error for a request that names this version without a handshake."""
    if version in WITH_SESSIONS:
        why = f"needs `initialize` first; valid without it: {STATELESS}."
    else:
        why = f"is not supported; valid: {STATELESS}, and after `initialize` {', '.join(WITH_SESSIONS)}."
    return WireError(
        UNSUPPORTED_VERSION,
        f"Protocol version {version[:40]!r} {why}",
        {"supported": (STATELESS,) if version in WITH_SESSIONS else SUPPORTED, "requested": version[:200]},
    )
