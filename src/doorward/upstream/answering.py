"""What passes between a call and the server that answers it, beside the arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How a tool answered."""

    content: list[dict[str, Any]]
    structured: Any = None
    is_error: bool = False


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a server wants to know before it answers: from a person, or from a model."""

    server: str
    kind: Literal["form", "url", "sampling"]
    message: str
    params: dict[str, Any]
    """The request as it came: `requestedSchema`, `url`, `messages` and so on."""


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out: accepted with content, or declined, or cancelled."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None
    """The fields of a form, or the whole result of sampling."""


class Hooks(msgspec.Struct, frozen=True, kw_only=True):
    """How a call hears of what goes on while it waits for a server."""

    progress: Callable[[float | None, str], None] | None = None
    """How far it is, from 0 to 1 or None, and what it says."""
    log: Callable[[str, str], None] | None = None
    """A level and a line that the server logs."""
    level: str = "info"
    """The least grave level of which `log` hears, where a server can be told."""
    ask: Callable[[Wanted], Awaitable[Given]] | None = None
    """None: nobody can be asked, so every question is answered with "cancel"."""
    person: tuple[str, str] | None = None
    """For whom this call is made: the tenant and the person. Questions of a server that runs several calls, and does
    not say to which one a question belongs, are put to a person only when all of them are made for the same."""
    remarks: list[str] = []
    """What whoever made the call should know if the tool answers that it failed, as sentences; filled meanwhile."""
