"""Outcomes as answers of this door: what a program printed where there is one, and what a model reads elsewhere."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.command import Blocks
from doorward.doors.line import frames
from doorward.doors.line.frames import Id
from doorward.gate import present
from doorward.model import Outcome

LONGEST_SUMMARY = 500
_LARGEST_DATA = 1_000_000
"""A result of more bytes than this comes as text alone."""
_encode = msgspec.json.Encoder().encode
_MARK = "\n[… {} characters left out …]\n"


class Style:
    """How results are written for one call."""

    __slots__ = ("most", "summaries")

    def __init__(self, most: int, summaries: bool) -> None:
        self.most = most
        """How many characters of output an answer holds."""
        self.summaries = summaries


def answer(id: Id, tool: str, outcome: Outcome, style: Style) -> bytes:
    """The one line that ends a call: a response when it was done, an error when it was refused, failed or waits."""
    if outcome.status == "done":
        return frames.response(id, {"tool": tool, **_shown(outcome, style), "execution_id": outcome.call})
    return frames.error(id, refusal(tool, outcome, style))


def refusal(tool: str, outcome: Outcome, style: Style) -> dict[str, Any]:
    """Everything that is known of a call that did not do what it was asked."""
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
            f"A person looks with `doorward approvals show {outcome.ticket}` and says yes with "
            f"`doorward approvals approve {outcome.ticket}`; once it is approved, send call_tool with "
            f'{{"ticket":"{outcome.ticket}"}}.'
        )
        body["expires_at"] = outcome.result["expiresAt"]
    elif present.is_programs(outcome.result):
        body |= _program(outcome.result, outcome.call, style)
    elif type(outcome.result) is Blocks:
        words = present.in_words(outcome.result)
        body["output"] = summary(words) if style.summaries else words[: style.most]
        if len(words) > len(body["output"]):
            body["output_characters"] = len(words)
    return body


def summary(text: str) -> str:
    """A text in at most 500 characters: all of it, or its beginning and its end with what is left out counted."""
    if len(text) <= LONGEST_SUMMARY:
        return text
    room = LONGEST_SUMMARY - len(_MARK.format(len(text)))
    head = room * 2 // 3
    tail = room - head
    return f"{text[:head]}{_MARK.format(len(text) - room)}{text[-tail:]}"


def _shown(outcome: Outcome, style: Style) -> dict[str, Any]:
    if present.is_programs(outcome.result):
        return _program(outcome.result, outcome.call, style)
    shown: dict[str, Any] = {"output": summary(outcome.text) if style.summaries else outcome.text}
    if outcome.truncated:
        shown["output_characters"] = outcome.truncated
    elif not style.summaries:
        data = _encode(outcome.result)
        shown |= {"data": msgspec.Raw(data)} if len(data) <= _LARGEST_DATA else {"data_bytes": len(data)}
    if outcome.code != "ok":
        shown["code"] = outcome.code
    return shown


def _program(result: dict[str, Any], call: str, style: Style) -> dict[str, Any]:
    """What a program printed, without the line break at its end, and how it ended."""
    stdout, stderr = result["stdout"], result.get("stderr", "")
    shown: dict[str, Any] = {}
    if style.summaries:
        shown["output"] = shown["stdout_summary"] = summary(stdout.removesuffix("\n"))
        shown["stderr_summary"] = summary(stderr.removesuffix("\n"))
    else:
        shown["output"] = _cut(stdout, "stdout", call, style.most)
        if stderr:
            shown["stderr"] = _cut(stderr, "stderr", call, style.most)
    shown["exit_code"] = result["exitCode"]
    shown["seconds"] = result.get("seconds", 0.0)
    if any((result.get("changes") or {}).values()):
        shown["changes"] = result["changes"]
    if result.get("sandbox", "full") != "full":
        shown["sandbox"] = result["sandbox"]
    lost = present.not_kept(result)
    if lost:
        shown["not_kept"] = lost
    return shown


def _cut(text: str, stream: str, call: str, most: int) -> str:
    """As much as an answer may hold; the rest is kept for a while, and the text says how to read it."""
    if len(text) <= most:
        return text.removesuffix("\n")
    return (
        f"{text[:most]}\n[cut: {most} of {len(text)} characters shown; read on with the tool execution_output and "
        f'{{"execution":"{call}","stream":"{stream}","offset":{most}}}]'
    )
