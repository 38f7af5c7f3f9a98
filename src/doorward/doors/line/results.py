"""Outcomes as answers of the line door: a program's output, or the text that a model reads."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.core.command import Blocks
from doorward.core.model import Outcome
from doorward.doors.line import frames
from doorward.doors.line.frames import Id
from doorward.gate import result_text

MAX_SUMMARY = 500
_LARGEST_DATA = 1_000_000
"""A result larger than this many bytes is sent as text only."""
_encode = msgspec.json.Encoder().encode
_MARK = "\n[… {} characters left out …]\n"


class ResultStyle:
    """Output options of one call."""

    __slots__ = ("most", "summaries")

    def __init__(self, most: int, summaries: bool) -> None:
        self.most = most
        """Characters of output in an answer."""
        self.summaries = summaries


def encode_answer(id: Id, tool: str, outcome: Outcome, style: ResultStyle) -> bytes:
    """The line that ends a call: a response when it is done, an error when it is refused, failed or waiting."""
    if outcome.status == "done":
        return frames.encode_response(
            id, {"tool": tool, **_result_fields(outcome, style), "execution_id": outcome.call}
        )
    return frames.encode_error(id, error_body(tool, outcome, style))


def error_body(tool: str, outcome: Outcome, style: ResultStyle) -> dict[str, Any]:
    """The error body of a call that is refused, failed or waiting."""
    body: dict[str, Any] = {
        "code": outcome.code,
        "message": outcome.message,
        "status": outcome.status,
        "retry": outcome.retry,
        "effect": outcome.effect,
        "tool": tool,
        "execution_id": outcome.call,
        "hint": outcome.hint,
        "rule": outcome.rule,
        "ticket": outcome.ticket,
    }
    body = {key: value for key, value in body.items() if value != ""}
    if outcome.retry_after is not None:
        body["retry_after"] = round(outcome.retry_after, 3)
    if outcome.status == "parked":
        body["hint"] = (
            f"A person can review it with `doorward approvals show {outcome.ticket}` and approve it with "
            f"`doorward approvals approve {outcome.ticket}`. When it is approved, send call_tool with "
            f'{{"ticket":"{outcome.ticket}"}}.'
        )
        body["expires_at"] = outcome.result["expiresAt"]
    elif result_text.is_program_result(outcome.result):
        body |= _program_fields(outcome.result, outcome.call, style)
    elif type(outcome.result) is Blocks:
        words = result_text.render_blocks(outcome.result)
        body["output"] = summarize(words) if style.summaries else words[: style.most]
        if len(words) > len(body["output"]):
            body["output_characters"] = len(words)
    return body


def summarize(text: str) -> str:
    """At most 500 characters: the whole text, or its beginning and end with the omitted characters counted."""
    if len(text) <= MAX_SUMMARY:
        return text
    room = MAX_SUMMARY - len(_MARK.format(len(text)))
    head = room * 2 // 3
    tail = room - head
    return f"{text[:head]}{_MARK.format(len(text) - room)}{text[-tail:]}"


def _result_fields(outcome: Outcome, style: ResultStyle) -> dict[str, Any]:
    if result_text.is_program_result(outcome.result):
        return _program_fields(outcome.result, outcome.call, style)
    shown: dict[str, Any] = {"output": summarize(outcome.text) if style.summaries else outcome.text}
    if outcome.truncated:
        shown["output_characters"] = outcome.truncated
    elif not style.summaries:
        data = _encode(outcome.result)
        shown |= {"data": msgspec.Raw(data)} if len(data) <= _LARGEST_DATA else {"data_bytes": len(data)}
    if outcome.code != "ok":
        shown["code"] = outcome.code
    return shown


def _program_fields(result: dict[str, Any], call: str, style: ResultStyle) -> dict[str, Any]:
    """A program's output without its final line break, and its exit."""
    stdout, stderr = result["stdout"], result.get("stderr", "")
    shown: dict[str, Any] = {}
    if style.summaries:
        shown["output"] = shown["stdout_summary"] = summarize(stdout.removesuffix("\n"))
        shown["stderr_summary"] = summarize(stderr.removesuffix("\n"))
    else:
        shown["output"] = _truncate(stdout, "stdout", call, style.most)
        if stderr:
            shown["stderr"] = _truncate(stderr, "stderr", call, style.most)
    shown["exit_code"] = result["exitCode"]
    shown["seconds"] = result.get("seconds", 0.0)
    if any((result.get("changes") or {}).values()):
        shown["changes"] = result["changes"]
    if result.get("sandbox", "full") != "full":
        shown["sandbox"] = result["sandbox"]
    if result.get("refusedHosts"):
        shown["refused_hosts"] = result["refusedHosts"]
    lost = result_text.describe_truncation(result)
    if lost:
        shown["not_kept"] = lost
    return shown


def _truncate(text: str, stream: str, call: str, most: int) -> str:
    """Truncate a text. The rest is kept for a while, and the text says how to read it."""
    if len(text) <= most:
        return text.removesuffix("\n")
    return (
        f"{text[:most]}\n[cut: {most} of {len(text)} characters shown; read on with the tool execution_output and "
        f'{{"execution":"{call}","stream":"{stream}","offset":{most}}}]'
    )
