"""Fixed parts of the OpenAPI document: tags, problems, health and common headers."""

from __future__ import annotations

from typing import Any

from doorward.doors.problem import MEDIA_TYPE
from doorward.doors.rest import problems
from doorward.doors.rest.reading import JSON
from doorward.doors.statuses import HTTP_STATUS

REFERENCE = "#/components/schemas/{name}"
TAGS = {
    "commands": "Find and run commands",
    "agent": "Ask the keeper in plain words",
    "executions": "Running and past calls, and their output",
    "approvals": "Calls that wait for approval, and the decisions",
    "rooms": "Rooms, members and messages",
    "recipes": "The rules that govern rooms",
    "personas": "AI members of rooms",
    "models": "Model providers for personas and the keeper",
    "audit": "The ledger of all calls",
    "data": "Collections of records",
    "events": "Live events",
    "auth": "Login with passwords and access tokens",
    "tokens": "Tokens for agents and programs",
    "users": "Users of your tenant",
    "console": "Login and event stream of the browser console",
    "house": "Health of the server",
}
HEALTH = {
    "operationId": "health",
    "tags": ["house"],
    "summary": "Report the health of the server; degraded while a recipe or the catalogue is not valid",
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
    "description": "Problem details (RFC 9457), with fields of the gate's outcome",
    "properties": {
        "type": {"type": "string", "description": "Link to the description of the code"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, what is valid and what was given"},
        "code": {"enum": sorted({*problems.TITLES, *problems.OF_HTTP})},
        "outcome": {"enum": ["refused", "failed"], "description": "refused: nothing ran; failed: it started"},
        "retry": {"enum": ["never", "after_fix", "later"]},
        "retryAfter": {"type": "number", "description": "Seconds to wait before a retry"},
        "effect": {"enum": ["none", "done", "unknown"], "description": "Whether anything changed"},
        "hint": {"type": "string"},
        "rule": {"type": "string", "description": "The rule that decided"},
        "call": {"type": "string", "description": "The id of the call in the ledger"},
        "command": {"type": "string"},
        "result": {"description": "Details of a failure, such as a program's output"},
    },
    "required": ["type", "title", "status", "detail", "code"],
}
LAST = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "Id of the last received event. The stream continues after it.",
    "schema": {"type": "string", "maxLength": 64},
}
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A repeated request with the same key and body returns the first answer and runs nothing",
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
