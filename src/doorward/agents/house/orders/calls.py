"""The calls of an order, and the sentences about what they did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from doorward.agents.house import sentences
from doorward.agents.house.plan import NotOffered, Reading, Reply, Step, Steps
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult


def need(context: RequestContext, *commands: str) -> str:
    """Return the first of these commands that is offered. Raises NotOffered."""
    found = context.offered(*commands)
    if not found:
        raise NotOffered(commands[0])
    return found


def make_reading(context: RequestContext, name: str, steps: Callable[[], Steps], says: str) -> Reading:
    """Return the reading of an order, whose grammar accounts for every word."""
    every = frozenset(range(len(context.request)))
    return Reading(name=name, steps=steps, explained=every, changes=True, says=says)


def make_call(context: RequestContext, name: str, says: str, calls: Mapping[str, dict[str, Any]], done: str) -> Reading:
    """Return the reading of an order that takes one call: the first of `calls` whose command is offered."""

    def steps() -> Steps:
        command = need(context, *calls)
        (got,) = yield [Step(command, calls[command])]
        return describe_done(got, done)

    return make_reading(context, name, steps, says)


def refuse(why: str) -> Reply:
    return Reply(f"I did nothing: {why}", "declined")


def describe_done(got: ToolResult, done: str) -> str:
    """Describe what a call changed, or what a program wrote; `done` is the sentence if the result does not tell."""
    value = got.value if isinstance(got.value, dict) else {}
    if "stdout" not in value and "exitCode" not in value:
        return sentences.describe_change(got) or _describe_text(got.text) or done
    parts = [_describe_text(str(value.get("stdout") or ""))]
    code, err = value.get("exitCode"), str(value.get("stderr") or "")
    if code != 0:
        parts.append(f"It ended with exit code {code}." if code is not None else "It was stopped before it ended.")
    if err.strip():
        parts.append(f"It complained:\n{sentences.quote(err)}")
    return sentences.join_parts([one for one in parts if one]) or done


def _describe_text(text: str) -> str:
    return f"It ran and wrote:\n{sentences.quote(text)}" if text.strip() and not text.startswith("changes: ") else ""
