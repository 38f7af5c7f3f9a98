"""Content blocks: the types that MCP defines, and the fields that each type needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

Block = dict[str, Any]


def whole(block: Any) -> TypeGuard[Block]:
    """Whether this is a valid block: one bad block makes some clients drop the whole result."""
    if type(block) is not dict:
        return False
    kind = block.get("type")
    is_whole = _WHOLE.get(kind) if type(kind) is str else None
    return is_whole is not None and is_whole(block)


def _is_text(block: Block) -> bool:
    return type(block.get("text")) is str


def _has_data(block: Block) -> bool:
    return type(block.get("data")) is str and type(block.get("mimeType")) is str


def _is_link(block: Block) -> bool:
    return type(block.get("uri")) is str and type(block.get("name")) is str


def _has_resource(block: Block) -> bool:
    held = block.get("resource")
    if type(held) is not dict or type(held.get("uri")) is not str:
        return False
    return type(held.get("text")) is str or type(held.get("blob")) is str


_WHOLE: dict[Any, Callable[[Block], bool]] = {
    "text": _is_text,
    "image": _has_data,
    "audio": _has_data,
    "resource_link": _is_link,
    "resource": _has_resource,
}
