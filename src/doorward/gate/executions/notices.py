"""Notices for the watchers of a running call. Its outcome is not a notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from doorward.sandbox.program import OutputStream


class StartedNotice(msgspec.Struct, frozen=True, tag_field="type", tag="started"):
    """The call was admitted. A queued call sends it twice: when it is queued and when it begins."""

    execution: str
    command: str
    queued: bool = False


class OutputNotice(msgspec.Struct, frozen=True, tag_field="type", tag="output"):
    stream: OutputStream
    text: str


class ProgressNotice(msgspec.Struct, frozen=True, tag_field="type", tag="progress"):
    fraction: float | None
    """Progress from 0 to 1; None if unknown."""
    message: str = ""


class LogNotice(msgspec.Struct, frozen=True, tag_field="type", tag="logged"):
    """A log line of the upstream server that this call waits for."""

    server: str
    level: str
    """A syslog level, such as `info` or `error`."""
    text: str


class QuestionNotice(msgspec.Struct, frozen=True, tag_field="type", tag="asked"):
    """A question of the upstream server that this call waits for; see `upstream/questions.py`."""

    question: str
    """The id of the question."""
    server: str
    kind: str
    """`form` and `url` are for people; `sampling` is for the calling client's model."""
    message: str
    """The server's text if the caller is a person; otherwise empty."""


class StepNotice(msgspec.Struct, frozen=True, tag_field="type", tag="step"):
    """A step of a composite call: one of its inner calls, or a part of its answer."""

    kind: str
    """`session`, `thinking`, `tool_started`, `tool_finished`, `text` or `note`."""
    data: Mapping[str, Any]
    """Its data, as plain values that doors may send to clients."""


Notice = StartedNotice | OutputNotice | ProgressNotice | LogNotice | QuestionNotice | StepNotice
ALL_STREAMS: frozenset[OutputStream] = frozenset({"stdout", "stderr"})
"""By default a call takes over all output of its inner calls."""
Watcher = Callable[[Notice], None]
"""Called synchronously on the event loop. It must not block, and an exception would end the call."""
