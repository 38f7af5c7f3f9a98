"""Custom routes: operations that are not a single command, or that answer in another format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.backends.keeper_desk import Answer
from doorward.doors.live import JSON_LINES
from doorward.doors.rest.bodies import (
    Ai,
    ConsoleLogin,
    ConsoleSession,
    Explain,
    LoggedOut,
    Login,
    Me,
    Offers,
    Refresh,
    Register,
    Run,
    Told,
)
from doorward.doors.rest.curl import SAMPLE
from doorward.doors.rest.operation import Method
from doorward.doors.rest.reading import EVENT_STREAM, JSON
from doorward.rooms.sessions import Grant

ROOM = {"type": "string", "maxLength": 200, "description": "The room to run in. Optional for people."}
_TEXT: dict[str, Any] = {"type": "string"}
_ROOM_NAME: dict[str, Any] = {**_TEXT, "maxLength": 63, "description": "The room's name", SAMPLE: "general"}
_COMMAND = {
    **_TEXT,
    "maxLength": 200,
    "description": "The command's name; data_list means data/list",
    SAMPLE: "data_list",
}
_EXECUTION = {**_TEXT, "maxLength": 64, "description": "The execution", SAMPLE: "01k9x2m4q7ab3cde"}
_FILE = {**_TEXT, "maxLength": 64, "description": "The file", SAMPLE: "01k9x2m4q7ab3cde"}
BYTES = "application/octet-stream"
_YES: dict[str, Any] = {"type": "boolean", "default": False}


class Own(msgspec.Struct, frozen=True, kw_only=True):
    """A route with its own handler."""

    id: str
    method: Method
    path: str
    tag: str
    summary: str
    named: Mapping[str, Mapping[str, Any]] = {}
    """Schemas of the path parameters."""
    query: Mapping[str, Mapping[str, Any]] = {}
    body: Any = None
    """The type of the body, or a schema."""
    answer: Any = None
    """The type of the answer, or a schema; None for any object."""
    body_format: str = JSON
    formats: tuple[str, ...] = (JSON,)
    status: int = 200
    open: bool = False
    """Whether it needs no token."""
    example: Mapping[str, Any] | None = None


OWN = (
    Own(
        id="run",
        method="POST",
        path="/run",
        tag="commands",
        summary="Run a command, or continue an approved one with its ticket",
        body=Run,
        answer="Outcome",
        formats=(JSON, EVENT_STREAM),
        example={"command": "data/list", "params": {"collection": "rooms"}, "room": "general"},
    ),
    Own(
        id="runCommand",
        method="POST",
        path="/commands/{command:path}/run",
        tag="commands",
        summary="Run the command in the path with the body as its parameters",
        named={"command": _COMMAND},
        query={
            "room": ROOM,
            "ticket": {**_TEXT, "maxLength": 64, "description": "Ticket of an approved call to run"},
            "dryRun": {**_YES, "description": "Report the decision and the effects without running the command"},
            "cache": {**_YES, "description": "Return a cached result of the last minute if there is one"},
        },
        body={"type": "object"},
        answer="Outcome",
        formats=(JSON, EVENT_STREAM),
        example={"collection": "rooms"},
    ),
    Own(
        id="agent",
        method="POST",
        path="/agent/ai",
        tag="agent",
        summary="Ask the keeper in plain words; it runs commands and lists them in its answer",
        body=Ai,
        answer=Answer,
        formats=(JSON, EVENT_STREAM, JSON_LINES),
        example={"prompt": "how many rooms do we have"},
    ),
    Own(
        id="explain",
        method="POST",
        path="/explain",
        tag="commands",
        summary="Explain the decision about a command and its rule, without running or recording it",
        body=Explain,
        example={"command": "file/write", "room": "general"},
    ),
    Own(
        id="listCommands",
        method="GET",
        path="/commands",
        tag="commands",
        summary="List the commands that you may run in a room",
        query={
            "room": ROOM,
            "search": {
                **_TEXT,
                "maxLength": 500,
                "description": "Your task in a few words. The best matches come first.",
            },
            "limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 50, "description": "Items in a page"},
            "cursor": {**_TEXT, "maxLength": 20, "description": "Cursor returned by the previous page"},
        },
        answer=Offers,
    ),
    Own(
        id="streamExecution",
        method="GET",
        path="/executions/{execution}/stream",
        tag="executions",
        summary="Stream an execution: its state, its output and its end",
        named={"execution": _EXECUTION},
        query={
            "room": ROOM,
            "offset": {
                "type": "integer",
                "minimum": 0,
                "maximum": 100_000_000,
                "default": 0,
                "description": "Index of the first character of output. Last-Event-ID overrides it.",
            },
        },
        formats=(EVENT_STREAM,),
    ),
    Own(
        id="streamEvents",
        method="GET",
        path="/events",
        tag="events",
        summary="Stream the events of your rooms; Last-Event-ID continues after that event",
        query={
            "room": ROOM,
            "only": {
                **_TEXT,
                "maxLength": 200,
                "description": "Only events of this kind, such as approval or chat:message-received",
            },
        },
        formats=(EVENT_STREAM,),
    ),
    Own(
        id="streamRoom",
        method="GET",
        path="/rooms/{name}/stream",
        tag="rooms",
        summary="Stream everything in a room; Last-Event-ID continues after that revision",
        named={"name": _ROOM_NAME},
        query={
            "since": {
                "type": "integer",
                "minimum": 0,
                "description": "Revision after which to start. Last-Event-ID overrides it.",
            }
        },
        formats=(EVENT_STREAM,),
    ),
    Own(
        id="typing",
        method="POST",
        path="/rooms/{name}/typing",
        tag="rooms",
        summary="Send a typing indicator to the followers of a room; it is not stored",
        named={"name": _ROOM_NAME},
        answer=Told,
    ),
    Own(
        id="uploadFile",
        method="POST",
        path="/rooms/{name}/attachments",
        tag="rooms",
        summary="Upload an attachment as the body, and use its id in a message",
        named={"name": _ROOM_NAME},
        query={
            "room": ROOM,
            "file": {**_TEXT, "minLength": 1, "maxLength": 500, "default": "file", "description": "File name"},
        },
        body={"type": "string", "format": "binary"},
        body_format=BYTES,
        status=201,
    ),
    Own(
        id="downloadFile",
        method="GET",
        path="/rooms/{name}/attachments/{id}",
        tag="rooms",
        summary="Download an attachment",
        named={"name": _ROOM_NAME, "id": _FILE},
        query={"room": ROOM},
        answer={"type": "string", "format": "binary"},
        formats=("*/*",),
    ),
    Own(id="me", method="GET", path="/me", tag="auth", summary="Get the current identity", answer=Me),
    Own(
        id="register",
        method="POST",
        path="/auth/register",
        tag="auth",
        summary="Create a tenant with its first user, and log in",
        body=Register,
        answer=Grant,
        status=201,
        open=True,
        example={"tenant": "acme", "user": "anna", "password": "four words make one", "passcode": "…"},
    ),
    Own(
        id="login",
        method="POST",
        path="/auth/login",
        tag="auth",
        summary="Exchange a password for an access token and a refresh token",
        body=Login,
        answer=Grant,
        open=True,
        example={"tenant": "acme", "user": "anna", "password": "four words make one"},
    ),
    Own(
        id="refresh",
        method="POST",
        path="/auth/refresh",
        tag="auth",
        summary="Exchange a refresh token for a new pair; using it twice ends the session",
        body=Refresh,
        answer=Grant,
        open=True,
    ),
    Own(
        id="logout",
        method="POST",
        path="/auth/logout",
        tag="auth",
        summary="End the session of a refresh token",
        body=Refresh,
        answer=LoggedOut,
        open=True,
    ),
    Own(
        id="consoleSession",
        method="GET",
        path="/console/session",
        tag="console",
        summary="Get the login state of this browser",
        answer=ConsoleSession,
        open=True,
    ),
    Own(
        id="consoleLogin",
        method="POST",
        path="/console/login",
        tag="console",
        summary="Log a browser in with a link or a password, and set its cookie",
        body=ConsoleLogin,
        answer=ConsoleSession,
        open=True,
        example={"user": "anna", "password": "four words make one"},
    ),
    Own(
        id="consoleLogout",
        method="POST",
        path="/console/logout",
        tag="console",
        summary="Log this browser out",
        answer=LoggedOut,
    ),
    Own(
        id="consoleStream",
        method="GET",
        path="/console/stream",
        tag="console",
        summary="Stream events and the shown room for a page of the console",
        query={
            "room": {"type": "string", "maxLength": 200, "description": "The room that the page shows"},
            "since": {
                **_TEXT,
                "maxLength": 100,
                "description": "Id of the event to continue after. Last-Event-ID overrides it.",
            },
        },
        formats=(EVENT_STREAM,),
    ),
    Own(
        id="recipeSchema",
        method="GET",
        path="/schemas/recipe",
        tag="recipes",
        summary="Get the JSON Schema of recipes",
        open=True,
    ),
)
