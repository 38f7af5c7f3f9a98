"""The OpenAPI document, generated from the routes and the commands' schemas."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from doorward import __version__, strictjson
from doorward.command import Command
from doorward.doors.rest.components import HEALTH, KEY, LAST, PROBLEM, REFERENCE, STATUSES, TAGS, problem_responses
from doorward.doors.rest.curl import SAMPLE
from doorward.doors.rest.operation import Operation, names_in, shown_path
from doorward.doors.rest.own import OWN, ROOM, Own
from doorward.doors.rest.reading import EVENT_STREAM, JSON
from doorward.doors.rest.table import OPERATIONS
from doorward.model import Outcome
from doorward.registry import Registry


class Document:
    """The document, built once and served as the same bytes to everybody. It lists operations, not permissions."""

    def __init__(self, registry: Registry) -> None:
        self.content = build(registry)
        self._bytes = msgspec.json.encode(self.content)
        self._tag = f'"{hashlib.sha256(self._bytes).hexdigest()[:32]}"'

    async def answer(self, request: Request) -> Response:
        headers = {"ETag": self._tag, "Cache-Control": "no-cache"}
        known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
        if self._tag in known or "*" in known:
            return Response(status_code=304, headers=headers)
        return Response(self._bytes, 200, headers, JSON)


def build(registry: Registry) -> dict[str, Any]:
    schemas: dict[str, Any] = {"Problem": PROBLEM}
    _schema(Outcome, schemas)
    paths: dict[str, dict[str, Any]] = {}
    paths["/health"] = {"get": HEALTH}
    for own in OWN:
        paths.setdefault(shown_path(own.path), {})[own.method.lower()] = _of_own(own, schemas)
    for operation in OPERATIONS:
        command = registry[operation.command]
        paths.setdefault(shown_path(operation.path), {})[operation.method.lower()] = _of_table(
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
            "responses": problem_responses(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "headers": {
                "call": {"description": "The id of the call in the ledger", "schema": {"type": "string"}},
                "retryAfter": {"description": "Whole seconds", "schema": {"type": "integer", "minimum": 1}},
            },
        },
    }


def _of_table(operation: Operation, command: Command, schemas: dict[str, Any]) -> dict[str, Any]:
    specs = command.schema["properties"]
    samples = _samples(operation, command)
    parameters = [_in_path(name, specs[name], samples.get(name)) for name in operation.named]
    parameters.append(_in_query("room", ROOM, required=False))
    free = operation.free(command)
    required = [name for name in command.schema.get("required", []) if name in free]
    if operation.in_query:
        parameters += [
            _in_query(name, {**match.schema, "description": match.says}, required=False)
            for name, match in operation.matches.items()
        ]
        parameters += [
            _in_query(name, spec, required=name in required, sample=samples.get(name)) for name, spec in free.items()
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
    elif not operation.in_query:
        schema: dict[str, Any] = {"type": "object", "properties": free, "additionalProperties": False}
        if required:
            schema["required"] = required
        content = {"schema": _lifted({**schema, "$defs": command.schema.get("$defs", {})}, command.name, schemas)}
        content["example"] = {name: one for name, one in command.facts.examples[0].params.items() if name in free}
        described["requestBody"] = {"required": bool(required), "content": {JSON: content}}
    if operation.method == "POST":
        parameters.append(KEY)
    returns = {"type": "object"} if operation.dry_run or command.returns is None else command.returns
    done = {
        "description": "Done" if not operation.dry_run else "The decision and the effects that a real run would have",
        "headers": {"Doorward-Call": {"$ref": "#/components/headers/call"}},
        "content": {JSON: {"schema": _lifted(returns, f"{command.name}/result", schemas)}},
    }
    described["responses"] = {"201" if operation.creates else "200": done, **_parked(), **_problems()}
    return described


def _of_own(own: Own, schemas: dict[str, Any]) -> dict[str, Any]:
    parameters = [_in_path(name, own.named[name], own.named[name].get(SAMPLE)) for name in names_in(own.path)]
    parameters += [_in_query(name, spec, required=False) for name, spec in own.query.items()]
    if own.formats == (EVENT_STREAM,):
        parameters.append(LAST)
    if own.method == "POST" and not own.open and own.id not in ("explain", "typing"):
        parameters.append(KEY)
    described: dict[str, Any] = {
        "operationId": own.id,
        "tags": [own.tag],
        "summary": own.summary,
        "parameters": parameters,
    }
    if own.body is not None:
        body: dict[str, Any] = {"schema": _schema(own.body, schemas)}
        if own.example is not None:
            body["example"] = own.example
        described["requestBody"] = {"required": True, "content": {own.body_format: body}}
    formats: dict[str, Any] = {}
    for form in own.formats:
        formats[form] = {"schema": {"type": "string"} if form == EVENT_STREAM else _schema(own.answer, schemas)}
    done = {"description": "Done", "content": formats}
    described["responses"] = {str(own.status): done, **_problems()}
    if own.answer == "Outcome":
        described["responses"].update(_parked())
    if own.open:
        described["security"] = []
    return described


def _schema(kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type, stored in the components. A dict is a schema already; a string names a component."""
    if kind is None:
        return {"type": "object"}
    if isinstance(kind, str):
        return {"$ref": REFERENCE.format(name=kind)}
    if isinstance(kind, dict):
        return kind
    (schema,), found = msgspec.json.schema_components([kind], ref_template=REFERENCE)
    schemas.update(found)
    return dict(schema)


