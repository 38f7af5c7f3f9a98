"""The `_meta` of a request: since 2026-07-28 it holds what the handshake held before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

from doorward.wire.codes import INVALID_PARAMS
from doorward.wire.frames import WireError
from doorward.wire.ids import Id

_PREFIX = "io.modelcontextprotocol/"
VERSION = f"{_PREFIX}protocolVersion"
CLIENT = f"{_PREFIX}clientInfo"
CAPABILITIES = f"{_PREFIX}clientCapabilities"
LOG_LEVEL = f"{_PREFIX}logLevel"
SUBSCRIPTION = f"{_PREFIX}subscriptionId"
SERVER = f"{_PREFIX}serverInfo"

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""Log levels, from the least to the most severe."""

LONGEST_TOKEN = 1_000
"""Longest progress token, in characters, because every notification repeats it."""

_NOTHING: dict[str, Any] = {}


class Meta(msgspec.Struct, frozen=True):
    """The fields of `_meta` that Doorward reads."""

    progress: Id | None = None
    """The token for progress notifications, if the sender wants them."""
    version: str | None = None
    capabilities: dict[str, Any] | None = None
    client: str = ""
    """The sender's own name; for people to read, never trusted."""
    level: Level | None = None


NONE = Meta()


def read(method: str, params: Mapping[str, Any]) -> Meta:
    """Parse the `_meta` of a request."""
    meta = params.get("_meta", _NOTHING)
    if not meta:
        if type(meta) is not dict:
            raise WireError(INVALID_PARAMS, f"{method}: `_meta` must be an object.")
        return NONE
    if type(meta) is not dict:
        raise WireError(INVALID_PARAMS, f"{method}: `_meta` must be an object.")
    progress, version = meta.get("progressToken"), meta.get(VERSION)
    capabilities, client, level = meta.get(CAPABILITIES), meta.get(CLIENT, _NOTHING), meta.get(LOG_LEVEL)
    if progress is not None and type(progress) is not str and type(progress) is not int:
        raise _wrong(method, "progressToken", "a string or an integer")
    if type(progress) is str and len(progress) > LONGEST_TOKEN:
        raise _wrong(method, "progressToken", f"a string of at most {LONGEST_TOKEN} characters")
    if version is not None and type(version) is not str:
        raise _wrong(method, VERSION, "a string")
    if capabilities is not None and type(capabilities) is not dict:
        raise _wrong(method, CAPABILITIES, "an object")
    if type(client) is not dict:
        raise _wrong(method, CLIENT, "an object with `name` and `version`")
    if level is not None and level not in LEVELS:
        raise _wrong(method, LOG_LEVEL, f"one of {', '.join(LEVELS)}")
    name = client.get("name", "")
    return Meta(progress, version, capabilities, name[:200] if type(name) is str else "", level)


def _wrong(method: str, key: str, valid: str) -> WireError:
    return WireError(INVALID_PARAMS, f"{method}: `{key}` in `_meta` must be {valid}.")
