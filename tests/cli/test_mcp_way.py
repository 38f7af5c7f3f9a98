"""The way of `doorward mcp` to the house, when somebody else is in it."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest

from doorward.cli import mcp
from doorward.cli.mcp import McpTransport
from doorward.config.home import Home, HomeLock, bind_private_socket
from doorward.core.errors import BadParams, NotFound, Overloaded
from doorward.doors.mcp.stdio import handshake
from doorward.doors.mcp.stdio.handshake import Hello


@pytest.fixture
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "_PATIENCE", 0.1)
    monkeypatch.setattr(handshake, "PATIENCE", 0.1)


@pytest.mark.usefixtures("_little_patience")
async def test_a_holder_that_serves_nobody_is_named(home: Home) -> None:
    home.create()
    with HomeLock(home) as lock:
        assert lock.take()
        with pytest.raises(Overloaded, match=f"in use by process {os.getpid()}"):
            await McpTransport(home, lambda: None).open_connection(Hello(room="general"))


@pytest.mark.usefixtures("_little_patience")
async def test_a_holder_that_never_answers_is_named(home: Home) -> None:
    home.create()
    with HomeLock(home) as lock, bind_private_socket(home.mcp_socket):
        assert lock.take()
        with pytest.raises(Overloaded, match=f"in use by process {os.getpid()}"):
            await McpTransport(home, lambda: None).open_connection(Hello(room="general"))


async def test_the_house_is_kept_here_when_nobody_else_does(home: Home) -> None:
    way = McpTransport(home, lambda: None)
    with await way.open_connection(Hello(room="general")):
        assert int((home.path / "lock").read_text()) == os.getpid()
        with pytest.raises(NotFound, match="There is no room 'attic'; valid: general"):
            await way.open_connection(Hello(room="attic"))
    await way.close()
    with HomeLock(home) as lock:
        assert lock.take()


async def test_a_hello_that_is_none_is_answered(home: Home) -> None:
    way = McpTransport(home, lambda: None)
    with await way.open_connection(Hello(room="general")):
        for said in (
            b"nonsense\n",
            b'{"room":"general","owner":true}\n',
            b"[]\n",
            b"x" * handshake.MAX_LINE_BYTES + b"\n",
        ):
            caller = handshake.connect(home)
            assert caller is not None
            with caller:
                caller.setblocking(False)
                await _say(caller, said)
                with pytest.raises(BadParams, match="does not understand this one"):
                    handshake._decode_welcome(await handshake.read_first_line(caller)).check()
    await way.close()


async def _say(caller: socket.socket, said: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(caller, said)
