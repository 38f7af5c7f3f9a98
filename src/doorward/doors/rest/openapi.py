"""The OpenAPI document, generated from the routes and the commands' schemas."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from doorward import __version__
from doorward.core import strictjson
from doorward.core.command import Command
from doorward.core.model import Outcome
from doorward.core.registry import Registry
from doorward.doors.http import problems
from doorward.doors.http.problems import HTTP_STATUS, MEDIA_TYPE
from doorward.doors.rest.command_routes import COMMAND_OPERATIONS
from doorward.doors.rest.custom_routes import CUSTOM_OPERATIONS, ROOM_PARAMETER, CustomOperation
from doorward.doors.rest.operation import SAMPLE_KEY, CommandOperation, document_path, parse_path_names
from doorward.doors.rest.request_reader import EVENT_STREAM, JSON

REF_TEMPLATE = "#/components/schemas/{name}"
TAGS = {
    "commands": "Find and run commands",
    "agent": "Ask the keeper in plain words",
    "executions": "Running and past calls, and their output",
    "approvals": "Calls that wait for approval, and the decisions",
    "rooms": "Rooms, members and messages",
    "recipes": "The rules that govern rooms",
    "personas": "AI members of rooms",
    "effort": "Agents that regulate their effort: energy, conversations, budgets, sub-agents",
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
_HEALTH = {
    JSON: {
        "schema": {
            "type": "object",
            "properties": {
                "status": {"enum": ["ok", "degraded", "failed"]},
                "version": {"type": "string"},
                "problems": {"type": "integer"},
            },
            "required": ["status", "version", "problems"],
        }
    }
}
HEALTH_OPERATION = {
    "operationId": "health",
    "tags": ["house"],
    "summary": "Report the health of the server; degraded while a file of the home folder is not valid",
    "parameters": [],
    "security": [],
    "responses": {
        "200": {"description": "Up", "content": _HEALTH},
        "503": {"description": "Failed: the database cannot be read or written", "content": _HEALTH},
    },
}
PROBLEM_STATUSES = sorted(
    {HTTP_STATUS[code] for code in problems.PROBLEM_TITLES} | {one.status for one in problems.HTTP_PROBLEMS.values()}
)
PROBLEM_SCHEMA = {
    "type": "object",
    "description": "Problem details (RFC 9457), with fields of the gate's outcome",
    "properties": {
        "type": {"type": "string", "description": "Link to the description of the code"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, what is valid and what was given"},
        "code": {"enum": sorted({*problems.PROBLEM_TITLES, *problems.HTTP_PROBLEMS})},
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
LAST_EVENT_ID = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "Id of the last received event. The stream continues after it.",
    "schema": {"type": "string", "maxLength": 64},
}
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A repeated request with the same key and body returns the first answer and runs nothing",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[\\x21-\\x7e]+$"},
}


def build_problem_responses() -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": REF_TEMPLATE.format(name="Problem")}}}
    found: dict[str, Any] = {}
    for status in PROBLEM_STATUSES:
        codes = [code for code in problems.PROBLEM_TITLES if HTTP_STATUS[code] == status]
        codes += [one.code for one in problems.HTTP_PROBLEMS.values() if one.status == status]
        response: dict[str, Any] = {"description": ", ".join(codes), "content": content}
        if status in (429, 503):
            response["headers"] = {"Retry-After": {"$ref": "#/components/headers/retryAfter"}}
        found[f"Problem{status}"] = response
    return found


class OpenApiDocument:
    """The document, built once and served as the same bytes to everybody. It lists operations, not permissions."""

    def __init__(self, registry: Registry) -> None:
        self.content = build_document(registry)
        self._bytes = msgspec.json.encode(self.content)
        self._tag = f'"{hashlib.sha256(self._bytes).hexdigest()[:32]}"'

    async def respond(self, request: Request) -> Response:
        headers = {"ETag": self._tag, "Cache-Control": "no-cache"}
        known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
        if self._tag in known or "*" in known:
            return Response(status_code=304, headers=headers)
        return Response(self._bytes, 200, headers, JSON)


def build_document(registry: Registry) -> dict[str, Any]:
    schemas: dict[str, Any] = {"Problem": PROBLEM_SCHEMA}
    _component_schema(Outcome, schemas)
    paths: dict[str, dict[str, Any]] = {}
    paths["/health"] = {"get": HEALTH_OPERATION}
    for own in CUSTOM_OPERATIONS:
        paths.setdefault(document_path(own.path), {})[own.method.lower()] = _describe_custom_route(own, schemas)
    for operation in COMMAND_OPERATIONS:
        command = registry[operation.command]
        paths.setdefault(document_path(operation.path), {})[operation.method.lower()] = _describe_command_route(
            operation, command, schemas
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Doorward",
            "version": __version__,
            "description": "A governed door between AIs and real machines. Every operation passes the same gate.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": words} for name, words in TAGS.items()],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": build_problem_responses(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "headers": {
                "call": {"description": "The id of the call in the ledger", "schema": {"type": "string"}},
                "retryAfter": {"description": "Whole seconds", "schema": {"type": "integer", "minimum": 1}},
            },
        },
    }


def _describe_command_route(operation: CommandOperation, command: Command, schemas: dict[str, Any]) -> dict[str, Any]:
    specs = command.schema["properties"]
    samples = _collect_samples(operation, command)
    parameters = [_path_parameter(name, specs[name], samples.get(name)) for name in operation.path_parameters]
    parameters.append(_query_parameter("room", ROOM_PARAMETER, required=False))
    free = operation.open_parameters(command)
    required = [name for name in command.schema.get("required", []) if name in free]
    if operation.uses_query:
        parameters += [
            _query_parameter(name, {**match.schema, "description": match.says}, required=False)
            for name, match in operation.matches.items()
        ]
        parameters += [
            _query_parameter(name, spec, required=name in required, sample=samples.get(name))
            for name, spec in free.items()
        ]
    described: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": f"Runs `{command.name}`: {command.description}",
        "parameters": parameters,
        "x-doorward-command": command.name,
    }
    if operation.whole:
        content = {"schema": {"type": "object"}, "example": strictjson.loads(samples[operation.whole])}
        described["requestBody"] = {"required": True, "content": {JSON: content}}
    elif not operation.uses_query:
        schema: dict[str, Any] = {"type": "object", "properties": free, "additionalProperties": False}
        if required:
            schema["required"] = required
        content = {"schema": _lift_defs({**schema, "$defs": command.schema.get("$defs", {})}, command.name, schemas)}
        content["example"] = {name: one for name, one in command.facts.examples[0].params.items() if name in free}
        described["requestBody"] = {"required": bool(required), "content": {JSON: content}}
    if operation.method == "POST":
        parameters.append(IDEMPOTENCY_KEY)
    returns = {"type": "object"} if operation.dry_run or command.returns is None else command.returns
    done = {
        "description": "Done" if not operation.dry_run else "The decision and the effects that a real run would have",
        "headers": {"Doorward-Call": {"$ref": "#/components/headers/call"}},
        "content": {JSON: {"schema": _lift_defs(returns, f"{command.name}/result", schemas)}},
    }
    described["responses"] = {"201" if operation.creates else "200": done, **_waiting_response(), **_problem_refs()}
    return described


def _describe_custom_route(own: CustomOperation, schemas: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        _path_parameter(name, own.named[name], own.named[name].get(SAMPLE_KEY)) for name in parse_path_names(own.path)
    ]
    parameters += [_query_parameter(name, spec, required=False) for name, spec in own.query.items()]
    if own.formats == (EVENT_STREAM,):
        parameters.append(LAST_EVENT_ID)
    if own.method == "POST" and not own.open and own.id not in ("explain", "typing"):
        parameters.append(IDEMPOTENCY_KEY)
    described: dict[str, Any] = {
        "operationId": own.id,
        "tags": [own.tag],
        "summary": own.summary,
        "parameters": parameters,
    }
    if own.body is not None:
        body: dict[str, Any] = {"schema": _component_schema(own.body, schemas)}
        if own.example is not None:
            body["example"] = own.example
        described["requestBody"] = {"required": True, "content": {own.body_format: body}}
    formats: dict[str, Any] = {}
    for form in own.formats:
        formats[form] = {
            "schema": {"type": "string"} if form == EVENT_STREAM else _component_schema(own.answer, schemas)
        }
    done = {"description": "Done", "content": formats}
    described["responses"] = {str(own.status): done, **_problem_refs()}
    if own.answer == "Outcome":
        described["responses"].update(_waiting_response())
    if own.open:
        described["security"] = []
    return described


def _component_schema(kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type, stored in the components. A dict is a schema already; a string names a component."""
    if kind is None:
        return {"type": "object"}
    if isinstance(kind, str):
        return {"$ref": REF_TEMPLATE.format(name=kind)}
    if isinstance(kind, dict):
        return kind
    (schema,), found = msgspec.json.schema_components([kind], ref_template=REF_TEMPLATE)
    schemas.update(found)
    return dict(schema)


