"""A result as a prompt shows it, read again as the value it was. It is information and never a request."""

from __future__ import annotations

import re
from typing import Any

from doorward.agents import tool_results
from doorward.agents.house.telling import Got
from doorward.agents.models.model import ChatTurn
from doorward.core import strictjson

_HEAD = re.compile(r"(?P<approved>Approved\. )?(?P<command>[\w/.-]+): (?P<status>done|refused|failed)\b")
_OTHER = re.compile(r"(?P<command>[\w/.-]+): (?P<why>[^\n]+)")
_FOUND = re.compile(r"Found (\d+) items:\n?")
_ITEM = re.compile(r"^\d+\. (?P<value>.+)$", re.MULTILINE)
_TICKET = re.compile(r"Ticket: ([\w-]+)")
_REST = re.compile(r"^\((?P<value>\{.+\})\)$", re.MULTILINE)
_CUT = re.compile(r"\n\[cut: \d+ of \d+ characters shown; [^\n]*\]\s*$")


def understood(turn: ChatTurn, arguments: str = "") -> Got:
    """The result in a turn."""
    given = _value(arguments) if arguments else None
    params = given if isinstance(given, dict) else {}
    head = _HEAD.match(turn.text)
    body = tool_results.extract_data(turn.text)
    if head is None:
        return _undone(turn, params)
    command, approved = head["command"], head["approved"] is not None
    if head["status"] != "done":
        message = body.removeprefix("Command failed: ").strip()
        return Got(command=command, params=params, status=head["status"], message=message, approved=approved)  # type: ignore[arg-type]
    value, text = _read(body)
    return Got(command=command, params=params, status="done", value=value, text=text, approved=approved)


def _undone(turn: ChatTurn, params: dict[str, Any]) -> Got:
    other = _OTHER.match(turn.text)
    command = other["command"] if other else turn.tool
    ticket = _TICKET.search(turn.text)
    if ticket is not None or "waits for a person" in turn.text or "approval" in turn.text.partition("\n")[0]:
        return Got(
            command=command,
            params=params,
            status="parked",
            message=turn.text.partition("\n")[0],
            ticket=ticket[1] if ticket else "",
        )
    why = other["why"] if other else turn.text
    return Got(command=command, params=params, status="declined", message=why)


def _read(body: str) -> tuple[Any, str]:
    """The value of a result and, where it is none, its text."""
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
