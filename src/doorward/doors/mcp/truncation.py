"""Truncation: cuts results that are too large for one message, and keeps their declared shape.

Clients refuse large messages, and some close the connection. Long strings keep their beginning, long lists and maps
keep their first entries, and everything else stays.
"""

from __future__ import annotations

from typing import Any

import msgspec

MAX_STRUCTURED_BYTES = 262_144
"""Most bytes of a structured result. With its text, a message stays below half of the 1 MiB that clients accept."""
MAX_TEXT_BYTES = 204_800
"""Most bytes of the text, as encoded in a message."""
_MAX_OBJECT_KEYS = 100
"""An object with more keys than this counts as a map, which has no declared shape and can lose entries."""
_MAX_PLACES = 20
_encode = msgspec.json.Encoder().encode


class Truncation(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a large result was cut."""

    bytes: int
    """Size before the cut."""
    shown: int
    """Size after the cut."""
    where: list[dict[str, Any]]
    """The first places that were cut: `at`, and how many characters or entries are `shown` `of` all."""


class _Truncator:
    """Cuts one value, and records where."""

    def __init__(self) -> None:
        self.where: list[dict[str, Any]] = []

    def truncate(self, value: Any, most: int, at: str) -> Any:
        """The value in at most `most` bytes, as far as the parts that cannot be cut allow."""
        if isinstance(value, str):
            return self._truncate_text(value, most, at)
        if isinstance(value, list | tuple):
            return self._truncate_list(value, most, at)
        if isinstance(value, dict):
            return (
                self._truncate_map(value, most, at)
                if len(value) > _MAX_OBJECT_KEYS
                else self._truncate_object(value, most, at)
            )
        return value

    def _truncate_text(self, value: str, most: int, at: str) -> str:
        shown = cut_text(value, most)
        if len(shown) < len(value):
            self._record(at, len(shown), len(value))
        return shown

    def _truncate_list(self, value: list[Any] | tuple[Any, ...], most: int, at: str) -> list[Any]:
        left, shown = most - 2, []
        for one in value:
            size = len(_encode(one)) + 1
            if size > left:
                break
            shown.append(one)
            left -= size
        if not shown and value:  # even the first entry is too large: keep its beginning
            shown = [self.truncate(value[0], left, f"{at}[0]")]
        if len(shown) < len(value):
            self._record(at, len(shown), len(value))
        return shown

    def _truncate_map(self, value: dict[Any, Any], most: int, at: str) -> dict[Any, Any]:
        left, shown = most - 2, {}
        for key, one in value.items():
            size = len(_encode({key: one}))
            if size > left:
                break
            shown[key] = one
            left -= size
        if len(shown) < len(value):
            self._record(at, len(shown), len(value))
        return shown

    def _truncate_object(self, value: dict[Any, Any], most: int, at: str) -> dict[Any, Any]:
        """Keep every key, since it may be required. Small values stay whole; the others share the rest equally."""
        sizes = {key: len(_encode(one)) for key, one in value.items()}
        left = most - 2 - sum(len(_encode({key: 0})) for key in value)
        shown = dict(value)
        for many, (key, size) in zip(range(len(sizes), 0, -1), sorted(sizes.items(), key=_size), strict=True):
            share = max(left // many, 2)
            if size > share:
                shown[key] = self.truncate(value[key], share, f"{at}.{key}"[:200] if at else str(key)[:200])
                size = len(_encode(shown[key]))
            left -= size
        return shown

    def _record(self, at: str, shown: int, of: int) -> None:
        if len(self.where) < _MAX_PLACES:
            self.where.append({"at": at[:200], "shown": shown, "of": of})


def encode_truncated(
    result: dict[str, Any], characters: int, most: int = MAX_STRUCTURED_BYTES
) -> tuple[bytes, Truncation | None]:
    """Encode a result in at most `most` bytes; also returns how it was cut, if it was.

    Program output is cut to `characters`, the length of the text. The result itself states the full length.
    """
    whole = _encode(result)
    if len(whole) <= most:
        return whole, None
    cutting = _Truncator()
    shown = dict(result)
    for stream in ("stdout", "stderr"):
        if "exitCode" in shown and isinstance(shown.get(stream), str) and len(shown[stream]) > characters:
            cutting.where.append({"at": stream, "shown": characters, "of": len(shown[stream])})
            shown[stream] = shown[stream][:characters]
    written = _encode(shown)
    if len(written) > most:
        written = _encode(cutting.truncate(shown, most, ""))
    return written, Truncation(len(whole), len(written), cutting.where)


def encode_truncated_value(value: Any, most: int = MAX_STRUCTURED_BYTES) -> tuple[bytes, Truncation | None]:
    """The same for a result that is not an object."""
    whole = _encode(value)
    if len(whole) <= most:
        return whole, None
    cutting = _Truncator()
    written = _encode(cutting.truncate(value, most, ""))
    return written, Truncation(len(whole), len(written), cutting.where)


def limit_text(text: str) -> str:
    """Cut a text to what one message holds, which matters only if the settings allow longer texts."""
    begins = cut_text(text, MAX_TEXT_BYTES)
    return text if len(begins) == len(text) else f"{begins}\n[cut: {len(begins)} of {len(text)} characters shown]"


def cut_text(text: str, most: int) -> str:
    """The longest beginning of a text that takes at most `most` bytes as JSON, where a character can take six."""
    if len(text) * 6 + 2 <= most or len(_encode(text)) <= most:
        return text
    fits, too_long = 0, min(len(text), most)
    while fits < too_long:
        middle = (fits + too_long + 1) // 2
        if len(_encode(text[:middle])) <= most:
            fits = middle
        else:
            too_long = middle - 1
    return text[:fits]


def _size(pair: tuple[Any, int]) -> int:
    return pair[1]
