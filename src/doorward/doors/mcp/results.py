"""Gate outcomes as MCP tool results or protocol errors."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from doorward.command import Blocks, as_object
from doorward.doors.mcp import answers, fitting
from doorward.doors.mcp.blocks import written
from doorward.doors.mcp.versions import Era
from doorward.doors.statuses import HTTP_STATUS
from doorward.errors import DoorwardError
from doorward.model import Outcome
from doorward.names import RESUME_APPROVED
from doorward.wire.codes import INVALID_PARAMS, RESOURCE_NOT_FOUND
from doorward.wire.frames import WireError
from doorward.wire.shapes import ToolResult

RESUME = RESUME_APPROVED
"""The tool that runs a call after a person has approved it."""
_SHORT = fitting.MOST_TEXT // 6 - 1
"""A text of this many characters fits into a message even if every character is escaped."""
_encode = msgspec.json.Encoder().encode


def tool_result(era: Era, outcome: Outcome) -> bytes:
    """Encode the outcome of a call as a tool result, for the model and for the client program.

    Every status except done is an error to the client, also a call that waits for approval. Clients check any other
    result against the tool's output schema, and a call that did not run has no such result.
    """
    content: bytes = b""
    structured: bytes | None = None
    cut: fitting.Cut | None = None
    if type(outcome.result) is Blocks:
        content, structured, cut = written(era, outcome, outcome.result)
        if cut is None and outcome.status == "done" and not outcome.truncated:
            return answers.done(era, content, structured, outcome.code, outcome.call)
    elif outcome.status == "done" and not outcome.truncated:
        whole = _encode(as_object(outcome.result))
        if len(whole) <= fitting.MOST and len(outcome.text) <= _SHORT:
            return answers.done(era, answers.text(outcome.text), whole, outcome.code, outcome.call)
    if outcome.status == "done":
        told: dict[str, Any] = {"status": "done", "code": outcome.code, "call": outcome.call}
        text = outcome.text
    else:
        told = about(outcome)
        text = _waits(outcome) if outcome.status == "parked" else _why(outcome)
    if outcome.truncated:
        told["truncated"] = outcome.truncated
    if type(outcome.result) is not Blocks and (outcome.result is not None or outcome.status == "done"):
        structured, cut = fitting.fitted(as_object(outcome.result), len(outcome.text))
    if cut is not None:
        told["cut"] = cut
        if outcome.truncated:
            told["rest"] = f"execution/output --execution={outcome.call}"
    if not content or (content == b"[]" and outcome.status != "done"):
        content = answers.text(fitting.shown(text))
    shape = ToolResult(
        content=msgspec.Raw(content),
        structured_content=None if structured is None else msgspec.Raw(structured),
        is_error=outcome.status != "done",
    )
    return answers.result(era, shape, meta={f"doorward/{key}": value for key, value in told.items()})


def unknown_tool(outcome: Outcome) -> WireError:
    """The protocol error for an unknown tool name."""
    return WireError(INVALID_PARAMS, outcome.message, about(outcome))


def about(outcome: Outcome) -> dict[str, Any]:
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
    data = {**({"uri": uri} if uri else {}), **about(outcome)}
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


def _waits(outcome: Outcome) -> str:
    return (
        f"{outcome.text} Nothing has run yet. A person decides with `doorward approvals approve {outcome.ticket}`"
        f" (or deny). Once it is approved, call the tool {RESUME} with this ticket. Do not repeat the call itself."
        f" {outcome.hint}"
    )


def _why(outcome: Outcome) -> str:
    lines = [outcome.text]
    if outcome.hint:
        lines.append(f"Hint: {outcome.hint}")
    if outcome.retry_after is not None:
        lines.append(f"Try again in {math.ceil(outcome.retry_after)} s.")
    return "\n".join(lines)
