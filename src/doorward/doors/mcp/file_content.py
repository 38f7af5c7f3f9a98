"""The content of a file as a model reads it: its lines as plain text, or a picture as a block."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.core.command import Blocks
from doorward.core.model import Outcome
from doorward.doors.mcp import truncation

_MAX_CHARACTERS = truncation.MAX_TEXT_BYTES // 6 - 1_000
"""A text of this many characters fits into a message even if every character is escaped."""


def show_file(outcome: Outcome, *, whole: bool) -> Outcome:
    """The outcome of file/read with plain text, or with a picture in it. `whole` keeps its structured result."""
    result: dict[str, Any] = outcome.result
    if "mimeType" in result:
        picture = {"type": "image", "data": result["content"], "mimeType": result["mimeType"]}
        blocks = Blocks(content=[picture], structured_content=result if whole else None)
        return msgspec.structs.replace(outcome, result=blocks)
    if result["encoding"] != "utf-8":
        return outcome
    text = _render_lines(result, min(len(outcome.text) if outcome.truncated else _MAX_CHARACTERS, _MAX_CHARACTERS))
    return msgspec.structs.replace(outcome, text=text, truncated=0)


def _render_lines(result: dict[str, Any], most: int) -> str:
    """The lines, and which they are if there are more. A longer text ends after a whole line, if it has one."""
    content = result["content"]
    if not content:
        return "[The file is empty.]"
    shown, last = content, result["lastLine"]
    if len(content) > most:
        shown = content[: content.rfind("\n", 0, most) + 1 or most]
        last = result["firstLine"] - 1 + max(1, shown.count("\n"))
    if last == result["lines"] and result["firstLine"] == 1 and shown is content:
        return str(content)
    end = "" if shown.endswith("\n") else "\n"
    facts = [f"lines {result['firstLine']} to {last} of {result['lines']}"]
    if last < result["lines"]:
        facts.append(f"read on with offset {last + 1}")
    if not shown.endswith("\n") and shown is not content:
        facts.append(f"line {last} is longer than the {most} characters shown")
    return f"{shown}{end}[{'; '.join(facts)}]"