def _lift_defs(schema: dict[str, Any], name: str, schemas: dict[str, Any]) -> dict[str, Any]:
    """A command's schema for this document, with its `$defs` moved to the components."""
    schema = copy.deepcopy(schema)
    schema.pop("$schema", None)
    own = schema.pop("$defs", {})
    prefix = "".join(part.capitalize() for part in name.replace("-", "/").split("/"))

    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(one) for key, one in value.items()}
        if isinstance(value, str) and value.startswith("#/$defs/"):  # in a $ref or a discriminator
            return REF_TEMPLATE.format(name=prefix + value.removeprefix("#/$defs/"))
        return [turned(one) for one in value] if isinstance(value, list) else value

    for key, value in own.items():
        schemas[prefix + key] = turned(value)
    return dict(turned(schema))


def _collect_samples(operation: CommandOperation, command: Command) -> dict[str, Any]:
    """Sample values of parameters from the command's examples. Earlier examples take precedence."""
    fixed = operation.fixed
    fitting = [one.params for one in command.facts.examples if one.params == {**one.params, **fixed}]
    return {name: value for params in reversed(fitting) for name, value in params.items()}


def _path_parameter(name: str, spec: Mapping[str, Any], sample: Any) -> dict[str, Any]:
    shown = {"name": name, "in": "path", "required": True, **_description_field(spec), **_sample_field(sample)}
    return {**shown, "schema": _path_schema(spec)}


