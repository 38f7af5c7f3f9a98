"""Gate outcomes as MCP tool results, content blocks or protocol errors."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from doorward.core.command import Blocks, to_object
from doorward.core.errors import DoorwardError
from doorward.core.model import Outcome
from doorward.core.names import RESUME_APPROVED
from doorward.core.wire.codes import INVALID_PARAMS, RESOURCE_NOT_FOUND
from doorward.core.wire.frames import WireError
from doorward.core.wire.types import Block, CallToolResult
from doorward.core.wire.types import is_valid_block as is_whole
from doorward.doors.http.problems import HTTP_STATUS
from doorward.doors.mcp import encoding, file_content, truncation
from doorward.doors.mcp.truncation import Truncation
from doorward.doors.mcp.versions import Era
from doorward.gate.result_text import is_file_content, is_program_result

MAX_BLOCKS_BYTES = 500_000
"""Most bytes of all blocks and the structured result together: the whole message stays below 512 KiB."""
_MAX_NOTES = 10
"""How many left-out blocks get a note of their own."""
_NOTES_BYTES = 10_000
"""Bytes that are reserved for these notes."""
_MAX_INVALID_SHOWN = 4_000
"""Characters that are shown of a malformed block."""

_encode_json = msgspec.json.Encoder().encode


def encode_blocks(era: Era, outcome: Outcome, blocks: Blocks) -> tuple[bytes, bytes | None, Truncation | None]:
    """Encode the content and the structured result; also returns how the structured result was cut."""
    structured, cut = _encode_structured(era, outcome, blocks.structured_content)
    content = blocks.content
    if not content and structured is None and blocks.structured_content is not None:
        content = [_text_block(truncation.limit_text(outcome.text))]
    if not all(map(is_whole, content)):
        content = [block if is_whole(block) else _describe_invalid(block) for block in content]
    whole = _encode_json(content)
    if outcome.truncated or (
        len(whole) > truncation.MAX_TEXT_BYTES and _count_text_bytes(content) > truncation.MAX_TEXT_BYTES
    ):
        content = [
            _text_block(truncation.limit_text(outcome.text)),
            *(block for block in content if not _is_in_text(block)),
        ]
        whole = _encode_json(content)
    most = MAX_BLOCKS_BYTES - (len(structured) if structured is not None else 0)
    return whole if len(whole) <= most else _encode_json(_fit_blocks(content, most, outcome.command)), structured, cut


def _encode_structured(era: Era, outcome: Outcome, value: Any) -> tuple[bytes | None, Truncation | None]:
    """Before 2026-07-28 it can only be an object; any other value is left out, and its text is in the content."""
    if value is None:
        return None, None
    if isinstance(value, dict):
        return truncation.encode_truncated(value, len(outcome.text))
    return (None, None) if era is Era.SESSIONS else truncation.encode_truncated_value(value)


def _is_in_text(block: Block) -> bool:
    """Whether the outcome's text already contains this block."""
    return block["type"] == "text" or (block["type"] == "resource" and "text" in block["resource"])


def _count_text_bytes(content: list[Block]) -> int:
    """Most bytes that the text blocks can take."""
    return sum(6 * len(block["text"]) + 40 for block in content if block["type"] == "text")


def _fit_blocks(content: list[Block], most: int, command: str) -> list[Block]:
    """All text blocks, and the other blocks in order as long as they fit."""
    left = most - _NOTES_BYTES - sum(len(_encode_json(block)) + 1 for block in content if block["type"] == "text")
    fitted, left_out = [], 0
    for block in content:
        size = 0 if block["type"] == "text" else len(_encode_json(block)) + 1
        if size <= left:
            left -= size
            fitted.append(block)
            continue
        left_out += 1
        if left_out <= _MAX_NOTES:
            fitted.append(_describe_left_out(block, size, command))
    if left_out > _MAX_NOTES:
        fitted.append(_text_block(f"[{left_out - _MAX_NOTES} more blocks left out]"))
    return fitted


def _describe_left_out(block: Block, size: int, command: str) -> Block:
    held = block.get("resource", block)
    kind = {"resource": "resource", "resource_link": "link"}.get(block["type"], block["type"])
    about = " ".join(str(one)[:200] for one in (held.get("mimeType"), held.get("uri")) if one)
    return _text_block(
        f"[{kind} {about} left out: its {size} bytes do not fit into one message."
        f" Run `doorward run --json {command}` in a terminal to get all of it.]"
    )


def _describe_invalid(block: Any) -> Block:
    words = _encode_json(block).decode()
    rest = f"… ({len(words)} characters)" if len(words) > _MAX_INVALID_SHOWN else ""
    return _text_block(f"[not a valid MCP block: {words[:_MAX_INVALID_SHOWN]}{rest}]")


def _text_block(text: str) -> Block:
    return {"type": "text", "text": text}


RESUME = RESUME_APPROVED
"""The tool that runs a call after a person has approved it."""
_ALWAYS_FITS = truncation.MAX_TEXT_BYTES // 6 - 1
"""A text of this many characters fits into a message even if every character is escaped."""
_SMALL_BYTES = 4_000
"""Structured results of this size are sent beside the text, also when the client did not ask for them."""
_encode = msgspec.json.Encoder().encode