def _lifted(schema: dict[str, Any], name: str, schemas: dict[str, Any]) -> dict[str, Any]:
    """A command's schema for this document, with its `$defs` moved to the components."""
    schema = copy.deepcopy(schema)
    schema.pop("$schema", None)
    own = schema.pop("$defs", {})
    prefix = "".join(part.capitalize() for part in name.replace("-", "/").split("/"))

    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(one) for key, one in value.items()}
        if isinstance(value, str) and value.startswith("#/$defs/"):  # in a $ref or a discriminator
            return REFERENCE.format(name=prefix + value.removeprefix("#/$defs/"))
        return [turned(one) for one in value] if isinstance(value, list) else value

    for key, value in own.items():
        schemas[prefix + key] = turned(value)
    return dict(turned(schema))


def _samples(operation: Operation, command: Command) -> dict[str, Any]:
    """Sample values of parameters from the command's examples. Earlier examples take precedence."""
    fixed = operation.fixed
    fitting = [one.params for one in command.facts.examples if one.params == {**one.params, **fixed}]
    return {name: value for params in reversed(fitting) for name, value in params.items()}


def _in_path(name: str, spec: Mapping[str, Any], sample: Any) -> dict[str, Any]:
    shown = {"name": name, "in": "path", "required": True, **_described(spec), **_sampled(sample)}
    return {**shown, "schema": _text_of(spec)}


def _in_query(name: str, spec: Any, *, required: bool, sample: Any = None) -> dict[str, Any]:
    schema = _without_null(dict(spec))
    shown: dict[str, Any] = {"name": name, "in": "query", "required": required, **_described(schema)}
    if required:
        shown |= _sampled(sample)
    if _is_plain(schema):
        return {**shown, "schema": schema}
    return {**shown, "content": {JSON: {"schema": schema}}}


def _described(spec: Mapping[str, Any]) -> dict[str, str]:
    return {"description": spec["description"]} if "description" in spec else {}


def _sampled(sample: Any) -> dict[str, Any]:
    return {} if sample is None else {SAMPLE: sample}


def _text_of(spec: Mapping[str, Any]) -> dict[str, Any]:
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


def _parked() -> dict[str, Any]:
    content = {JSON: {"schema": {"$ref": REFERENCE.format(name="Outcome")}}}
    return {
        "202": {
            "description": "Waiting for approval. When it is approved, run the call again with the ticket.",
            "content": content,
        }
    }


def _problems() -> dict[str, Any]:
    """All problem responses, for every operation: any can be refused or fail."""
    return {str(status): {"$ref": f"#/components/responses/Problem{status}"} for status in STATUSES}
