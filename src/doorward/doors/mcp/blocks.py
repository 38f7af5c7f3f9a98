"""Results in blocks, as another server gave them: passed on as they came, as far as one message holds them.

A block that no client could read becomes a text, since one bad block makes some clients drop a whole result. Texts are
cut as all texts here are; of what is too large besides, a text says what it was and where it can be had.
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
"""Bytes of all blocks and the structured result together: with its head a message stays below 512 KiB."""
_MOST_NOTES = 10
"""How many blocks that do not fit are told of each by itself."""
_FOR_NOTES = 10_000
"""Bytes that are kept free for what is told of them."""
_LONGEST_ODD = 4_000
"""Characters that are shown of a block of an unknown kind."""

_encode = msgspec.json.Encoder().encode


def written(era: Era, outcome: Outcome, blocks: Blocks) -> tuple[bytes, bytes | None, Cut | None]:
    """The content and the structured result as they go out, and what was cut of the latter."""
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
    """As it came. Before 2026-07-28 it can only be an object; what is none has its text in the content."""
    if value is None:
        return None, None
    if isinstance(value, dict):
        return fitting.fitted(value, len(outcome.text))
    return (None, None) if era is Era.SESSIONS else fitting.fitted_value(value)


def _reads(block: Block) -> bool:
    """Whether its words are in the text of the outcome already."""
    return block["type"] == "text" or (block["type"] == "resource" and "text" in block["resource"])


def _texts(content: list[Block]) -> int:
    """Bytes that the texts among these blocks take at most."""
    return sum(6 * len(block["text"]) + 40 for block in content if block["type"] == "text")


def _fitted(content: list[Block], most: int, command: str) -> list[Block]:
    """All texts, and of everything else in its order what still fits beside them."""
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
        f"[{kind} {about} left out: with {size} bytes it does not fit into one message."
        f" In a terminal `doorward run --json {command}` gives all of it.]"
    )


def _odd(block: Any) -> Block:
    words = _encode(block).decode()
    rest = f"… ({len(words)} characters)" if len(words) > _LONGEST_ODD else ""
    return _text(f"[a block that is none of MCP's: {words[:_LONGEST_ODD]}{rest}]")


def _text(text: str) -> Block:
    return {"type": "text", "text": text}
