"""Order and keyset paging: a cursor holds the sort values of the last row, not an offset."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from doorward.core import strictjson
from doorward.core.errors import BadParams
from doorward.store.dialect import Bindings
from doorward.store.filters import Fields

MAX_KEYS = 10
MAX_CURSOR = 100_000

_encode = msgspec.json.Encoder().encode


class SortKey(NamedTuple):
    """One expression to order by."""

    sql: str
    descending: bool = False


def order_names(given: str | Sequence[str] | None) -> list[tuple[str, bool]]:
    """Parse `"-createdAt,name"` or `["-createdAt", "name"]` to pairs of field name and descending."""
    parts = given.split(",") if isinstance(given, str) else list(given or ())
    names = [part.strip() for part in parts]
    if len(names) > MAX_KEYS or (parts != [""] and not all(name.lstrip("-") for name in names)):
        raise BadParams(
            f"orderBy takes at most {MAX_KEYS} field names such as 'name' or '-createdAt'; given {given!r}."
        )
    return [(name.removeprefix("-"), name.startswith("-")) for name in names if name]


def keys(given: str | Sequence[str] | None, fields: Fields, ties: Sequence[str], bind: Bindings) -> list[SortKey]:
    """The sort keys: the requested fields, then the tie-breakers."""
    asked = [SortKey(fields.ref(name, bind).value, descending) for name, descending in order_names(given)]
    last = asked[-1].descending if asked else False
    own = [SortKey(tie, last) for tie in ties if tie not in {key.sql for key in asked}]
    return asked + own


def order_sql(order: Sequence[SortKey]) -> str:
    return ", ".join(f"{key.sql} {'DESC' if key.descending else 'ASC'}" for key in order)


def after_sql(order: Sequence[SortKey], last: Sequence[Any], bind: Bindings) -> str:
    """The condition for rows after the one with these key values. Null sorts first."""
    ways = []
    same: list[str] = []
    for key, value in zip(order, last, strict=True):
        mark = bind(value)
        if not key.descending:
            behind = f"{key.sql} IS NOT NULL" if value is None else f"{key.sql} > {mark}"
        else:
            behind = "FALSE" if value is None else f"({key.sql} < {mark} OR {key.sql} IS NULL)"
        ways.append(" AND ".join([*same, behind]))
        same.append(f"{key.sql} IS {mark}")
    return f"({' OR '.join(ways)})"


def fingerprint(collection: str, where: Mapping[str, Any] | None, order_by: str | Sequence[str] | None) -> str:
    """A hash that ties a cursor to one collection, filter and order."""
    text = _encode([collection, where or {}, order_names(order_by)])
    return hashlib.sha256(text).hexdigest()[:16]


def cursor(mark: str, last: Sequence[Any]) -> str:
    text = base64.urlsafe_b64encode(_encode([mark, *map(_encode_value, last)])).decode().rstrip("=")
    if len(text) > MAX_CURSOR:
        raise BadParams("The values in orderBy are too long for paging; order by a shorter field.")
    return text


def read_cursor(text: str, mark: str, size: int) -> list[Any]:
    """The key values of a cursor; raises BadParams if it was made for another list."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        given = strictjson.loads(raw)
        if not isinstance(given, list) or len(given) != size + 1 or given[0] != mark:
            raise ValueError("made for another list")
        return [_decode_value(one) for one in given[1:]]
    except (ValueError, TypeError, OverflowError) as error:
        raise BadParams(
            "The cursor does not belong to this list; give the cursor of the previous page "
            "with the same collection, filter and orderBy, or omit it to start again."
        ) from error


def _encode_value(value: Any) -> list[Any]:
    if isinstance(value, bytes):
        return ["b", base64.b64encode(value).decode()]
    return ["f", value.hex()] if isinstance(value, float) else ["v", value]


def _decode_value(pair: Any) -> Any:
    tag, value = pair
    if tag == "b":
        return base64.b64decode(value, validate=True)
    if tag == "f":
        return float.fromhex(value)
    if tag != "v" or not (value is None or type(value) in (str, int)):
        raise ValueError("not a key value")
    return value
