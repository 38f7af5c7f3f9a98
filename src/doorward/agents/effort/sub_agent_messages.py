"""The messages of a sub-agent to its agent."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Report = Literal["status_update", "completion", "error", "tool_available"]
_MAX_WAITING = 200


class SubAgentMessage(msgspec.Struct, frozen=True, kw_only=True):
    report: Report
    request: str
    """The id of the request."""
    message: str
    """What happened, in a sentence."""
    data: dict[str, Any]
    """`kind`, `room`, `state` and `progress`; by report also `result`, `error`, or `server` and `tools`."""


class MessageQueue:
    """The messages that the agent has not read. Of status updates, only the last of each request is kept."""

    def __init__(self) -> None:
        self._waiting: list[SubAgentMessage] = []

    def add(self, message: SubAgentMessage) -> None:
        if message.report == "status_update":
            self._waiting = [
                one for one in self._waiting if (one.report, one.request) != (message.report, message.request)
            ]
        self._waiting = [*self._waiting, message][-_MAX_WAITING:]

    def drain(self) -> list[SubAgentMessage]:
        waiting, self._waiting = self._waiting, []
        return waiting
