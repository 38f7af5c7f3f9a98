"""The `_meta` of a request: since 2026-07-28 it holds what the handshake held before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

from doorward.core.wire.codes import INVALID_PARAMS
from doorward.core.wire.frames import WireError
from doorward.core.wire.ids import Id

_PREFIX = "io.modelcontextprotocol/"
VERSION = f"{_PREFIX}protocolVersion"
CLIENT = f"{_PREFIX}clientInfo"
CAPABILITIES = f"{_PREFIX}clientCapabilities"
LOG_LEVEL = f"{_PREFIX}logLevel"
SUBSCRIPTION = f"{_PREFIX}subscriptionId"
SERVER = f"{_PREFIX}serverInfo"

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LOG_LEVELS: tuple[LogLevel, ...] = get_args(LogLevel)
"""Log levels, from the least to the most severe."""

MAX_TOKEN_LENGTH = 1_000
"""Longest progress token, in characters, because every notification repeats it."""

_NOTHING: dict[str, Any] = {}


class RequestMeta(msgspec.Struct, frozen=True):
    """The fields of `_meta` that Doorward reads."""

    progress: Id | None = None
    """The token for progress notifications, if the sender wants them."""
    version: str | None = None
    capabilities: dict[str, Any] | None = None
    client: str = ""
    """The sender's own name; for people to read, never trusted."""
    level: LogLevel | None = None


NO_META = RequestMeta()


def parse_meta(method: str, params: Mapping[str, Any]) -> RequestMeta:
    """Parse the `_meta` of a request."""
    meta = params.get("_meta", _NOTHING)
    if not meta:
        if type(meta) is not dict:
            raise WireError(INVALID_PARAMS, f"{method}: `_meta` must be an object.")
        return NO_META
    if type(meta) is not dict:
        raise WireError(INVALID_PARAMS, f"{method}: `_meta` must be an object.")
    progress, version = meta.get("progressToken"), meta.get(VERSION)
    capabilities, client, level = meta.get(CAPABILITIES), meta.get(CLIENT, _NOTHING), meta.get(LOG_LEVEL)
    if progress is not None and type(progress) is not str and type(progress) is not int:
        raise _invalid_field(method, "progressToken", "a string or an integer")
    if type(progress) is str and len(progress) > MAX_TOKEN_LENGTH:
        raise _invalid_field(method, "progressToken", f"a string of at most {MAX_TOKEN_LENGTH} characters")
    if version is not None and type(version) is not str:
        raise _invalid_field(method, VERSION, "a string")
    if capabilities is not None and type(capabilities) is not dict:
        raise _invalid_field(method, CAPABILITIES, "an object")
    if type(client) is not dict:
        raise _invalid_field(method, CLIENT, "an object with `name` and `version`")
    if level is not None and level not in LOG_LEVELS:
        raise _invalid_field(method, LOG_LEVEL, f"one of {', '.join(LOG_LEVELS)}")
    name = client.get("name", "")
    return RequestMeta(progress, version, capabilities, name[:200] if type(name) is str else "", level)


def _invalid_field(method: str, key: str, valid: str) -> WireError:
    return WireError(INVALID_PARAMS, f"{method}: `{key}` in `_meta` must be {valid}.")
