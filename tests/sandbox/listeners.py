"""Those who listen outside, on every kind of address that a program might try to reach."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

_PACE = 0.01


class Listeners:
    """On loopback, on a socket with a path, and on sockets with a name that is no path."""

    def __init__(self, path: Path, name: str) -> None:
        tcp, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        six = _by_ipv6()
        udp.bind(("127.0.0.1", 0))
        path.unlink(missing_ok=True)
        by_path, by_name, letters = (
            socket.socket(socket.AF_UNIX, kind) for kind in (socket.SOCK_STREAM, socket.SOCK_STREAM, socket.SOCK_DGRAM)
        )
        by_path.bind(str(path))
        by_name.bind(f"\0{name}")
        letters.bind(f"\0{name}-letters")
        for listening in (by_path, by_name):
            listening.listen()
        self._connected = (tcp, *six, by_path, by_name)
        self._sent = (udp, letters)
        for each in (*self._connected, *self._sent):
            each.setblocking(False)
        with socket.create_server(("127.0.0.1", 0)) as passing:
            free = passing.getsockname()[1]
        self.addresses: dict[str, Any] = {
            "tcp": tcp.getsockname()[1],
            "tcp6": six[0].getsockname()[1] if six else 0,
            "udp": udp.getsockname()[1],
            "abstract": name,
            "letters": f"{name}-letters",
            "socket": str(path),
            "free": free,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (*self._connected, *self._sent):
            each.close()

    def heard(self) -> bool:
        """Whether anybody connected or sent something."""
        for listening in self._connected:
            with contextlib.suppress(BlockingIOError):
                listening.accept()[0].close()
                return True
        for listening in self._sent:
            with contextlib.suppress(BlockingIOError):
                listening.recv(64)
                return True
        return False


def _by_ipv6() -> list[socket.socket]:
    """None where the machine has no such addresses."""
    try:
        return [socket.create_server(("::1", 0), family=socket.AF_INET6)]
    except OSError:
        return []


@contextlib.contextmanager
def poking(port: int) -> Iterator[None]:
    """Somebody outside who tries to connect to a port on loopback, again and again, and speaks when it works."""
    over = threading.Event()

    def poke() -> None:
        while not over.wait(_PACE):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as sock:
                sock.sendall(b"poked")

    thread = threading.Thread(target=poke)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
