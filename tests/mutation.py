"""Bytes that differ a little from valid ones, the same ones in every run."""

from __future__ import annotations

import random

_PIECES = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\0", b"\\ud800", b"\\u0000", b"1e999", b"9" * 30, b"NaN", b"[" * 70)


def mutate(chance: random.Random, valid: bytes) -> bytes:
    """Change, leave out, put in, repeat and cut off bytes of a valid text."""
    text = bytearray(valid)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(text) + 1)
        kind = chance.randrange(5)
        if kind == 0:
            text[place : place + 1] = chance.randbytes(1)
        elif kind == 1:
            del text[place : place + chance.randint(1, 9)]
        elif kind == 2:
            text[place:place] = chance.choice(_PIECES)
        elif kind == 3:
            text[place:place] = text[chance.randrange(len(text) + 1) :][:20]
        else:
            del text[place:]
    return bytes(text)


def mutate_line(chance: random.Random, valid: bytes) -> bytes:
    """The same for a protocol of lines: one line, and not an empty one."""
    while not (line := mutate(chance, valid).replace(b"\n", b" ")).strip():
        pass
    return line
