"""Messages between Doorward and its helpers: one JSON object per packet, with descriptors attached."""

import array
import json
import os
import socket
from collections.abc import Callable
from typing import Any

CONTROL = 3
"""Descriptor of the control socket in a new helper."""
MAX_MESSAGE_BYTES = 160 * 1024
"""Message size limit, larger than the longest argument of a program."""
_MOST_DESCRIPTORS = 4
_buffer = bytearray(MAX_MESSAGE_BYTES)
# Plain numbers, because every operation on the library's enum members costs a microsecond or more.
_CLOSED_TO_PROGRAMS = int(socket.MSG_CMSG_CLOEXEC)
_CUT = int(socket.MSG_TRUNC | socket.MSG_CTRUNC)
_parse = json.JSONDecoder().raw_decode
_SPACE = socket.CMSG_SPACE(_MOST_DESCRIPTORS * array.array("i").itemsize)


def decode(data: bytearray) -> Any:
    return _parse(data.decode())[0]


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode()


def send(sock: socket.socket, message: bytes, descriptors: tuple[int, ...] = ()) -> None:
    beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    sock.sendmsg([message], beside)


def receive(sock: socket.socket, read: Callable[[bytearray], Any] = decode) -> tuple[dict[str, Any] | None, list[int]]:
    """Receive the next message; None at the end. Received descriptors are close-on-exec."""
    size, beside, flags, _ = sock.recvmsg_into([_buffer], _SPACE, _CLOSED_TO_PROGRAMS)
    descriptors: list[int] = []
    for level, kind, data in beside:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors = array.array("i", data).tolist()
    if not size:
        return None, _close_all(descriptors)
    if flags & _CUT:
        _close_all(descriptors)
        raise ValueError("a message was truncated")
    return read(_buffer[:size]), descriptors


def is_closed(sock: socket.socket) -> bool:
    """Whether the other side has closed, checked without waiting."""
    try:
        return not sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _close_all(descriptors: list[int]) -> list[int]:
    for descriptor in descriptors:
        os.close(descriptor)
    return []
