"""What a request says about itself in `_meta`: since 2026-07-28 everything that a handshake said before."""

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
"""How grave a message is, from the least to the most."""

LONGEST_TOKEN = 1_000
"""Characters of a progress token, which goes back with every notification."""

_NOTHING: dict[str, Any] = {}


class Meta(msgspec.Struct, frozen=True):
    """What of it this house reads."""

    progress: Id | None = None
    """The token under which the sender wants to hear how far its request is."""
    version: str | None = None
    capabilities: dict[str, Any] | None = None
    client: str = ""
    """What the sender calls itself; for people to read, and never believed."""
    level: Level | None = None


NONE = Meta()


def read(method: str, params: Mapping[str, Any]) -> Meta:
    """The `_meta` of a request, as far as it is there."""
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
        raise _wrong(method, "progressToken", "a text or a whole number")
    if type(progress) is str and len(progress) > LONGEST_TOKEN:
        raise _wrong(method, "progressToken", f"a text of at most {LONGEST_TOKEN} characters")
    if version is not None and type(version) is not str:
        raise _wrong(method, VERSION, "a text")
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
