"""What requests bring and answers hold on the paths beside the table."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from doorward.rooms.people import LOCAL


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /api/run`."""

    command: Annotated[str, Meta(description="The command, in any spelling; may be left out beside a ticket")] = ""
    params: Annotated[dict[str, Any] | None, Meta(description="Its parameters")] = None
    room: Annotated[str, Meta(description="The room you act in; people may leave it out")] = ""
    ticket: Annotated[str, Meta(description="Resumes what a person has approved meanwhile")] = ""
    dry_run: Annotated[bool, Meta(description="Only say what would be decided and done")] = False
    cache: Annotated[bool, Meta(description="Take a result of the last minute where one is kept")] = False


class Explain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of `POST /api/explain`."""

    command: Annotated[str, Meta(description="The command, in any spelling", min_length=1)]
    room: Annotated[str, Meta(description="The room it would run in; people may leave it out")] = ""


class Ai(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /api/agent/ai`."""

    prompt: Annotated[str, Meta(description="What you want, in plain words; may be left out beside a ticket")] = ""
    session_id: Annotated[str, Meta(description="Goes on in that session, which an earlier answer named")] = ""
    room: Annotated[str, Meta(description="The room you act in; people may leave it out")] = ""
    model: Annotated[str, Meta(description="What the keeper thinks with; else as the settings say")] = ""
    ticket: Annotated[str, Meta(description="Goes on with what waited for a person's approval")] = ""


class Me(msgspec.Struct, frozen=True, rename="camel"):
    """Whom a token speaks for."""

    tenant: str
    id: str
    kind: str
    access: str
    on_behalf_of: str
    rooms: list[str] | None
    """The rooms the token is good for; null for every room of its user's."""


class Offer(msgspec.Struct, frozen=True, rename="camel"):
    """A command as lists show it."""

    name: str
    wire: str
    """Its name without a slash, which fits into a path as it is."""
    summary: str
    usage: str
    category: str
    tier: str
    safety: str
    reads_only: bool
    effects: list[str]
    cost: float
    undo: bool
    """Whether what it changes can be taken back."""


class Offers(msgspec.Struct, frozen=True):
    items: list[Offer]
    total: int
    next: str | None
    """The cursor of the next page; null when there is none."""


Secret = Annotated[str, Meta(max_length=1_000)]
Token = Annotated[str, Meta(max_length=8_192)]
Name = Annotated[str, Meta(min_length=1, max_length=63)]


class Login(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    user: Name
    password: Secret
    tenant: Name = LOCAL


class Register(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tenant: Name
    user: Name
    password: Secret
    name: Annotated[str, Meta(max_length=100)] = ""
    passcode: Annotated[str, Meta(max_length=100)] = ""
    """What the owner of the house gave you for this; made with user/invite."""


class Refresh(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The body of refreshing and of logging out."""

    refresh_token: Token


class Told(msgspec.Struct, frozen=True):
    told: bool


class LoggedOut(msgspec.Struct, frozen=True, rename="camel"):
    logged_out: bool


class ConsoleLogin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a browser comes in: by the code of a link, or by a password."""

    code: Annotated[str, Meta(max_length=200)] = ""
    user: Annotated[str, Meta(max_length=63)] = ""
    password: Secret = ""
    tenant: Annotated[str, Meta(max_length=63)] = ""
    instead: bool = False
    """Also where the browser is logged in as somebody else, whose session ends then."""


class ConsoleSession(msgspec.Struct, frozen=True, rename="camel"):
    """Whether a browser is logged in to the console, and as whom."""

    logged_in: bool
    version: str
    note: str = ""
    """Why it is not, where it once was."""
    csrf: str = ""
    """What to send as the header Doorward-CSRF with every request. Only the answer of the login has it."""
    id: str = ""
    tenant: str = ""
    user: str = ""
    name: str = ""
    access: str = ""
    expires_at: str = ""
