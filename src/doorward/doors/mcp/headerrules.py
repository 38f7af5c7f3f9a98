"""Header rules of the stateless era: the headers must match the body."""

from __future__ import annotations

from collections.abc import Mapping

from doorward.doors.mcp.versions import not_spoken
from doorward.wire import headers as values
from doorward.wire.codes import HEADER_MISMATCH, INVALID_PARAMS, SUPPORTED
from doorward.wire.frames import Request, WireError
from doorward.wire.meta import Meta

NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The methods with the header Mcp-Name, and the parameter that it must match."""


def check_version(headers: Mapping[bytes, bytes], said: Meta) -> None:
    version = headers.get(b"mcp-protocol-version")
    if version is None:
        raise _mismatch("the header MCP-Protocol-Version is missing")
    if said.version is not None and version.decode("latin-1") != said.version:
        raise _mismatch(f"the header MCP-Protocol-Version is {_shown(version)}, the body says {said.version[:80]!r}")


def check_spoken(headers: Mapping[bytes, bytes]) -> None:
    """Refuse an unsupported version that only the header names, and list the supported ones."""
    version = headers.get(b"mcp-protocol-version", b"").decode("latin-1")
    if version not in SUPPORTED:
        raise not_spoken(version)


def check(headers: Mapping[bytes, bytes], request: Request) -> None:
    method = headers.get(b"mcp-method")
    if method is None:
        raise _mismatch("the header Mcp-Method is missing")
    if method != request.method.encode():
        raise _mismatch(f"the header Mcp-Method is {_shown(method)}, the body says {request.method[:80]!r}")
    key = NAMED.get(request.method)
    if key is None:
        return
    named, header = request.params.get(key), headers.get(b"mcp-name")
    if header is None:
        raise _mismatch("the header Mcp-Name is missing")
    if type(named) is not str:
        raise WireError(INVALID_PARAMS, f"{request.method}: `{key}` is required and must be a string.")
    if named.isascii() and header == named.encode() and not named.startswith("=?"):
        return
    try:
        value = values.read(header.decode("latin-1"))
    except ValueError as error:
        raise _mismatch(f"the header Mcp-Name is not valid: {error}") from error
    if value != named:
        raise _mismatch(f"the header Mcp-Name is {value[:80]!r}, the body says {named[:80]!r}")


def _shown(value: bytes) -> str:
    return repr(value[:80].decode("latin-1"))


def _mismatch(what: str) -> WireError:
    return WireError(HEADER_MISMATCH, f"Header mismatch: {what}.")
