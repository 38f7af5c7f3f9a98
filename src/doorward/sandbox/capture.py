"""Captures one output stream of a program: keeps the bytes up to a limit, counts the rest."""

from __future__ import annotations

import asyncio
import os

from doorward.sandbox.program import OnOutput, Stream

_PIECE = 65_536


class Capture:
    def __init__(self, stream: Stream, most: int, tell: OnOutput | None) -> None:
        self._stream: Stream = stream
        self._most = most
        self._tell = tell
        self._kept = bytearray()
        self.total = 0
        """Bytes written, kept or not."""
        self._loop = asyncio.get_running_loop()
        self._reads, self.writes = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._reads, False)
        self._watched = False

    @property
    def kept(self) -> bytes:
        return bytes(self._kept)

    def watch(self) -> None:
        """Read output as it arrives. Without this call it is read once, at the end."""
        self._watched = True
        self._loop.add_reader(self._reads, self._read)

    def handed_over(self) -> None:
        """Close our copy of the write end, once the program has it; otherwise end-of-file would never arrive."""
        os.close(self.writes)
        self.writes = -1

    def close(self) -> None:
        """Read the rest of the pipe and close it."""
        while self._reads >= 0 and self._read():
            pass
        self._let_go()
        if self.writes >= 0:
            self.handed_over()

    def _read(self) -> bool:
        """Read one chunk; False when nothing is available now."""
        try:
            piece = os.read(self._reads, _PIECE)
        except BlockingIOError:
            return False
        if not piece:
            self._let_go()
            return False
        room = self._most - self.total
        self.total += len(piece)
        if room > 0:
            piece = piece[:room]
            self._kept += piece
            if self._tell is not None:
                self._tell(self._stream, piece)
        return True

    def _let_go(self) -> None:
        if self._reads >= 0:
            if self._watched:
                self._loop.remove_reader(self._reads)
            os.close(self._reads)
            self._reads = -1
