"""Two eras of MCP: one with a handshake and sessions, and one in which every request says all about itself."""

from __future__ import annotations

import enum

from doorward.wire.codes import WITH_SESSIONS


class Era(enum.Enum):
    SESSIONS = "sessions"
    """Up to 2025-11-25: `initialize` first, then requests in both directions."""
    STATELESS = "stateless"
    """From 2026-07-28 on: no handshake; what the server wants to know it asks in its result."""


def negotiated(asked: object) -> str:
    """The version with sessions that is spoken after a handshake: the one asked for, or our newest."""
    return asked if isinstance(asked, str) and asked in WITH_SESSIONS else WITH_SESSIONS[0]
