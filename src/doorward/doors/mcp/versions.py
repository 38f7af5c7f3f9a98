"""Two eras of MCP: one with a handshake and sessions, and one in which every request says all about itself."""

from __future__ import annotations

import enum

from doorward.wire.codes import STATELESS, SUPPORTED, UNSUPPORTED_VERSION, WITH_SESSIONS
from doorward.wire.frames import WireError


class Era(enum.Enum):
    SESSIONS = "sessions"
    """Up to 2025-11-25: `initialize` first, then requests in both directions."""
    STATELESS = "stateless"
    """From 2026-07-28 on: no handshake; what the server wants to know it asks in its result."""


def negotiated(asked: object) -> str:
    """The version with sessions that is spoken after a handshake: the one asked for, or our newest."""
    return asked if isinstance(asked, str) and asked in WITH_SESSIONS else WITH_SESSIONS[0]


def not_spoken(version: str) -> WireError:
    """Why a request that names this version, without a handshake, is refused."""
    if version in WITH_SESSIONS:
        why = f"is spoken here only after `initialize`; valid without: {STATELESS}."
    else:
        why = f"is not spoken here; valid: {STATELESS}, and after `initialize` {', '.join(WITH_SESSIONS)}."
    return WireError(
        UNSUPPORTED_VERSION,
        f"The version {version[:40]!r} of the protocol {why}",
        {"supported": (STATELESS,) if version in WITH_SESSIONS else SUPPORTED, "requested": version[:200]},
    )
