"""Text that hides nothing: control, bidirectional and invisible characters are written out."""

from __future__ import annotations

import unicodedata

_KEPT = frozenset("\n\t")
_HIDING = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def _hides(char: str) -> bool:
    return char not in _KEPT and (unicodedata.category(char) in _UNSEEN or char in _HIDING)


_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def visible(text: str, *, lines: bool = True) -> str:
    """The same text with each character that a screen would not show written as `\\u202e`.

    With `lines` off, line breaks and tabs are written out as well.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(char) if _hides(char) or (not lines and char in _KEPT) else char for char in text)


def storable(text: str) -> str:
    """The same text without what UTF-8 cannot hold (halves of surrogate pairs, as odd file names give)."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _escaped(char: str) -> str:
    code = ord(char)
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char) or (
        f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )
