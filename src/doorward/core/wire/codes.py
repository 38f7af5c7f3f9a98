"""Error codes of JSON-RPC and MCP, and the supported MCP versions."""

from __future__ import annotations

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

RESOURCE_NOT_FOUND = -32002
"""Only up to 2025-11-25; later versions use INVALID_PARAMS."""
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

STATELESS = "2026-07-28"
"""The version without sessions, in which every request is self-contained."""
WITH_SESSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Versions that begin with a handshake, newest first."""
SUPPORTED = (STATELESS, *WITH_SESSIONS)
