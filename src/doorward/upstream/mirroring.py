"""Tool arguments that are repeated in HTTP headers (`x-mcp-header`), since 2026-07-28."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from doorward.wire import headers

MARK = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_TYPES = ("string", "integer", "boolean")
_SAFE = 2**53
Places = Mapping[str, tuple[str, ...]]


def places(schema: Mapping[str, Any]) -> Places:
    """Find the header names and the argument paths of their values; raises ValueError for an invalid schema."""
    found: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for path, part in _properties(schema, ()):
        if MARK not in part:
            continue
        name, where = part[MARK], ".".join(path)
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"`{MARK}` of {where!r} must be a valid header name; given {name!r:.80}")
        if part.get("type") not in _TYPES:
            raise ValueError(
                f"`{MARK}` of {where!r} requires the type {', '.join(_TYPES)}; given {part.get('type')!r:.80}"
            )
        if name.lower() in seen:
            raise ValueError(f"`{MARK}` must be unique for each parameter; {name!r} is given twice")
        seen.add(name.lower())
        found[name] = path
    if _marks(schema) != len(found):
        raise ValueError(f"`{MARK}` is valid only in parameters that are reached through `properties` alone")
    return found


def mirrored(wanted: Places, arguments: Any) -> dict[str, str]:
    """The headers for these arguments. Absent and null values have none."""
    return {
        f"Mcp-Param-{name}": text
        for name, path in wanted.items()
        if (text := _written(_at(arguments, path))) is not None
    }


def _properties(schema: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    inside = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(inside, Mapping):
        return
    for name, part in inside.items():
        if isinstance(part, dict):
            yield (*path, name), part
            yield from _properties(part, (*path, name))


def _marks(part: Any, named: bool = False) -> int:
    """Count `x-mcp-header` keys anywhere. Directly under `properties` it would be a parameter name."""
    if isinstance(part, Mapping):
        here = int(not named and MARK in part)
        return here + sum(_marks(value, named=key == "properties" and not named) for key, value in part.items())
    if isinstance(part, list):
        return sum(_marks(value) for value in part)
    return 0


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _written(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        return str(value) if -_SAFE < value < _SAFE else None
    return headers.written(value) if isinstance(value, str) else None
