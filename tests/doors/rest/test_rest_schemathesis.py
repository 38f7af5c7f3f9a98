"""Whatever schemathesis makes of the OpenAPI document is answered as the document says, and never with a defect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from rest_server import Running, running
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from doorward.config.settings import LimitSettings, Settings
from doorward.doors.rest.command_routes import COMMAND_OPERATIONS
from doorward.doors.rest.custom_routes import CUSTOM_OPERATIONS

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
STREAMS = {"streamEvents", "streamExecution", "streamRoom", "consoleStream"}
"""Answers that need not end are tried in the tests of streams."""
WAITING = {"waitForMessages"}
"""These wait as long as they are told to."""
SLOW = {"login", "consoleLogin", "register", "setPassword", "setPasswordOf", "verifyAudit"}
"""Passwords take their time on purpose."""
IDS = ["health", *(one.id for one in (*CUSTOM_OPERATIONS, *COMMAND_OPERATIONS) if one.id not in STREAMS)]
NEVER = ("system/shutdown", "system_shutdown")
WITHOUT_INPUT = {"recipeSchema", "health", "consoleSession"}
LONGEST_URL = 4_000
"""Longer ones are for the listener to refuse, which has tests of its own."""


class Subject(NamedTuple):
    server: Running
    schema: Any
    token: str
    known: dict[str, dict[str, str]]
    """For each operation, what stands in its path when something is to be found there."""


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    changes = Settings(limits=LimitSettings(per_minute=1_000_000))
    with running(tmp_path_factory.mktemp("schemathesis") / "home", changes=changes) as server:
        with server.client() as client:
            document = client.get("/openapi.json").json()
        token = server.token("laptop", kind="human", access="root")
        yield Subject(server, schemathesis.openapi.from_dict(document), token, _furnished(server))


def _furnished(server: Running) -> dict[str, dict[str, str]]:
    server.owner("user/create", id="anna", access="edit")
    server.owner("room/create", name="den", recipe="admin")
    server.owner("room/say", name="den", text="hello")
    spare = server.owner("token/create", name="spare")["id"]
    ran = server.owner("execution/list")["items"][0]["execution"]
    by_tag = {
        "executions": {"execution": ran},
        "rooms": {"name": "den", "member": "anna"},
        "recipes": {"id": "support"},
        "personas": {"id": "guide", "name": "den"},
        "audit": {"id": "1"},
        "data": {"collection": "users", "id": "anna"},
        "tokens": {"id": spare},
        "users": {"id": "anna", "user": "anna"},
        "commands": {"command": "help_search"},
        "approvals": {"id": "01k9x2m4q7ab3cde"},
    }
    return {one.id: by_tag.get(one.tag, {}) for one in (*CUSTOM_OPERATIONS, *COMMAND_OPERATIONS)}


@pytest.mark.parametrize(
    ("id", "mode"),
    [(id, mode) for id in IDS for mode in GenerationMode if mode.is_positive or id not in WITHOUT_INPUT],
    ids=lambda one: getattr(one, "value", one),
)
def test_an_operation_keeps_to_the_document(subject: Subject, id: str, mode: GenerationMode) -> None:
    server, schema, token, known = subject

    @settings(
        max_examples=2 if id in SLOW else 3,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=schema.find_operation_by_id(id).as_strategy(generation_mode=mode))
    def attempt(case: Any) -> None:
        in_url = f"{case.path_parameters}{case.query}"
        if any(word in f"{case.body}{in_url}" for word in NEVER) or len(in_url) > LONGEST_URL:
            return
        if mode.is_positive:
            case.query.pop("room", None)
            if id in WAITING:
                case.query["seconds"] = 0
            case.path_parameters = {name: known[id].get(name, value) for name, value in case.path_parameters.items()}
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        case.call_and_validate(base_url=server.url, headers=headers, checks=CHECKS, timeout=30)

    attempt()
