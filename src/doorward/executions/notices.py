"""What whoever watches a call is told while it goes on. The last word is its outcome, which is no notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from doorward.sandbox.program import Stream


class Started(msgspec.Struct, frozen=True, tag_field="type", tag="started"):
    """The call was let in. One that has to wait is told of twice: when it waits, and when it begins."""

    execution: str
    command: str
    queued: bool = False


class Output(msgspec.Struct, frozen=True, tag_field="type", tag="output"):
    stream: Stream
    text: str


class Progress(msgspec.Struct, frozen=True, tag_field="type", tag="progress"):
    fraction: float | None
    """How much is done, from 0 to 1; None when nobody can know."""
    message: str = ""


class Logged(msgspec.Struct, frozen=True, tag_field="type", tag="logged"):
    """Another server, which this call waits for, wrote something for a log."""

    server: str
    level: str
    """One of syslog's words, such as `info` and `error`."""
    text: str


class Asked(msgspec.Struct, frozen=True, tag_field="type", tag="asked"):
    """Another server, which this call waits for, wants to know something first; see `upstream/questions.py`."""

    question: str
    """Its id."""
    server: str
    kind: str
    """`form` and `url` are for people; `sampling` is for the model of the client that called."""
    message: str
    """The server's words, where the caller is a person; empty to anybody else."""


class Step(msgspec.Struct, frozen=True, tag_field="type", tag="step"):
    """A call that consists of others tells of one of them, or of what it is about to say."""

    kind: str
    """`session`, `thinking`, `tool_started`, `tool_finished`, `text` or `note`."""
    data: Mapping[str, Any]
    """What belongs to it, in plain values that may leave the house: as the door writes it."""


Notice = Started | Output | Progress | Logged | Asked | Step
HEARS_ALL: frozenset[Stream] = frozenset({"stdout", "stderr"})
"""A call hears all that calls inside it write, unless it says otherwise."""
Watch = Callable[[Notice], None]
"""Called at once, on the event loop: it may not wait, and what it raises would end the call."""
