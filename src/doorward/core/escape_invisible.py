"""Escapes control, bidirectional and invisible characters, so that a text hides nothing."""

from __future__ import annotations

import unicodedata

_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
_HIDING = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
"""Variation selectors, which are invisible on most screens and can carry any message."""
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_MOST_KNOWN = 10_000


class _Table(dict[int, int | str]):
    """The replacement of each character, computed on first use; bounded."""

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


def escape_invisible(text: str, *, lines: bool = True) -> str:
    """Escape each character that a screen does not show, or shows as a blank, as in `\\u202e`.

    With `lines` off, line breaks and tabs are escaped as well.
    """
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_WITH_LINES if lines else _ON_ONE_LINE)


def to_storable(text: str) -> str:
    """Replace what UTF-8 cannot encode: lone surrogates, as odd file names give."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _hides(char: str) -> bool:
    return unicodedata.category(char) in _UNSEEN or char in _HIDING or any(ord(char) in span for span in _SELECTORS)


def _escaped(char: str) -> str:
    code = ord(char)
    return _SHORT.get(char) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
