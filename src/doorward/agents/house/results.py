"""A result as a prompt shows it, read back into a value. It is information and never a request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from doorward.agents import tool_results
from doorward.agents.models.model import ChatTurn
from doorward.core import strictjson

ResultStatus = Literal["done", "refused", "failed", "parked", "declined"]

_HEAD = re.compile(r"(?P<approved>Approved\. )?(?P<command>[\w/.-]+): (?P<status>done|refused|failed)\b")
_OTHER = re.compile(r"(?P<command>[\w/.-]+): (?P<why>[^\n]+)")
_FOUND = re.compile(r"Found (\d+) items:\n?")
_ITEM = re.compile(r"^\d+\. (?P<value>.+)$", re.MULTILINE)
_TICKET = re.compile(r"Ticket: ([\w-]+)")
_REST = re.compile(r"^\((?P<value>\{.+\})\)$", re.MULTILINE)
_CUT = re.compile(r"\n\[cut: \d+ of \d+ characters shown; [^\n]*\]\s*$")


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one call."""

    command: str
    params: Mapping[str, Any] = {}
    status: ResultStatus = "done"
    value: Any = None
    """The result, if it is JSON."""
    text: str = ""
    """The result as text, if it is not."""
    message: str = ""
    """Why it was refused, failed or waits."""
    ticket: str = ""
    approved: bool = False
    """Whether it ran because a person approved it."""

    @property
    def items(self) -> list[Any]:
        """The items of the result, if it is a list."""
        if isinstance(self.value, dict) and isinstance(self.value.get("items"), list):
            return list(self.value["items"])
        return list(self.value) if isinstance(self.value, list) else []

    @property
    def has_more(self) -> bool:
        """Whether the result says that there is more than it shows."""
        value = self.value
        return isinstance(value, dict) and bool(
            value.get("cursor") or value.get("more") or value.get("cut") or value.get("next")
        )

    @property
    def total(self) -> int | None:
        """How many items there are in all, if the result tells."""
        if isinstance(self.value, dict):
            for key in ("found", "matched", "total"):
                count = self.value.get(key)
                if isinstance(count, int) and not isinstance(count, bool) and count >= len(self.items):
                    return count
        return None if self.has_more else len(self.items)


def read_result(turn: ChatTurn, arguments: str = "") -> ToolResult:
    """Read the result in a turn."""
    given = _value(arguments) if arguments else None
    params = given if isinstance(given, dict) else {}
    head = _HEAD.match(turn.text)
    body = tool_results.extract_data(turn.text)
    if head is None:
        return _read_undone(turn, params)
    command, approved = head["command"], head["approved"] is not None
    if head["status"] != "done":
        message = body.removeprefix("Command failed: ").strip()
        return ToolResult(command=command, params=params, status=head["status"], message=message, approved=approved)  # type: ignore[arg-type]
    value, text = _read_body(body)
    return ToolResult(command=command, params=params, status="done", value=value, text=text, approved=approved)


def _read_undone(turn: ChatTurn, params: dict[str, Any]) -> ToolResult:
    other = _OTHER.match(turn.text)
    command = other["command"] if other else turn.tool
    ticket = _TICKET.search(turn.text)
    first = turn.text.partition("\n")[0]
    if ticket is not None or "waits for a person" in turn.text or "approval" in first:
        return ToolResult(
            command=command, params=params, status="parked", message=first, ticket=ticket[1] if ticket else ""
        )
    why = other["why"] if other else turn.text
    return ToolResult(command=command, params=params, status="declined", message=why)


def _read_body(body: str) -> tuple[Any, str]:
    """Return the value of a result and, if it has none, its text."""
    found = _FOUND.match(body)
    if found is not None:
        whole = _CUT.sub("", body)
        was_cut = whole != body
        lines = _ITEM.findall(whole)
        items = [_value(one) for one in (lines[:-1] if was_cut else lines)]
        rest = _REST.search(whole)
        beside = _value(rest["value"]) if rest and not was_cut else {}
        value: dict[str, Any] = {"items": items, **(beside if isinstance(beside, dict) else {})}
        if was_cut:
            value["found"] = int(found[1])
        return value, ""
    text = body.removeprefix("Result: ")
    single = _value(text)
    return (None, text) if isinstance(single, str) else (single, "")


def _value(text: str) -> Any:
    try:
        return strictjson.loads(text)
    except strictjson.NotJson:
        return text
