"""The first line on the socket between a relay and the house, and the few words they have for each other later.

A line that begins with `#` is such a word; every other line is a message of the MCP client or for it.
"""

from __future__ import annotations

import array
import asyncio
import os
import socket
import time
from typing import Literal

import msgspec

from doorward.errors import BadParams, DoorwardError, Unreachable, leaves
from doorward.home import Home, Lock, short_path

WORD = b"#"
MOVING = b"#moving"
"""From the house: finish what runs, then leave and look for me again. New requests are no longer taken."""
LONGEST = 65_536
PATIENCE = 5.0
"""Seconds in which either side must have said hello."""

Tools = Literal["", "all", "search", "auto"]


class Hello(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What somebody wants who comes to the socket; the operating system has vouched that it is the owner."""

    room: str = ""
    speak_as: str = ""
    """The agent's name as the person chose it; empty: the client's own name, if an agent can carry it."""
    client: str = ""
    """The client's own name, once it is known, so that a session keeps its agent when the house moves."""
    tools: Tools = ""
    """How the list of tools is given; empty: as the settings say."""
    hand_over: bool = False
    """Instead of all that: give me the house, I am a server that stays."""


class Welcome(msgspec.Struct, frozen=True, rename="camel"):
    """The answer to a hello: no error, or which one."""

    process: int
    code: str = ""
    message: str = ""
    hint: str = ""

    def check(self) -> None:
        if self.code:
            kinds = {kind.code: kind for kind in leaves()}
            raise kinds.get(self.code, Unreachable)(self.message, hint=self.hint)


_hello = msgspec.json.Decoder(Hello).decode
_welcome = msgspec.json.Decoder(Welcome).decode
_encode = msgspec.json.Encoder().encode


def connect(home: Home) -> socket.socket | None:
    """A connection to the running house, or None when none listens."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(PATIENCE)
    try:
        with short_path(home.mcp_socket) as address:
            sock.connect(address)
    except OSError:
        sock.close()
        return None
    return sock


async def greet(sock: socket.socket, hello: Hello) -> bool:
    """Say hello and hear whether one is welcome; False when the house went away meanwhile."""
    loop = asyncio.get_running_loop()
    sock.setblocking(False)
    try:
        async with asyncio.timeout(PATIENCE):
            await loop.sock_sendall(sock, line(hello))
            said = await first_line(sock)
            welcome = _welcome(said)
    except (OSError, TimeoutError, msgspec.DecodeError):
        return False
    welcome.check()
    return True


async def hear(sock: socket.socket) -> Hello:
    """The hello of whoever came; OSError when nothing comes, BadParams when it is something else."""
    async with asyncio.timeout(PATIENCE):  # whose TimeoutError is an OSError
        said = await first_line(sock)
    try:
        return _hello(said)
    except msgspec.DecodeError as error:
        raise BadParams(
            f"The process that keeps this house does not understand yours: {error}.",
            hint="Is it another version of Doorward? Stop it, and start it anew.",
        ) from error


async def first_line(sock: socket.socket) -> bytes:
    """The first line; whoever sends it says no more before it is answered."""
    loop = asyncio.get_running_loop()
    said = b""
    while not said.endswith(b"\n") and len(said) < LONGEST:
        piece = await loop.sock_recv(sock, LONGEST)
        if not piece:
            raise ConnectionResetError
        said += piece
    return said


def line(word: Hello | Welcome) -> bytes:
    return _encode(word) + b"\n"


def refusal(error: DoorwardError) -> Welcome:
    return Welcome(os.getpid(), error.code, error.message, error.hint)


def take_over(home: Home, lock: Lock) -> bool:
    """Take the house, or ask the process of an MCP client that keeps it to hand it over; False when it is neither's.

    With the answer comes the open file of the lock, so that nobody else can take it in between. Whoever holds the lock
    and does not answer may be about to end, and is given a moment for that.
    """
    deadline = time.monotonic() + PATIENCE
    while not lock.take():
        sock = connect(home)
        if sock is not None:
            return _handed_over(sock, lock)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _handed_over(sock: socket.socket, lock: Lock) -> bool:
    with sock:
        sock.settimeout(4 * PATIENCE)
        try:
            sock.sendall(line(Hello(hand_over=True)))
            said, extra, _, _ = sock.recvmsg(LONGEST, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
            refused = not said or bool(_welcome(said).code)
        except (OSError, msgspec.DecodeError):
            return False
        descriptors = array.array("i")
        for level, kind, data in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    if refused or not descriptors:
        return False
    lock.adopt(descriptors[0])
    return True
