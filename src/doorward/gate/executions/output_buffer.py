"""The output of a program as text: per stream and combined, up to a size limit."""

from __future__ import annotations

import codecs
from typing import Literal

from doorward.sandbox.program import OutputStream

OutputView = Literal["output", "stdout", "stderr"]
"""`output` is both streams combined in order of arrival."""

_decoder = codecs.getincrementaldecoder("utf-8")


class OutputBuffer:
    """Decodes pieces of bytes, which may end inside a character, into text with whole characters only."""

    __slots__ = ("_decoders", "_kept", "_limit", "_taken", "bytes")

    def __init__(self, most: int) -> None:
        self._limit = most
        self._kept: dict[OutputView, bytearray] = {"output": bytearray(), "stdout": bytearray(), "stderr": bytearray()}
        self._decoders: dict[OutputStream, codecs.IncrementalDecoder] = {
            "stdout": _decoder("replace"),
            "stderr": _decoder("replace"),
        }
        self._taken: dict[OutputStream, int] = {"stdout": 0, "stderr": 0}
        self.bytes: dict[OutputStream, int] = {"stdout": 0, "stderr": 0}
        """All bytes written, kept or not."""

    def add(self, stream: OutputStream, data: bytes) -> str:
        """Add a piece; return the text it completes, within the size limit."""
        self.bytes[stream] += len(data)
        piece = data[: max(0, self._limit - self._taken[stream])]
        self._taken[stream] += len(piece)
        return self._keep(stream, self._decoders[stream].decode(piece))

    def finish(self, stream: OutputStream) -> str:
        """End the stream; an incomplete character becomes a replacement character."""
        return self._keep(stream, self._decoders[stream].decode(b"", True))

    def text(self, view: OutputView) -> str:
        return self._kept[view].decode()

    @property
    def size(self) -> int:
        """The approximate memory of the kept text."""
        return sum(len(kept) for kept in self._kept.values())

    def _keep(self, stream: OutputStream, text: str) -> str:
        if text:
            encoded = text.encode()
            self._kept[stream] += encoded
            self._kept["output"] += encoded
        return text
