"""A raw HTTP client: so many kept-alive connections, each asking again as soon as it is answered.

It does as little as it can, since it shares the machine with what it measures.
"""

from __future__ import annotations

import itertools
import re
import select
import socket
import time
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_PIECE = 262_144
_FIRST = 1_000_000
"""All numbers have the same number of digits, and so all requests the same length."""
_LONGEST = 30.0
"""Seconds without any answer at all after which the server is given up."""


class Shot(NamedTuple):
    """A request with a number in it that is never the same, since repeated calls are refused as loops."""

    parts: tuple[bytes, ...]
    """The request, taken apart wherever the number stands."""
    echoed: bool = True
    """Whether a good answer has the number in it."""
    holds: bytes = b""
    """What else a good answer has in it."""

    def fits(self, answer: bytes, number: bytes) -> bool:
        return answer.startswith(b"HTTP/1.1 200") and self.holds in answer and (not self.echoed or number in answer)


class Answers(NamedTuple):
    seconds: float
    """From the first request to the last answer."""
    latencies: list[float]
    errors: int


class _Connection:
    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, _LONGEST)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.buffer = b""
        self.number = b""
        self.sent = 0.0


class Volley:
    def __init__(self, address: tuple[str, int], shot: Shot, connections: int) -> None:
        self._address = address
        self._shot = shot
        self._numbers = itertools.count(_FIRST)
        self._open: dict[int, _Connection] = {}
        self._epoll = select.epoll()
        self.wrong = b""
        """One that was not good."""
        for _ in range(connections):
            self._connect()

    def __enter__(self) -> Volley:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in self._open.values():
            one.socket.close()
        self._epoll.close()

    def calls(self, count: int) -> float:
        """The seconds that so many calls take; one that is not answered well is an error of the measure."""
        begun = 0

        def more() -> bool:
            nonlocal begun
            begun += 1
            return begun <= count

        answers = self._fire(more)
        if answers.errors:
            raise RuntimeError(f"calls were to be measured, but {answers.errors} failed, such as {self.wrong[:500]!r}")
        return answers.seconds

    def during(self, seconds: float) -> Answers:
        """What happens when all connections ask for so long."""
        end = time.perf_counter() + seconds
        return self._fire(lambda: time.perf_counter() < end)

    def ask_all(self) -> None:
        """Every connection asks once, and nobody waits for an answer."""
        for one in self._open.values():
            self._ask(one)

    def _connect(self) -> _Connection:
        one = _Connection(self._address)
        self._open[one.socket.fileno()] = one
        self._epoll.register(one.socket, select.EPOLLIN)
        return one

    def _fire(self, more: Callable[[], bool]) -> Answers:
        latencies: list[float] = []
        errors = waiting = 0
        begun = time.perf_counter()
        for one in self._open.values():
            if more():
                self._ask(one)
                waiting += 1
        while waiting:
            ready = self._epoll.poll(_LONGEST)
            if not ready:
                return Answers(time.perf_counter() - begun, latencies, errors + waiting)
            for descriptor, _ in ready:
                one = self._open[descriptor]
                good = self._read(one)
                if good is None:
                    continue
                latencies.append(time.perf_counter() - one.sent)
                waiting -= 1
                if not good:
                    errors += 1
                    one = self._anew(one)
                if more():
                    self._ask(one)
                    waiting += 1
        return Answers(time.perf_counter() - begun, latencies, errors)

    def _ask(self, one: _Connection) -> None:
        one.buffer = b""
        one.number = b"%d" % next(self._numbers)
        one.sent = time.perf_counter()
        one.socket.send(one.number.join(self._shot.parts))

    def _anew(self, one: _Connection) -> _Connection:
        self._epoll.unregister(one.socket)
        del self._open[one.socket.fileno()]
        one.socket.close()
        return self._connect()

    def _read(self, one: _Connection) -> bool | None:
        """Whether the answer is a good one; None while it has not come whole."""
        try:
            piece = one.socket.recv(_PIECE)
        except ConnectionError:
            piece = b""
        one.buffer += piece
        if piece and not is_whole(one.buffer):
            return None
        good = bool(piece) and self._shot.fits(one.buffer, one.number)
        if not good:
            self.wrong = one.buffer
        return good


def is_whole(answer: bytes) -> bool:
    """Whether an HTTP answer has come to its end, by its length or by its last chunk."""
    head, _, body = answer.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    if length:
        return len(body) >= int(length[1])
    return answer.endswith(b"\r\n0\r\n\r\n")
