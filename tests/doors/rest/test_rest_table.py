"""Every route of the table is one command of the gate, and nothing beside it."""

from __future__ import annotations

from typing import Any

import pytest

from doorward.commands.families import FAMILIES
from doorward.core.registry import Registry
from doorward.doors.rest.command_routes import COMMAND_OPERATIONS
from doorward.doors.rest.custom_routes import CUSTOM_OPERATIONS
from doorward.doors.rest.operation import PREFIX, CommandOperation, parse_path_names

REGISTRY = Registry(FAMILIES)
SAMPLES = {
    "name": "lab",
    "member": "anna",
    "execution": "01k9x2m4q7ab3cde",
    "command": "data_list",
    "collection": "rooms",
    "user": "anna",
    "agent": "scout",
    "room": "lab",
    "scope": "agent",
    "unit": "energy",
}
OF_TAG = {"recipes": "quiet", "personas": "scribe", "effort": "scout"}
QUERIES = {"waitForMessages": {"seconds": 0}, "searchMessages": {"words": "pump"}}
"""What these must be asked in the query."""


def path_of(operation: CommandOperation) -> str:
    path = PREFIX + operation.path.replace(":path}", "}")
    for name in operation.path_parameters:
        path = path.replace(f"{{{name}}}", SAMPLES.get(name, OF_TAG.get(operation.tag, "7")))
    return path


def body_of(operation: CommandOperation) -> Any:
    if operation.uses_query:
        return None
    if operation.whole and operation.tag == "personas":
        return {"personaId": "scribe", "displayName": "Scribe"}
    if operation.whole:
        return {"recipeId": "quiet", "displayName": "Quiet", "strategy": {}}
    command = REGISTRY[operation.command]
    free = operation.open_parameters(command)
    example = {key: value for key, value in command.facts.examples[0].params.items() if key in free}
    fresh = {"recipe": "admin", "name": "attic", "id": "bert"}
    return {**example, **{name: value for name, value in fresh.items() if name in free}}


@pytest.mark.parametrize("operation", COMMAND_OPERATIONS, ids=lambda one: one.id)
def test_a_route_names_only_what_its_command_knows(operation: CommandOperation) -> None:
    known = set(REGISTRY[operation.command].schema["properties"])
    assert {*operation.path_parameters, *operation.fixed, *operation.without} | ({operation.whole} - {""}) <= known
    assert not operation.matches or "filter" in known
    assert "room" not in operation.open_parameters(REGISTRY[operation.command]), "room is where the caller acts"


def test_no_two_routes_are_one() -> None:
    both = [(one.method, one.path) for one in (*CUSTOM_OPERATIONS, *COMMAND_OPERATIONS)]
    ids = [one.id for one in (*CUSTOM_OPERATIONS, *COMMAND_OPERATIONS)]
    assert len(set(both)) == len(both)
    assert len(set(ids)) == len(ids)
    assert all(set(one.named) == set(parse_path_names(one.path)) for one in CUSTOM_OPERATIONS)


async def test_each_route_leaves_the_record_of_its_command_and_of_no_other(rest: Any) -> None:
    person = await rest.person()
    await rest.driver.owner("user/create", id="anna")
    await rest.driver.owner("room/create", name="lab", recipe="admin")
    for operation in sorted(
        COMMAND_OPERATIONS, key=lambda one: one.id == "archiveRoom"
    ):  # behind which the room is closed
        before = len(await rest.driver.ledger())
        query = QUERIES.get(operation.id, {})
        answer = await person.request(operation.method, path_of(operation), json=body_of(operation), params=query)
        made = (await rest.driver.ledger())[before:]
        assert {row["command"] for row in made} == {operation.command}, (operation.id, answer.text)
        assert {(row["door"], row["caller"]) for row in made} == {("rest", "owner")}
        assert answer.status_code in (200, 201, 400, 404), (operation.id, answer.text)
        assert answer.status_code != 400 or operation.id == "queryData", (operation.id, answer.text)
    assert (await rest.driver.owner("room/show", name="lab")).result["archived"]


async def test_parameters_in_the_query_are_read_by_the_commands_schema(rest: Any) -> None:
    person = await rest.person()
    few = await person.get("/api/data/recipes", params={"limit": 2, "fields": '["id"]', "orderBy": "-id"})
    bad = await person.get("/api/data/recipes", params={"limit": "many"})
    twice = await person.get("/api/data/recipes?limit=1&limit=2")
    unknown = await person.get("/api/rooms?nmae=x")
    assert [item["id"] for item in few.json()["items"]] == ["support", "research-chat"]
    assert (bad.status_code, bad.json()["code"]) == (400, "bad_params")
    assert "given twice" in twice.json()["detail"]
    assert unknown.json()["detail"] == "Unknown query parameter 'nmae'; valid: room."


async def test_a_body_cannot_say_what_the_path_says_nor_more_than_the_command_knows(rest: Any) -> None:
    person = await rest.person()
    for body in ({"name": "other", "text": "x"}, {"text": "x", "approved": True}, {"text": "x", "ticket": "y"}):
        answer = await person.post("/api/rooms/general/messages", json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_params"), body
    assert (await person.get("/api/rooms/general/messages")).json()["items"] == []


async def test_the_audit_is_filtered_and_read_in_pages(rest: Any) -> None:
    person = await rest.person()
    for _ in range(3):
        await person.get("/api/rooms")
    page = (await person.get("/api/audit", params={"command": "room/list", "limit": 2})).json()
    rest_of_it = await person.get("/api/audit", params={"command": "room/list", "limit": 2, "cursor": page["cursor"]})
    later = await person.get("/api/audit", params={"since": "2999-01-01T00:00:00Z"})
    one = await person.get(f"/api/audit/{page['items'][0]['id']}")
    numbers = [item["id"] for item in [*page["items"], *rest_of_it.json()["items"]]]
    assert len(numbers) == 3
    assert numbers == sorted(numbers, reverse=True)
    assert later.json()["items"] == []
    assert one.json() == page["items"][0]
    assert (await person.get("/api/audit/verify")).json()["verified"] is True


async def test_a_recipe_is_put_as_it_is_and_checked_without_being_put(rest: Any) -> None:
    person = await rest.person()
    recipe = {"recipeId": "quiet", "displayName": "Quiet", "strategy": {}}
    checked = await person.post("/api/recipes/quiet/check", json=recipe)
    wrong = await person.post("/api/recipes/quiet/check", json={**recipe, "recipeId": 3})
    missing = await person.get("/api/recipes/quiet")
    put = await person.put("/api/recipes/quiet", json=recipe)
    assert checked.json()["effect"]["after"] == recipe
    assert wrong.json()["effect"]["code"] == "bad_params"
    assert missing.status_code == 404
    assert put.json()["now"] == "in force"
    assert (await person.get("/api/recipes/quiet")).json()["recipe"] == recipe
