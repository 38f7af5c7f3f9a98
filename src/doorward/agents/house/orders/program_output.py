"""Sentences about programs that ran."""

from __future__ import annotations

from doorward.agents.house import sentences
from doorward.agents.house.results import ToolResult


def describe_output(got: ToolResult, done: str) -> str:
    """Describe what a program wrote and how it ended; `done` is the sentence if it did its work silently."""
    value = got.value if isinstance(got.value, dict) else {}
    if "stdout" not in value and "exitCode" not in value:
        text = got.text.strip()
        return f"It ran and wrote:\n{sentences.quote(text)}" if text and not text.startswith("changes: ") else done
    out, err, code = str(value.get("stdout") or ""), str(value.get("stderr") or ""), value.get("exitCode")
    parts = [f"It ran and wrote:\n{sentences.quote(out)}"] if out.strip() and not out.startswith("changes: ") else []
    if code is None:
        parts.append("It was stopped before it ended.")
    elif code != 0:
        parts.append(f"It ended with exit code {code}.")
    if err.strip():
        parts.append(f"It complained:\n{sentences.quote(err)}")
    return sentences.join_parts(parts) or done
