"""Results as models read them."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.errors import DoorwardError

_encode = msgspec.json.Encoder().encode


def as_text(result: Any) -> str:
    """Lists as numbered lines, everything else as one indented value."""
    if isinstance(result, dict) and isinstance(result.get("items"), list):
        items = result["items"]
        lines = [f"Found {len(items)} items:"]
        lines += [f"{number}. {_line(item)}" for number, item in enumerate(items, 1)]
        rest = {key: value for key, value in result.items() if key != "items" and value not in (None, "", [])}
        if rest:
            lines.append(f"({_line(rest)})")
        return "\n".join(lines)
    if isinstance(result, str):
        return f"Result: {result}"
    return f"Result: {msgspec.json.format(_encode(result), indent=2).decode()}"


def failure(error: DoorwardError) -> str:
    return f"Command failed: {error.message}"


def cut(text: str, limit: int, call: str) -> str:
    """The beginning of a long text, its full size, and how to read on."""
    return (
        f"{text[:limit]}\n[cut: {limit} of {len(text)} characters shown; "
        f"read on with execution/output --execution={call} --offset={limit}]"
    )


def _line(item: Any) -> str:
    return item if isinstance(item, str) else _encode(item).decode()
