"""Custom routes: operations that are not a single command, or that answer in another format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.commands.agent_services import KeeperAnswer
from doorward.doors.http.call_stream import JSON_LINES
from doorward.doors.rest.bodies import (
    AgentRequest,
    CommandPage,
    ConsoleLoginRequest,
    ConsoleSession,
    ExplainRequest,
    Identity,
    LoginRequest,
    LogoutResult,
    RefreshRequest,
    RegisterRequest,
    RunRequest,
    TypingResult,
)
from doorward.doors.rest.operation import SAMPLE_KEY, Method
from doorward.doors.rest.request_reader import EVENT_STREAM, JSON
from doorward.rooms.accounts.sessions import LoginGrant

ROOM_PARAMETER = {"type": "string", "maxLength": 200, "description": "The room to run in. Optional for people."}
_TEXT: dict[str, Any] = {"type": "string"}
_ROOM_NAME: dict[str, Any] = {**_TEXT, "maxLength": 63, "description": "The room's name", SAMPLE_KEY: "general"}
_COMMAND = {
    **_TEXT,
    "maxLength": 200,
    "description": "The command's name; data_list means data/list",
    SAMPLE_KEY: "data_list",
}
_EXECUTION = {**_TEXT, "maxLength": 64, "description": "The execution", SAMPLE_KEY: "01k9x2m4q7ab3cde"}
_FILE = {**_TEXT, "maxLength": 64, "description": "The file", SAMPLE_KEY: "01k9x2m4q7ab3cde"}
OCTET_STREAM = "application/octet-stream"
_FLAG: dict[str, Any] = {"type": "boolean", "default": False}


class CustomOperation(msgspec.Struct, frozen=True, kw_only=True):
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


CUSTOM_OPERATIONS = (
    CustomOperation(
        id="run",
        method="POST",
        path="/run",
        tag="commands",
        summary="Run a command, or continue an approved one with its ticket",
        body=RunRequest,
        answer="Outcome",
        formats=(JSON, EVENT_STREAM),
        example={"command": "data/list", "params": {"collection": "rooms"}, "room": "general"},
    ),
    CustomOperation(
        id="runCommand",
        method="POST",
        path="/commands/{command:path}/run",
        tag="commands",
        summary="Run the command in the path with the body as its parameters",
        named={"command": _COMMAND},
        query={
            "room": ROOM_PARAMETER,
            "ticket": {**_TEXT, "maxLength": 64, "description": "Ticket of an approved call to run"},
            "dryRun": {**_FLAG, "description": "Report the decision and the effects without running the command"},
            "cache": {**_FLAG, "description": "Return a cached result of the last minute if there is one"},
        },
        body={"type": "object"},
        answer="Outcome",
        formats=(JSON, EVENT_STREAM),
        example={"collection": "rooms"},
    ),
    CustomOperation(
        id="agent",
        method="POST",
        path="/agent/ai",
        tag="agent",
        summary="Ask the keeper in plain words; it runs commands and lists them in its answer",
        body=AgentRequest,
        answer=KeeperAnswer,
        formats=(JSON, EVENT_STREAM, JSON_LINES),
        example={"prompt": "how many rooms do we have"},
    ),
    CustomOperation(
        id="explain",
        method="POST",
        path="/explain",
        tag="commands",
        summary="Explain the decision about a command and its rule, without running or recording it",
        body=ExplainRequest,
        example={"command": "file/write", "room": "general"},
    ),
    CustomOperation(
        id="listCommands",
        method="GET",
        path="/commands",
        tag="commands",
        summary="List the commands that you may run in a room",
        query={
            "room": ROOM_PARAMETER,
            "search": {
                **_TEXT,
                "maxLength": 500,
                "description": "Your task in a few words. The best matches come first.",
            },
            "limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 50, "description": "Items in a page"},
            "cursor": {**_TEXT, "maxLength": 20, "description": "Cursor returned by the previous page"},
        },
        answer=CommandPage,
    ),
    CustomOperation(
        id="streamExecution",
        method="GET",
        path="/executions/{execution}/stream",
        tag="executions",
        summary="Stream an execution: its state, its output and its end",
        named={"execution": _EXECUTION},
        query={
            "room": ROOM_PARAMETER,
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
    CustomOperation(
        id="streamEvents",
        method="GET",
        path="/events",
        tag="events",
        summary="Stream the events of your rooms; Last-Event-ID continues after that event",
        query={
            "room": ROOM_PARAMETER,
            "only": {
                **_TEXT,
                "maxLength": 200,
                "description": "Only events of this kind, such as approval or chat:message-received",
            },
        },
        formats=(EVENT_STREAM,),
    ),
    CustomOperation(
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
    CustomOperation(
        id="typing",
        method="POST",
        path="/rooms/{name}/typing",
        tag="rooms",
        summary="Send a typing indicator to the followers of a room; it is not stored",
        named={"name": _ROOM_NAME},
        answer=TypingResult,
    ),
    CustomOperation(
        id="uploadFile",
        method="POST",
        path="/rooms/{name}/attachments",
        tag="rooms",
        summary="Upload an attachment as the body, and use its id in a message",
        named={"name": _ROOM_NAME},
        query={
            "room": ROOM_PARAMETER,
            "file": {**_TEXT, "minLength": 1, "maxLength": 500, "default": "file", "description": "File name"},
        },
        body={"type": "string", "format": "binary"},
        body_format=OCTET_STREAM,
        status=201,
    ),
    CustomOperation(
        id="downloadFile",
        method="GET",
        path="/rooms/{name}/attachments/{id}",
        tag="rooms",
        summary="Download an attachment",
        named={"name": _ROOM_NAME, "id": _FILE},
        query={"room": ROOM_PARAMETER},
        answer={"type": "string", "format": "binary"},
        formats=("*/*",),
    ),
    CustomOperation(id="me", method="GET", path="/me", tag="auth", summary="Get the current identity", answer=Identity),
    CustomOperation(
        id="register",
        method="POST",
        path="/auth/register",
        tag="auth",
        summary="Create a tenant with its first user, and log in",
        body=RegisterRequest,
        answer=LoginGrant,
        status=201,
        open=True,
        example={"tenant": "acme", "user": "anna", "password": "four words make one", "passcode": "…"},
    ),
    CustomOperation(
        id="login",
        method="POST",
        path="/auth/login",
        tag="auth",
        summary="Exchange a password for an access token and a refresh token",
        body=LoginRequest,
        answer=LoginGrant,
        open=True,
        example={"tenant": "acme", "user": "anna", "password": "four words make one"},
    ),
    CustomOperation(
        id="refresh",
        method="POST",
        path="/auth/refresh",
        tag="auth",
        summary="Exchange a refresh token for a new pair; using it twice ends the session",
        body=RefreshRequest,
        answer=LoginGrant,
        open=True,
    ),
    CustomOperation(
        id="logout",
        method="POST",
        path="/auth/logout",
        tag="auth",
        summary="End the session of a refresh token",
        body=RefreshRequest,
        answer=LogoutResult,
        open=True,
    ),
    CustomOperation(
        id="consoleSession",
        method="GET",
        path="/console/session",
        tag="console",
        summary="Get the login state of this browser",
        answer=ConsoleSession,
        open=True,
    ),
    CustomOperation(
        id="consoleLogin",
        method="POST",
        path="/console/login",
        tag="console",
        summary="Log a browser in with a link or a password, and set its cookie",
        body=ConsoleLoginRequest,
        answer=ConsoleSession,
        open=True,
        example={"user": "anna", "password": "four words make one"},
    ),
    CustomOperation(
        id="consoleLogout",
        method="POST",
        path="/console/logout",
        tag="console",
        summary="Log this browser out",
        answer=LogoutResult,
    ),
    CustomOperation(
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
    CustomOperation(
        id="recipeSchema",
        method="GET",
        path="/schemas/recipe",
        tag="recipes",
        summary="Get the JSON Schema of recipes",
        open=True,
    ),
)
