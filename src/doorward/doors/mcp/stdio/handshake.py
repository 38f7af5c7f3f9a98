"""The handshake on the socket between a relay and the server process, and the control lines after it.

A line that begins with `#` is a control line; every other line is an MCP message.
"""

from __future__ import annotations

import array
import asyncio
import os
import socket
import time
from typing import Literal

import msgspec

from doorward.config.home import Home, HomeLock, short_path
from doorward.core.errors import BadParams, DoorwardError, Unreachable, concrete_errors
from doorward.core.strictjson import DECODE_ERRORS

CONTROL_PREFIX = b"#"
MOVING = b"#moving"
"""From the server process: finish open requests, disconnect, and reconnect. It takes no new requests."""
MAX_LINE_BYTES = 65_536
PATIENCE = 5.0
"""Seconds in which each side must complete the handshake."""

ToolsOption = Literal["", "all", "search", "auto"]


class Hello(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The first line of a client on the socket. The operating system guarantees that it is the owner."""

    room: str = ""
    folder: str = ""
    """The client's folder, unless a room was named. The room that works there takes the place of `room`."""
    speak_as: str = ""
    """The agent name that the person chose; empty: the client's own name, if it is valid for an agent."""
    client: str = ""
    """The client's own name, once known, so that a session keeps its agent in another server process."""
    tools: ToolsOption = ""
    """How tools are listed; empty: as the settings say."""
    hand_over: bool = False
    """Ask the process to hand over the home to a permanent server; the other fields are unused then."""


class Welcome(msgspec.Struct, frozen=True, rename="camel"):
    """The answer to a hello: an error, or none."""

    process: int
    code: str = ""
    message: str = ""
    hint: str = ""

    def check(self) -> None:
        if self.code:
            kinds = {kind.code: kind for kind in concrete_errors()}
            raise kinds.get(self.code, Unreachable)(self.message, hint=self.hint)


_decode_hello = msgspec.json.Decoder(Hello).decode
_decode_welcome = msgspec.json.Decoder(Welcome).decode
_encode = msgspec.json.Encoder().encode


def connect(home: Home) -> socket.socket | None:
    """A connection to the running server process; None if there is none."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(PATIENCE)
    try:
        with short_path(home.mcp_socket) as address:
            sock.connect(address)
    except OSError:
        sock.close()
        return None
    return sock


async def send_hello(sock: socket.socket, hello: Hello) -> bool:
    """Send the hello and check the answer; False if the server process ended meanwhile."""
    loop = asyncio.get_running_loop()
    sock.setblocking(False)
    try:
        async with asyncio.timeout(PATIENCE):
            await loop.sock_sendall(sock, encode_line(hello))
            said = await read_first_line(sock)
            welcome = _decode_welcome(said)
    except (OSError, TimeoutError, *DECODE_ERRORS):
        return False
    welcome.check()
    return True


async def receive_hello(sock: socket.socket) -> Hello:
    """Read the hello of a new connection; OSError if nothing comes, BadParams if it is not valid."""
    async with asyncio.timeout(PATIENCE):  # whose TimeoutError is an OSError
        said = await read_first_line(sock)
    try:
        return _decode_hello(said)
    except DECODE_ERRORS as error:
        raise BadParams(
            f"The running Doorward process does not understand this one: {error}.",
            hint="It may be another version of Doorward. Stop it and start it again.",
        ) from error


async def read_first_line(sock: socket.socket) -> bytes:
    """The first line. Its sender waits for the answer before it sends more."""
    loop = asyncio.get_running_loop()
    said = b""
    while not said.endswith(b"\n") and len(said) < MAX_LINE_BYTES:
        piece = await loop.sock_recv(sock, MAX_LINE_BYTES)
        if not piece:
            raise ConnectionResetError
        said += piece
    return said


def encode_line(word: Hello | Welcome) -> bytes:
    return _encode(word) + b"\n"


def refusal(error: DoorwardError) -> Welcome:
    return Welcome(os.getpid(), error.code, error.message, error.hint)


def take_over(home: Home, lock: HomeLock) -> bool:
    """Take the home's lock, or ask the process of an MCP client that has it to hand it over; False if both fail.

    The answer carries the open file of the lock, so that no other process can take it in between. A process that holds
    the lock and does not answer may be about to end, so this waits for a moment.
    """
    deadline = time.monotonic() + PATIENCE
    while not lock.take():
        sock = connect(home)
        if sock is not None:
            return _request_handover(sock, lock)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _request_handover(sock: socket.socket, lock: HomeLock) -> bool:
    with sock:
        sock.settimeout(4 * PATIENCE)
        try:
            sock.sendall(encode_line(Hello(hand_over=True)))
            said, extra, _, _ = sock.recvmsg(MAX_LINE_BYTES, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
            refused = not said or bool(_decode_welcome(said).code)
        except (OSError, *DECODE_ERRORS):
            return False
        descriptors = array.array("i")
        for level, kind, data in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    if refused or not descriptors:
        return False
    lock.adopt(descriptors[0])
    return True
