"""Types that a tool call exchanges with its server: results, questions and hooks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec


class ToolCallResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a tool call."""

    content: list[dict[str, Any]]
    structured: Any = None
    is_error: bool = False


class ServerQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question of a server during a call, for a person (elicitation) or for a model (sampling)."""

    server: str
    kind: Literal["form", "url", "sampling"]
    message: str
    params: dict[str, Any]
    """The request's params as received: `requestedSchema`, `url`, `messages` and so on."""


class QuestionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a server's question: accepted with content, declined or cancelled."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None
    """The fields of a form, or the whole result of sampling."""


class CallHooks(msgspec.Struct, frozen=True, kw_only=True):
    """Callbacks for events during a call."""

    progress: Callable[[float | None, str], None] | None = None
    """Called with the progress from 0 to 1, or None, and a message."""
    log: Callable[[str, str], None] | None = None
    """Called with the level and text of a log message."""
    level: str = "info"
    """The lowest level for `log`, where the server supports it."""
    ask: Callable[[ServerQuestion], Awaitable[QuestionAnswer]] | None = None
    """Answers questions. None: every question is answered with "cancel"."""
    person: tuple[str, str] | None = None
    """The tenant and person that this call is for. A server with several running calls may not say which one a question
    belongs to; the question is asked only when all of them are for the same person."""
    remarks: list[str] = []
    """Sentences that explain a failure of the tool to the caller; filled during the call."""
