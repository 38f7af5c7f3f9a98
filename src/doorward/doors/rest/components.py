"""The parts of the OpenAPI document that are the same whatever the routes are: problems, health, and a few headers."""

from __future__ import annotations

from typing import Any

from doorward.doors.problem import MEDIA_TYPE
from doorward.doors.rest import problems
from doorward.doors.rest.reading import JSON
from doorward.doors.statuses import HTTP_STATUS

REFERENCE = "#/components/schemas/{name}"
TAGS = {
    "commands": "Find out what may be run, and run it",
    "agent": "Say in plain words what you want",
    "executions": "What runs, what ran, and what it wrote",
    "approvals": "Questions to people, and their answers",
    "rooms": "Rooms, their members and messages",
    "recipes": "The rules of rooms",
    "personas": "The AIs of the house",
    "models": "What personas think with",
    "audit": "The record of everything that was asked",
    "data": "Collections of records",
    "events": "What happens, as it happens",
    "auth": "Passwords, and the tokens they are exchanged for",
    "tokens": "Tokens for agents and programs",
    "users": "The people of your tenant",
    "console": "What the page in the browser needs beside the rest",
    "house": "Whether Doorward is well",
}
HEALTH = {
    "operationId": "health",
    "tags": ["house"],
    "summary": "Whether Doorward is well; degraded while a recipe or the catalogue is not valid",
    "parameters": [],
    "security": [],
    "responses": {
        "200": {
            "description": "Up",
            "content": {
                JSON: {
                    "schema": {
                        "type": "object",
                        "properties": {
                            "status": {"enum": ["ok", "degraded"]},
                            "version": {"type": "string"},
                            "problems": {"type": "integer"},
                        },
                        "required": ["status", "version", "problems"],
                    }
                }
            },
        }
    },
}
STATUSES = sorted({HTTP_STATUS[code] for code in problems.TITLES} | {one.status for one in problems.OF_HTTP.values()})
PROBLEM = {
    "type": "object",
    "description": "Problem details (RFC 9457), with what the gate says beside them",
    "properties": {
        "type": {"type": "string", "description": "Where the code is described"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, what would be valid, what was given"},
        "code": {"enum": sorted({*problems.TITLES, *problems.OF_HTTP})},
        "outcome": {"enum": ["refused", "failed"], "description": "Whether it never began, or began and ended badly"},
        "retry": {"enum": ["never", "after_fix", "later"]},
        "retryAfter": {"type": "number", "description": "Seconds after which it may be tried again"},
        "effect": {"enum": ["none", "done", "unknown"], "description": "Whether anything changed"},
        "hint": {"type": "string"},
        "rule": {"type": "string", "description": "The rule that decided"},
        "call": {"type": "string", "description": "The execution, or what was asked, as the record has it"},
        "command": {"type": "string"},
        "result": {"description": "What there is to show for a failure, such as what a program wrote"},
    },
    "required": ["type", "title", "status", "detail", "code"],
}
LAST = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The id of the last event that came, to go on behind it",
    "schema": {"type": "string", "maxLength": 64},
}
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key and body again give the first answer again, and run nothing",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[\\x21-\\x7e]+$"},
}


def problem_responses() -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(name="Problem")}}}
    found: dict[str, Any] = {}
    for status in STATUSES:
        codes = [code for code in problems.TITLES if HTTP_STATUS[code] == status]
        codes += [one.code for one in problems.OF_HTTP.values() if one.status == status]
        response: dict[str, Any] = {"description": ", ".join(codes), "content": content}
        if status in (429, 503):
            response["headers"] = {"Retry-After": {"$ref": "#/components/headers/retryAfter"}}
        found[f"Problem{status}"] = response
    return found
