"""The OpenAPI document and the page made from it say what there is, and load nothing from elsewhere."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import jsonschema_rs
import pytest

from doorward.doors.http import problems
from doorward.doors.rest.command_routes import COMMAND_OPERATIONS
from doorward.doors.rest.custom_routes import CUSTOM_OPERATIONS
from doorward.doors.rest.operation import SAMPLE_KEY, document_path

ROOT = Path(__file__).parents[3]
ANY_FORMAT = {"Accept": "*/*"}


@pytest.fixture
async def document(rest: Any) -> dict[str, Any]:
    return dict((await rest.open.get("/openapi.json")).json())


async def test_the_document_holds_every_route_and_no_reference_that_leads_nowhere(document: dict[str, Any]) -> None:
    there = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert there == {(one.method, document_path(one.path)) for one in (*CUSTOM_OPERATIONS, *COMMAND_OPERATIONS)} | {
        ("GET", "/health")
    }
    for reference in re.findall(r"'\$ref': '#/([^']+)'", str(document)):
        found: Any = document
        for step in reference.split("/"):
            found = found[step]
        assert found
    assert "$defs" not in str(document)


async def test_an_operation_accepts_exactly_its_documented_query_parameters(
    rest: Any, document: dict[str, Any]
) -> None:
    owner = await rest.person()
    wrong = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path == "/health":
                continue  # some probes of load balancers add a query
            named = {one["name"]: one.get(SAMPLE_KEY, "x") for one in operation["parameters"] if one["in"] == "path"}
            where = re.sub(r"\{(\w+)\}", lambda found, named=named: quote(str(named[found[1]]), safe=""), path)
            answer = await owner.request(method.upper(), where, params={"undocumented": "1"}, headers=ANY_FORMAT)
            documented = sorted(one["name"] for one in operation["parameters"] if one["in"] == "query")
            valid = f"Unknown query parameter 'undocumented'; valid: {', '.join(documented) or 'none'}."
            if answer.status_code != 400 or answer.json()["detail"] != valid:
                wrong[f"{method} {path}"] = (documented, answer.status_code, answer.text[:200])
    assert wrong == {}


async def test_every_schema_in_the_document_is_one(document: dict[str, Any]) -> None:
    for name, schema in document["components"]["schemas"].items():
        whole = {**schema, "components": document["components"]}
        assert jsonschema_rs.meta.is_valid(whole), name


async def test_the_document_is_the_same_bytes_until_it_changes(rest: Any) -> None:
    first = await rest.open.get("/openapi.json")
    tag = first.headers["etag"]
    again = await rest.open.get("/openapi.json", headers={"If-None-Match": f'"other", W/{tag}'})
    other = await rest.open.get("/openapi.json", headers={"If-None-Match": '"other"'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert other.content == first.content


async def test_only_coming_in_needs_no_token(document: dict[str, Any]) -> None:
    free = {
        one["operationId"]
        for methods in document["paths"].values()
        for one in methods.values()
        if one.get("security") == []
    }
    assert free == {
        "register",
        "login",
        "refresh",
        "logout",
        "recipeSchema",
        "health",
        "consoleSession",
        "consoleLogin",
    }


async def test_the_page_names_every_operation_and_every_code(rest: Any) -> None:
    page = (await rest.open.get("/docs")).text
    for one in (*CUSTOM_OPERATIONS, *COMMAND_OPERATIONS):
        assert f'id="{one.id}"' in page
    for code in (*problems.PROBLEM_TITLES, *problems.HTTP_PROBLEMS):
        assert f'<tr id="{code}">' in page
    for target in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{target}"' in page


async def test_what_the_page_tells_to_type_can_be_typed(rest: Any, document: dict[str, Any]) -> None:
    page = (await rest.open.get("/docs")).text
    lines = re.findall(r"<pre><code>(curl.*?)</code></pre>", page.replace("\\\n", ""), re.DOTALL)
    typed = [shlex.split(unescape(one)) for one in lines]
    assert len(typed) == sum(len(methods) for methods in document["paths"].values())
    assert "`" not in page
    for words in typed:
        address = urlsplit(words[-1])
        assert re.fullmatch(r"[\w/.%-]+", address.path), "curl reads braces in a way of its own"
        assert "…" not in address.query
        if "-d" in words:
            assert isinstance(json.loads(words[words.index("-d") + 1]), dict)
    said = [" ".join(words) for words in typed]
    assert [one.startswith("curl -N ") for one in said if one.endswith("/api/events")] == [True]
    for part in (
        "/api/rooms/lab/members/",
        "/api/audit/ID",
        "Content-Type: application/octet-stream --data-binary @picture.png",
        '{"recipeId": "quiet",',
    ):
        assert any(part in one for one in said), part


async def test_the_page_loads_nothing_and_runs_nothing(rest: Any) -> None:
    answer = await rest.open.get("/docs")
    assert "<script" not in answer.text
    assert "style=" not in answer.text
    assert re.findall(r'(?:src|href)="(?!#|/openapi\.json")[^"]*"', answer.text) == []
    assert re.findall(r"@import|url\(", answer.text) == []
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


async def test_the_written_page_has_every_route() -> None:
    page = (ROOT / "docs" / "REST.md").read_text()
    rows = set(re.findall(r"^\| (\w+) \| `([^`]+)` \|", page, re.MULTILINE))
    assert rows == {(one.method, document_path(one.path)) for one in (*CUSTOM_OPERATIONS, *COMMAND_OPERATIONS)}
