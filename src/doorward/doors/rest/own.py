"""The paths beside the table: what is no single command, or answers in another way. Data, like the rest."""

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

ROOM = {"type": "string", "maxLength": 200, "description": "The room you act in; people may leave it out"}
_TEXT: dict[str, Any] = {"type": "string"}
_ROOM_NAME: dict[str, Any] = {**_TEXT, "maxLength": 63, "description": "The room's name", SAMPLE: "general"}
_COMMAND = {**_TEXT, "maxLength": 200, "description": "The command's name; data_list is data/list", SAMPLE: "data_list"}
_EXECUTION = {**_TEXT, "maxLength": 64, "description": "The execution", SAMPLE: "01k9x2m4q7ab3cde"}
_FILE = {**_TEXT, "maxLength": 64, "description": "The file", SAMPLE: "01k9x2m4q7ab3cde"}
BYTES = "application/octet-stream"
_YES: dict[str, Any] = {"type": "boolean", "default": False}


class Own(msgspec.Struct, frozen=True, kw_only=True):
    """A path that has a handler of its own."""

    id: str
    method: Method
    path: str
    tag: str
    summary: str
    named: Mapping[str, Mapping[str, Any]] = {}
    """The schemas of what stands in the path."""
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
        summary="Run a command, or resume one that was approved",
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
        summary="Run the command that the path names; the body is its parameters",
        named={"command": _COMMAND},
        query={
            "room": ROOM,
            "ticket": {**_TEXT, "maxLength": 64, "description": "Resumes what a person has approved meanwhile"},
            "dryRun": {**_YES, "description": "Only say what would be decided and done"},
            "cache": {**_YES, "description": "Take a result of the last minute where one is kept"},
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
        summary="Say in plain words what you want; the keeper does it by commands, and answers with each of them",
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
        summary="What would be decided about a command, and by which rule; runs and records nothing",
        body=Explain,
        example={"command": "file/write", "room": "general"},
    ),
    Own(
        id="listCommands",
        method="GET",
        path="/commands",
        tag="commands",
        summary="Exactly the commands that you may run in a room",
        query={
            "room": ROOM,
            "search": {**_TEXT, "maxLength": 500, "description": "What you want to do, in a few words; best first"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 50, "description": "At most so many"},
            "cursor": {**_TEXT, "maxLength": 20, "description": "Where to go on: `next` of the page before"},
        },
        answer=Offers,
    ),
    Own(
        id="streamExecution",
        method="GET",
        path="/executions/{execution}/stream",
        tag="executions",
        summary="Follow an execution: its state, what it wrote and writes, and its end",
        named={"execution": _EXECUTION},
        query={
            "room": ROOM,
            "offset": {
                "type": "integer",
                "minimum": 0,
                "maximum": 100_000_000,
                "default": 0,
                "description": "The first character to tell; Last-Event-ID says the same",
            },
        },
        formats=(EVENT_STREAM,),
    ),
    Own(
        id="streamEvents",
        method="GET",
        path="/events",
        tag="events",
        summary="What happens in your rooms, as it happens; Last-Event-ID goes on after that event",
        query={
            "room": ROOM,
            "only": {**_TEXT, "maxLength": 200, "description": "Only these, such as approval or chat:message-received"},
        },
        formats=(EVENT_STREAM,),
    ),
    Own(
        id="streamRoom",
        method="GET",
        path="/rooms/{name}/stream",
        tag="rooms",
        summary="Everything in a room as it happens; Last-Event-ID goes on after that revision, after a restart too",
        named={"name": _ROOM_NAME},
        query={
            "since": {
                "type": "integer",
                "minimum": 0,
                "description": "The revision behind which to begin; Last-Event-ID says the same",
            }
        },
        formats=(EVENT_STREAM,),
    ),
    Own(
        id="typing",
        method="POST",
        path="/rooms/{name}/typing",
        tag="rooms",
        summary="Tell those who follow a room that you type; nothing is kept of it",
        named={"name": _ROOM_NAME},
        answer=Told,
    ),
    Own(
        id="uploadFile",
        method="POST",
        path="/rooms/{name}/attachments",
        tag="rooms",
        summary="Bring a file, which is the body, for a message to come with; its id goes into that message",
        named={"name": _ROOM_NAME},
        query={
            "room": ROOM,
            "file": {**_TEXT, "minLength": 1, "maxLength": 500, "default": "file", "description": "What it is called"},
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
        summary="The bytes of a file that came with a message",
        named={"name": _ROOM_NAME, "id": _FILE},
        query={"room": ROOM},
        answer={"type": "string", "format": "binary"},
        formats=("*/*",),
    ),
    Own(id="me", method="GET", path="/me", tag="auth", summary="Whom your token speaks for", answer=Me),
    Own(
        id="register",
        method="POST",
        path="/auth/register",
        tag="auth",
        summary="Make a new tenant with its first user, and log in",
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
        summary="Exchange a refresh token, once, for a new pair; a second time ends the session",
        body=Refresh,
        answer=Grant,
        open=True,
    ),
    Own(
        id="logout",
        method="POST",
        path="/auth/logout",
        tag="auth",
        summary="End the session that a refresh token belongs to",
        body=Refresh,
        answer=LoggedOut,
        open=True,
    ),
    Own(
        id="consoleSession",
        method="GET",
        path="/console/session",
        tag="console",
        summary="Whether this browser is logged in, and as whom",
        answer=ConsoleSession,
        open=True,
    ),
    Own(
        id="consoleLogin",
        method="POST",
        path="/console/login",
        tag="console",
        summary="Log a browser in by a link or a password; sets its cookie",
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
        summary="All that a page of the console is told: what happens, and everything in the room it shows",
        query={
            "room": {"type": "string", "maxLength": 200, "description": "The room that the page shows"},
            "since": {**_TEXT, "maxLength": 100, "description": "Where to go on; Last-Event-ID says the same"},
        },
        formats=(EVENT_STREAM,),
    ),
    Own(
        id="recipeSchema",
        method="GET",
        path="/schemas/recipe",
        tag="recipes",
        summary="The JSON Schema of recipes",
        open=True,
    ),
)
