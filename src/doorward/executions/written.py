"""What a program has written so far: text, of each stream and of both as they came, no more than may be kept."""

from __future__ import annotations

import codecs
from typing import Literal

from doorward.sandbox.program import Stream

View = Literal["output", "stdout", "stderr"]
"""`output` is both streams in the order in which their pieces came."""

_decoder = codecs.getincrementaldecoder("utf-8")


class Written:
    """Bytes come in pieces that may end in the middle of a character; text goes out, and never half a character."""

    __slots__ = ("_decoders", "_kept", "_most", "_taken", "bytes")

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[View, bytearray] = {"output": bytearray(), "stdout": bytearray(), "stderr": bytearray()}
        self._decoders: dict[Stream, codecs.IncrementalDecoder] = {
            "stdout": _decoder("replace"),
            "stderr": _decoder("replace"),
        }
        self._taken: dict[Stream, int] = {"stdout": 0, "stderr": 0}
        self.bytes: dict[Stream, int] = {"stdout": 0, "stderr": 0}
        """All that was written, kept or not."""

    def add(self, stream: Stream, data: bytes) -> str:
        """Take a piece, and give back the text that it completes, as far as it is kept."""
        self.bytes[stream] += len(data)
        piece = data[: max(0, self._most - self._taken[stream])]
        self._taken[stream] += len(piece)
        return self._keep(stream, self._decoders[stream].decode(piece))

    def finish(self, stream: Stream) -> str:
        """The stream is over: a character that was never completed is shown as one that cannot be read."""
        return self._keep(stream, self._decoders[stream].decode(b"", True))

    def text(self, view: View) -> str:
        return self._kept[view].decode()

    @property
    def size(self) -> int:
        """How much memory the kept text takes, about."""
        return sum(len(kept) for kept in self._kept.values())

    def _keep(self, stream: Stream, text: str) -> str:
        if text:
            encoded = text.encode()
            self._kept[stream] += encoded
            self._kept["output"] += encoded
        return text
