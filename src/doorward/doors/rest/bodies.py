"""Request and response bodies of the custom routes."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from doorward.rooms.people import LOCAL


class RunRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /api/run`."""

    command: Annotated[str, Meta(description="The command, in any spelling. Optional with a ticket.")] = ""
    params: Annotated[dict[str, Any] | None, Meta(description="Parameters of the command.")] = None
    room: Annotated[str, Meta(description="The room to run in. Optional for people.")] = ""
    ticket: Annotated[str, Meta(description="Ticket of an approved call to run.")] = ""
    dry_run: Annotated[bool, Meta(description="Report the decision and the effects without running the command.")] = (
        False
    )
    cache: Annotated[bool, Meta(description="Return a cached result of the last minute if there is one.")] = False


class ExplainRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of `POST /api/explain`."""

    command: Annotated[str, Meta(description="The command, in any spelling.", min_length=1)]
    room: Annotated[str, Meta(description="The room it would run in. Optional for people.")] = ""


class AgentRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /api/agent/ai`."""

    prompt: Annotated[str, Meta(description="Your request, in plain words. Optional with a ticket.")] = ""
    session_id: Annotated[str, Meta(description="Session of an earlier answer to continue.")] = ""
    room: Annotated[str, Meta(description="The room to run in. Optional for people.")] = ""
    model: Annotated[str, Meta(description="Model for the keeper. Default: the model of the settings.")] = ""
    ticket: Annotated[str, Meta(description="Ticket of an approved call to continue.")] = ""


class Identity(msgspec.Struct, frozen=True, rename="camel"):
    """The current identity."""

    tenant: str
    id: str
    kind: str
    access: str
    on_behalf_of: str
    rooms: list[str] | None
    """The rooms that the token is valid for; null for every room of its user."""


class CommandSummary(msgspec.Struct, frozen=True, rename="camel"):
    """A command in a list."""

    name: str
    wire: str
    """The name without a slash, for use in a path."""
    summary: str
    usage: str
    category: str
    tier: str
    safety: str
    reads_only: bool
    effects: list[str]
    cost: float
    undo: bool
    """Whether its changes can be undone."""


class CommandPage(msgspec.Struct, frozen=True):
    items: list[CommandSummary]
    total: int
    next: str | None
    """Cursor of the next page; null on the last page."""


Secret = Annotated[str, Meta(max_length=1_000)]
Token = Annotated[str, Meta(max_length=8_192)]
Name = Annotated[str, Meta(min_length=1, max_length=63)]


class LoginRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    user: Name
    password: Secret
    tenant: Name = LOCAL


class RegisterRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tenant: Name
    user: Name
    password: Secret
    name: Annotated[str, Meta(max_length=100)] = ""
    passcode: Annotated[str, Meta(max_length=100)] = ""
    """Passcode from the owner of the server, who creates it with user/invite."""


class RefreshRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The body of a refresh and of a logout."""

    refresh_token: Token


class TypingResult(msgspec.Struct, frozen=True):
    told: bool


class LogoutResult(msgspec.Struct, frozen=True, rename="camel"):
    logged_out: bool


class ConsoleLoginRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A browser's login: by the code of a link, or by user and password."""

    code: Annotated[str, Meta(max_length=200)] = ""
    user: Annotated[str, Meta(max_length=63)] = ""
    password: Secret = ""
    tenant: Annotated[str, Meta(max_length=63)] = ""
    instead: bool = False
    """Whether to replace a session of another user in this browser."""


class ConsoleSession(msgspec.Struct, frozen=True, rename="camel"):
    """Whether a browser is logged in to the console, and as whom."""

    logged_in: bool
    version: str
    note: str = ""
    """Why an earlier session has ended."""
    csrf: str = ""
    """Send this as the Doorward-CSRF header with every request. Only the answer to the login contains it."""
    id: str = ""
    tenant: str = ""
    user: str = ""
    name: str = ""
    access: str = ""
    expires_at: str = ""
