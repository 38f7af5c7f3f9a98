"""`requestState`: signed data that a client sends back with its next request, valid for one caller and one call."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Any

import msgspec

from doorward.clock import Clock
from doorward.model import Caller
from doorward.wire.codes import INVALID_PARAMS
from doorward.wire.frames import WireError

_encode = msgspec.json.Encoder(order="sorted").encode
_MAC_BYTES = 32


class _Carried(msgspec.Struct, frozen=True, array_like=True):
    ticket: str
    owner: str
    about: str
    until: float


class States:
    """Seals and opens `requestState`. The seal proves only that this server wrote it: the gate repeats its checks."""

    def __init__(self, key: bytes, clock: Clock) -> None:
        self._key = hashlib.blake2b(b"what MCP clients carry", key=key, digest_size=32).digest()
        self._clock = clock
        self._read = msgspec.json.Decoder(_Carried).decode

    def seal(self, ticket: str, caller: Caller, what: Any, until: float) -> str:
        body = _encode(_Carried(ticket, _owner(caller), self._digest(what), until))
        return base64.urlsafe_b64encode(self._mac(body) + body).decode()

    def open(self, text: str, caller: Caller, what: Any) -> str:
        """The ticket in a state that was given to this caller for this exact call and has not expired."""
        try:
            raw = base64.urlsafe_b64decode(text.encode("ascii"))
            mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
            exact = base64.urlsafe_b64encode(raw).decode() == text  # the decoder skips characters that are not Base64
            if not exact or not hmac.compare_digest(mac, self._mac(body)):
                raise _refused("this server did not sign it")
            carried = self._read(body)
        except (ValueError, binascii.Error, msgspec.DecodeError) as error:
            raise _refused("it is malformed") from error
        if carried.owner != _owner(caller):
            raise _refused("it belongs to another caller")
        if carried.about != self._digest(what):
            raise _refused("it belongs to another call")
        if carried.until <= self._clock.now():
            raise _refused("it has expired")
        return carried.ticket

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, "sha256")

    def _digest(self, what: Any) -> str:
        return hashlib.blake2b(_encode(what), key=self._key, digest_size=16).hexdigest()


def _owner(caller: Caller) -> str:
    return "\x00".join((caller.tenant, caller.id, caller.kind, caller.on_behalf_of))


def _refused(why: str) -> WireError:
    return WireError(
        INVALID_PARAMS, f"The `requestState` is not valid: {why}. Send the request again without `requestState`."
    )
