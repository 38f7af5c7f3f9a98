"""Pagination of lists with opaque cursors."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from doorward.core.wire.codes import INVALID_PARAMS
from doorward.core.wire.frames import WireError

Item = TypeVar("Item")


def parse_cursor(kind: str, cursor: Any) -> str:
    """The key after which a page begins; "" for the first page."""
    if cursor is None:
        return ""
    if isinstance(cursor, str) and len(cursor) <= 8_192:
        try:
            raw = base64.urlsafe_b64decode(cursor.encode("ascii"))
            mark, _, key = raw.decode().partition(":")
            if mark == kind and key and base64.urlsafe_b64encode(raw).decode() == cursor:
                return key
        except (ValueError, binascii.Error):
            pass
    raise WireError(
        INVALID_PARAMS,
        f"The cursor does not belong to this list. Send the last `nextCursor`, or none for the first page;"
        f" given {str(cursor)[:40]!r}.",
    )


def paginate(
    kind: str, items: Sequence[Item], key: Callable[[Item], str], after: str, most: int
) -> tuple[Sequence[Item], str | None]:
    """At most `most` items after a key, and the cursor of the next page. The items must be sorted by key."""
    first = bisect_right(items, after, key=key) if after else 0
    shown = items[first : first + most]
    if first + most >= len(items):
        return shown, None
    return shown, base64.urlsafe_b64encode(f"{kind}:{key(shown[-1])}".encode()).decode()
