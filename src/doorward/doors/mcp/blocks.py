"""Content blocks of another MCP server, passed on unchanged as far as one message holds them.

A malformed block becomes a text, because one bad block makes some clients drop the whole result. Texts are cut like all
texts here. For any other block that is too large, a text says what was left out and how to get it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.command import Blocks
from doorward.doors.mcp import fitting
from doorward.doors.mcp.fitting import Cut
from doorward.doors.mcp.versions import Era
from doorward.model import Outcome
from doorward.wire.blocks import Block
from doorward.wire.blocks import whole as is_whole

MOST = 500_000
"""Most bytes of all blocks and the structured result together: the whole message stays below 512 KiB."""
_MOST_NOTES = 10
"""How many left-out blocks get a note of their own."""
_FOR_NOTES = 10_000
"""Bytes that are reserved for these notes."""
_LONGEST_ODD = 4_000
"""Characters that are shown of a malformed block."""

_encode = msgspec.json.Encoder().encode


def written(era: Era, outcome: Outcome, blocks: Blocks) -> tuple[bytes, bytes | None, Cut | None]:
    """Encode the content and the structured result; also returns how the structured result was cut."""
    structured, cut = _structured(era, outcome, blocks.structured_content)
    content = blocks.content
    if not content and structured is None and blocks.structured_content is not None:
        content = [_text(fitting.shown(outcome.text))]
    if not all(map(is_whole, content)):
        content = [block if is_whole(block) else _odd(block) for block in content]
    whole = _encode(content)
    if outcome.truncated or (len(whole) > fitting.MOST_TEXT and _texts(content) > fitting.MOST_TEXT):
        content = [_text(fitting.shown(outcome.text)), *(block for block in content if not _reads(block))]
        whole = _encode(content)
    most = MOST - (len(structured) if structured is not None else 0)
    return whole if len(whole) <= most else _encode(_fitted(content, most, outcome.command)), structured, cut


def _structured(era: Era, outcome: Outcome, value: Any) -> tuple[bytes | None, Cut | None]:
    """Before 2026-07-28 it can only be an object; any other value is left out, and its text is in the content."""
    if value is None:
        return None, None
    if isinstance(value, dict):
        return fitting.fitted(value, len(outcome.text))
    return (None, None) if era is Era.SESSIONS else fitting.fitted_value(value)


def _reads(block: Block) -> bool:
    """Whether the outcome's text already contains this block."""
    return block["type"] == "text" or (block["type"] == "resource" and "text" in block["resource"])


def _texts(content: list[Block]) -> int:
    """Most bytes that the text blocks can take."""
    return sum(6 * len(block["text"]) + 40 for block in content if block["type"] == "text")


def _fitted(content: list[Block], most: int, command: str) -> list[Block]:
    """All text blocks, and the other blocks in order as long as they fit."""
    left = most - _FOR_NOTES - sum(len(_encode(block)) + 1 for block in content if block["type"] == "text")
    fitted, left_out = [], 0
    for block in content:
        size = 0 if block["type"] == "text" else len(_encode(block)) + 1
        if size <= left:
            left -= size
            fitted.append(block)
            continue
        left_out += 1
        if left_out <= _MOST_NOTES:
            fitted.append(_left_out(block, size, command))
    if left_out > _MOST_NOTES:
        fitted.append(_text(f"[{left_out - _MOST_NOTES} more blocks left out]"))
    return fitted


def _left_out(block: Block, size: int, command: str) -> Block:
    held = block.get("resource", block)
    kind = {"resource": "resource", "resource_link": "link"}.get(block["type"], block["type"])
    about = " ".join(str(one)[:200] for one in (held.get("mimeType"), held.get("uri")) if one)
    return _text(
        f"[{kind} {about} left out: its {size} bytes do not fit into one message."
        f" Run `doorward run --json {command}` in a terminal to get all of it.]"
    )


def _odd(block: Any) -> Block:
    words = _encode(block).decode()
    rest = f"… ({len(words)} characters)" if len(words) > _LONGEST_ODD else ""
    return _text(f"[not a valid MCP block: {words[:_LONGEST_ODD]}{rest}]")


def _text(text: str) -> Block:
    return {"type": "text", "text": text}
