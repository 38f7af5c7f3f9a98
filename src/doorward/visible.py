"""Text that hides nothing: control, bidirectional and invisible characters are written out."""

from __future__ import annotations

import unicodedata

_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
_HIDING = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
"""Variation selectors, which change nothing that most screens show and can carry any message."""
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_MOST_KNOWN = 10_000


class _Table(dict[int, int | str]):
    """What stands for each character; worked out when it is first met, for a limited number of them."""

    def __init__(self, kept: str) -> None:
        super().__init__()
        self._kept = kept

    def __missing__(self, code: int) -> int | str:
        char = chr(code)
        shown: int | str = code if char in self._kept or not _hides(char) else _escaped(char)
        if len(self) < _MOST_KNOWN:
            self[code] = shown
        return shown


_WITH_LINES = _Table(" \n\t")
_ON_ONE_LINE = _Table(" ")


def visible(text: str, *, lines: bool = True) -> str:
    """The same text with each character that a screen would not show, or shows as a blank, written as `\\u202e`.

    With `lines` off, line breaks and tabs are written out as well.
    """
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_WITH_LINES if lines else _ON_ONE_LINE)


def storable(text: str) -> str:
    """The same text without what UTF-8 cannot hold (halves of surrogate pairs, as odd file names give)."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _hides(char: str) -> bool:
    return unicodedata.category(char) in _UNSEEN or char in _HIDING or any(ord(char) in span for span in _SELECTORS)


def _escaped(char: str) -> str:
    code = ord(char)
    return _SHORT.get(char) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
