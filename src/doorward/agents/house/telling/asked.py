"""What was asked for and what was got, as far as a sentence about it needs to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from doorward.agents.house.entities.entity import About, Function

GotStatus = Literal["done", "refused", "failed", "parked", "declined"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The request behind results."""

    act: str = ""
    """Such as list, count, describe, read, find, search, check, explain, delete."""
    thing: str = ""
    """What the house calls it: a collection such as `orders`, or files, log, failures, health."""
    count: bool = False
    """Whether a number is the answer."""
    why: bool = False
    """Whether reasons are wanted."""
    fields: Sequence[str] = ()
    """The fields that were named; they are told, and first."""
    group: str = ""
    measure: Function | Literal[""] = ""
    span_says: str = ""
    """The period, such as `in the last day`."""
    about: About = ""
    """What happened in the period: `changed` makes `3 orders changed in the last day` of it."""
    condition_says: str = ""
    """The other conditions, such as `with a total over 100`, to be said back."""
    limit: int = 0
    noun: tuple[str, str] = ("", "")
    """One and many, as the person said it: `order`, `orders`."""
    path: str = ""
    zone: str = ""
    """The name of the time zone that times are told in; empty is UTC."""
    topic: Sequence[str] = ()
    """The words that earlier messages are searched for; the best finds hold them."""
    question: str = ""
    """The request itself, left out where it would be found as an answer to itself."""


class Got(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one call."""

    command: str
    params: Mapping[str, Any] = {}
    status: GotStatus = "done"
    value: Any = None
    """The result, when it is JSON."""
    text: str = ""
    """The result as text, when it is not."""
    message: str = ""
    """Why it was refused, failed or waits."""
    ticket: str = ""
    approved: bool = False
    """Whether it ran because a person said yes."""