def _query_parameter(name: str, spec: Any, *, required: bool, sample: Any = None) -> dict[str, Any]:
    schema = _without_null(dict(spec))
    shown: dict[str, Any] = {"name": name, "in": "query", "required": required, **_description_field(schema)}
    if required:
        shown |= _sample_field(sample)
    if _is_plain(schema):
        return {**shown, "schema": schema}
    return {**shown, "content": {JSON: {"schema": schema}}}


def _description_field(spec: Mapping[str, Any]) -> dict[str, str]:
    return {"description": spec["description"]} if "description" in spec else {}


def _sample_field(sample: Any) -> dict[str, Any]:
    return {} if sample is None else {SAMPLE_KEY: sample}


def _path_schema(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a path parameter: a non-empty string."""
    kept: dict[str, Any] = {key: spec[key] for key in ("maxLength", "pattern") if key in spec}
    return {"type": "string", "minLength": 1, **kept}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove null from a schema: in a query, a missing parameter means null."""
    if "anyOf" in schema:
        kinds = [one for one in schema["anyOf"] if one.get("type") != "null"]
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
        return {**kinds[0], **rest} if len(kinds) == 1 else {**rest, "anyOf": kinds}
    return {key: value for key, value in schema.items() if not (key == "default" and value is None)}


def _is_plain(schema: dict[str, Any]) -> bool:
    """Whether a query value is plain text rather than JSON."""
    if "enum" in schema:
        return True
    return schema.get("type") in ("string", "integer", "number", "boolean")


def _waiting_response() -> dict[str, Any]:
    content = {JSON: {"schema": {"$ref": REF_TEMPLATE.format(name="Outcome")}}}
    return {
        "202": {
            "description": "Waiting for approval. When it is approved, run the call again with the ticket.",
            "content": content,
        }
    }


def _problem_refs() -> dict[str, Any]:
    """All problem responses, for every operation: any can be refused or fail."""
    return {str(status): {"$ref": f"#/components/responses/Problem{status}"} for status in PROBLEM_STATUSES}