def encode_tool_result(era: Era, outcome: Outcome, *, whole: bool = True) -> bytes:
    """Encode the outcome of a call as a tool result, for the model and for the client program.

    Clients that did not ask for the schemas of results (`whole`) get the text alone, unless the result is small: many
    clients show a model the structured result instead of the text.

    Every status except done is an error to the client, also a call that waits for approval. Clients check any other
    result against the tool's output schema, and a call that did not run has no such result.
    """
    content: bytes = b""
    structured: bytes | None = None
    cut: truncation.Truncation | None = None
    if is_file_content(outcome.result):
        outcome = file_content.show_file(outcome, whole=whole)
    if type(outcome.result) is Blocks:
        content, structured, cut = encode_blocks(era, outcome, outcome.result)
        if cut is None and outcome.status == "done" and not outcome.truncated:
            return encoding.encode_done(era, content, structured, outcome.code, outcome.call)
    elif outcome.status == "done" and not outcome.truncated:
        encoded = _encode(to_object(outcome.result)) if whole or _is_small(outcome) else None
        if len(encoded or b"") <= truncation.MAX_STRUCTURED_BYTES and len(outcome.text) <= _ALWAYS_FITS:
            return encoding.encode_done(era, encoding.encode_text(outcome.text), encoded, outcome.code, outcome.call)
    if outcome.status == "done":
        told: dict[str, Any] = {"status": "done", "code": outcome.code, "call": outcome.call}
        text = outcome.text
    else:
        told = describe_outcome(outcome)
        text = _waiting_text(outcome) if outcome.status == "parked" else _failure_text(outcome)
    if outcome.truncated:
        told["truncated"] = outcome.truncated
    if type(outcome.result) is Blocks or not (whole or _is_small(outcome)):
        pass
    elif outcome.result is not None or outcome.status == "done":
        structured, cut = truncation.encode_truncated(to_object(outcome.result), len(outcome.text))
    if cut is not None:
        told["cut"] = cut
        if outcome.truncated:
            told["rest"] = f"execution/output --execution={outcome.call}"
    if not content or (content == b"[]" and outcome.status != "done"):
        content = encoding.encode_text(truncation.limit_text(text))
    shape = CallToolResult(
        content=msgspec.Raw(content),
        structured_content=None if structured is None else msgspec.Raw(structured),
        is_error=outcome.status != "done",
    )
    return encoding.encode_result(era, shape, meta={f"doorward/{key}": value for key, value in told.items()})


def _is_small(outcome: Outcome) -> bool:
    """Whether a result is structured and short. Programs and files are text, whatever their length."""
    if is_program_result(outcome.result) or is_file_content(outcome.result):
        return False
    return len(_encode(to_object(outcome.result))) <= _SMALL_BYTES


def unknown_tool_error(outcome: Outcome) -> WireError:
    """The protocol error for an unknown tool name."""
    return WireError(INVALID_PARAMS, outcome.message, describe_outcome(outcome))


def describe_outcome(outcome: Outcome) -> dict[str, Any]:
    """The facts about a call that was not done, for programs."""
    told: dict[str, Any] = {"status": outcome.status, "code": outcome.code, "call": outcome.call}
    told |= {"command": outcome.command, "retry": outcome.retry, "effect": outcome.effect}
    for key, value in (("hint", outcome.hint), ("rule", outcome.rule), ("ticket", outcome.ticket)):
        if value:
            told[key] = value
    if outcome.retry_after is not None:
        told["retryAfter"] = outcome.retry_after
    return told


def protocol_error(era: Era, outcome: Outcome, uri: str = "") -> WireError:
    """The same as a protocol error, for requests whose result cannot hold a failure, such as resources/read."""
    data = {**({"uri": uri} if uri else {}), **describe_outcome(outcome)}
    if outcome.code in ("not_found", "bad_params", "unknown_command"):
        code = RESOURCE_NOT_FOUND if era is Era.SESSIONS and outcome.code == "not_found" else INVALID_PARAMS
        return WireError(code, outcome.message, data)
    return WireError(HTTP_STATUS[outcome.code], outcome.message, data)


def refusal(error: DoorwardError) -> WireError:
    """An error outside any call. Its code is the HTTP status, which is outside the range that JSON-RPC reserves."""
    data = {"status": "refused", "code": error.code, "retry": error.retry}
    if error.hint:
        data["hint"] = error.hint
    return WireError(HTTP_STATUS[error.code], error.message, data)


def _waiting_text(outcome: Outcome) -> str:
    return (
        f"{outcome.text} Nothing has run yet. A person decides with `doorward approvals approve {outcome.ticket}`"
        f" (or deny). Once it is approved, call the tool {RESUME} with this ticket. Do not repeat the call itself."
        f" {outcome.hint}"
    )


def _failure_text(outcome: Outcome) -> str:
    lines = [outcome.text]
    if outcome.hint:
        lines.append(f"Hint: {outcome.hint}")
    if outcome.retry_after is not None:
        lines.append(f"Try again in {math.ceil(outcome.retry_after)} s.")
    return "\n".join(lines)
