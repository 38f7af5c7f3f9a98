"""A connection to a server that can be cut in the middle, as networks do."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit


class Cutter:
    """Passes bytes on between clients and a server, until it is told to cut what is open at that moment."""

    def __init__(self, url: str, tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        parts = urlsplit(url)
        self._server = (str(parts.hostname), int(parts.port or 80))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._listening.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def now(self) -> None:
        """Cut every connection; new ones are taken."""
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self.now()
        for thread in self._threads[1:]:
            thread.join()
        for one in [*self._open, self._listening]:
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self._tls is not None:
                    try:
                        client = self._tls.wrap_socket(client, server_side=True)
                    except OSError:  # a client that does not trust the certificate
                        client.close()
                        continue
                server = socket.create_connection(self._server)
                self._open += [client, server]
                for ends in ((client, server), (server, client)):
                    self._threads.append(threading.Thread(target=_pass_on, args=ends))
                    self._threads[-1].start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65_536):
            target.sendall(piece)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def cutter(url: str, tls: ssl.SSLContext | None = None) -> Iterator[Cutter]:
    """With `tls` it stands in front of the server as a proxy does that speaks TLS."""
    made = Cutter(url, tls)
    try:
        yield made
    finally:
        made.close()
