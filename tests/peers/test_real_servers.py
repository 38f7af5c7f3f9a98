"""Five real servers of others, through Doorward, from the official client in both eras."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    CreateMessageResult,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    PromptReference,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from peer_house import NEW, OLD, Way
from real_servers import RealHouse, real_house

SERVERS = {
    "files": "2025-11-25",
    "everything": "2025-11-25",
    "everything-else": "2025-11-25",
    "memory": "2025-11-25",
    "git": "2026-07-28",
    "time": "2026-07-28",
}
"""Each with the newest version that it speaks."""
TOOLS = {
    "files_read_text_file",
    "everything_get-sum",
    "everything-else_trigger-elicitation-request",
    "memory_read_graph",
    "git_git_log",
    "time_convert_time",
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHouse]:
    with real_house(tmp_path_factory.mktemp("real")) as made:
        yield made


@pytest.fixture(params=[OLD, NEW])
def http(request: pytest.FixtureRequest, house: RealHouse) -> Way:
    return Way(house, "http", request.param)


def said(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def test_every_servers_tools_are_offered_under_its_name_on_the_operators_terms(http: Way) -> None:
    async with http.client() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) >= TOOLS
    assert "files_move_file" not in tools, "it is denied"
    assert "everything-else_echo" not in tools, "it is not among those that are allowed"
    reading = tools["files_read_text_file"]
    assert reading.title == "mcp/files/read_text_file"
    assert reading.input_schema["required"] == ["path"]
    assert "Tool read_text_file of the MCP server files" in (reading.description or "")
    assert "Read the complete contents of a file" in (reading.description or "")
    assert reading.annotations is not None
    assert reading.annotations.read_only_hint is False, "the server says that it only reads, which nobody checked"


async def test_a_file_is_read_with_text_and_structured_content(http: Way) -> None:
    house = http.house
    assert isinstance(house, RealHouse)
    name = f"reader-{http.era}"
    async with http.client(name) as client:
        result = await client.call_tool("files_read_text_file", {"path": str(house.places.documents / "notes.md")})
    assert not result.is_error, said(result)
    assert said(result) == "one door\n"
    assert result.structured_content == {"content": "one door\n"}
    assert house.ended(name)[-1] == ("mcp/files/read_text_file", "ok")


async def test_what_a_server_refuses_is_an_error_in_its_own_words(http: Way) -> None:
    async with http.client() as client:
        outside = await client.call_tool("files_read_text_file", {"path": "/etc/hostname"})
        nowhere = await client.call_tool(
            "time_convert_time", {"source_timezone": "Mars", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        )
    assert outside.is_error
    assert "outside allowed directories" in said(outside)
    assert nowhere.is_error
    assert "Mars" in said(nowhere)


async def test_arguments_that_do_not_fit_never_reach_the_server(http: Way) -> None:
    async with http.client() as client:
        result = await client.call_tool("everything_get-sum", {"a": "one", "b": 2})
    assert result.is_error
    assert "mcp/everything/get-sum: parameter a must be a number" in said(result)


async def test_the_sandbox_holds_a_server_that_would_show_more(http: Way) -> None:
    """The server itself was told that it may read there."""
    house = http.house
    assert isinstance(house, RealHouse)
    secret = house.places.private / "diary.md"
    async with http.client() as client:
        result = await client.call_tool("files_read_text_file", {"path": str(secret)})
    assert result.is_error
    assert "not for servers" not in said(result)


async def test_structured_content_fits_the_schema_that_the_server_declared(http: Way) -> None:
    """The client checks this by itself, and raises when it is not so."""
    async with http.client() as client:
        await client.list_tools()
        weather = await client.call_tool("everything_get-structured-content", {"location": "New York"})
        noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        converted = await client.call_tool("time_convert_time", noon)
    assert weather.structured_content is not None
    assert set(weather.structured_content) == {"temperature", "conditions", "humidity"}
    assert converted.structured_content is not None
    assert converted.structured_content["time_difference"] == "+9.0h"


async def test_images_links_and_resources_come_through_as_they_are(http: Way) -> None:
    async with http.client() as client:
        image = await client.call_tool("everything_get-tiny-image", {})
        links = await client.call_tool("everything_get-resource-links", {"count": 2})
        linked = next(block.uri for block in links.content if isinstance(block, ResourceLink))
        (behind,) = (await client.read_resource(linked)).contents
        inside = await client.call_tool("everything_get-resource-reference", {"resourceType": "Text", "resourceId": 1})
    (picture,) = (block for block in image.content if isinstance(block, ImageContent))
    assert picture.mime_type == "image/png"
    assert picture.data.startswith("iVBORw0KGgo")
    addresses = [str(block.uri) for block in links.content if isinstance(block, ResourceLink)]
    assert len(addresses) == 2
    assert all(one.startswith("mcp://everything/") for one in addresses)
    assert str(behind.uri) == str(linked)
    (resource,) = (block for block in inside.content if isinstance(block, EmbeddedResource))
    assert isinstance(resource.resource, TextResourceContents)
    assert "Resource 1" in resource.resource.text


async def test_progress_of_a_server_arrives_while_it_works(http: Way) -> None:
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async with http.client() as client:
        result = await client.call_tool(
            "everything_trigger-long-running-operation", {"duration": 0.3, "steps": 3}, progress_callback=hear
        )
    assert "completed" in said(result)
    assert len(heard) >= 2, "some on the way, beside the end"
    assert heard == sorted(set(heard))


async def test_a_server_remembers_between_calls_and_callers(http: Way) -> None:
    name = f"door-{http.era}"
    entity = {"name": name, "entityType": "thing", "observations": ["is one"]}
    async with http.client() as client:
        made = await client.call_tool("memory_create_entities", {"entities": [entity]})
    assert made.structured_content == {"entities": [entity]}
    async with http.client() as other:
        graph = await other.call_tool("memory_search_nodes", {"query": name})
    assert graph.structured_content == {"entities": [entity], "relations": []}


async def test_the_history_of_a_repository_is_read_and_cannot_be_written(http: Way) -> None:
    """The sandbox of the git server reads the repository, and changes nothing in it."""
    house = http.house
    assert isinstance(house, RealHouse)
    where = {"repo_path": str(house.places.repository)}
    async with http.client() as client:
        log = await client.call_tool("git_git_log", where)
        branch = await client.call_tool("git_git_create_branch", {**where, "branch_name": f"of-{http.era}"})
        branches = await client.call_tool("git_git_branch", {**where, "branch_type": "local"})
    assert "Write notes" in said(log)
    assert branch.is_error
    assert f"of-{http.era}" not in said(branches)


async def test_resources_are_gathered_under_the_servers_name_and_read(http: Way) -> None:
    async with http.client() as client:
        listed = (await client.list_resources()).resources
        document = next(one for one in listed if one.name == "everything_architecture.md")
        (contents,) = (await client.read_resource(document.uri)).contents
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        blob = next(one for one in templates if "dynamic/blob" in one).replace("{resourceId}", "7")
        (bytes_,) = (await client.read_resource(blob)).contents
    assert isinstance(contents, TextResourceContents)
    assert "Everything Server" in contents.text
    assert str(document.uri).startswith("mcp://everything/")
    assert isinstance(bytes_, BlobResourceContents)


async def test_prompts_are_gathered_under_the_servers_name_and_completed(http: Way) -> None:
    async with http.client() as client:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        (message,) = (await client.get_prompt("everything_simple-prompt", {})).messages
        team = PromptReference(name="everything_completable-prompt")
        found = await client.complete(team, {"name": "department", "value": "E"})
    assert {"everything_args-prompt", "work_here"} <= set(names)
    assert isinstance(message.content, TextContent)
    assert "simple prompt" in message.content.text
    assert found.completion.values == ["Engineering"]


async def test_what_nobody_approved_in_advance_waits_for_a_person(http: Way) -> None:
    house = http.house
    assert isinstance(house, RealHouse)
    file = house.places.documents / f"{http.era}.txt"
    async with http.client() as client:
        waits = await client.call_tool("files_write_file", {"path": str(file), "content": "approved\n"})
        assert waits.is_error
        assert not file.exists()
        ticket = (waits.meta or {})["doorward/ticket"]
        house.owner("approval/approve", id=ticket)
        done = await client.call_tool("resume_approved", {"ticket": ticket})
    assert not done.is_error, said(done)
    assert file.read_text() == "approved\n"


class Person:
    """Sits at the client, with a model at hand, and fills in what servers want to know."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def fill_in(self, context: Any, params: Any) -> Any:
        self.asked.append(params.message)
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def think(self, context: Any, params: Any) -> Any:
        self.asked.append("sampling")
        text = TextContent(type="text", text="a thought")
        return CreateMessageResult(role="assistant", content=text, model="small")


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_what_a_server_asks_of_a_person_and_of_a_model_reaches_them(house: RealHouse, era: str) -> None:
    person = Person()
    callbacks = {"elicitation_callback": person.fill_in, "sampling_callback": person.think}
    async with Way(house, "stdio", era).client(**callbacks) as client:
        filled = await client.call_tool("everything_trigger-elicitation-request", {})
        thought = await client.call_tool("everything_trigger-sampling-request", {"prompt": "why", "maxTokens": 10})
    assert "Name: Ada" in said(filled), said(filled)
    assert "a thought" in said(thought), said(thought)
    question, sampling = person.asked
    assert "Please provide inputs" in question
    assert "everything" in question
    assert sampling == "sampling"


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_a_server_that_may_not_ask_for_a_models_answer_offers_nothing_that_needs_one(
    house: RealHouse, era: str
) -> None:
    """It is not told that there is a model at all."""
    person = Person()
    async with Way(house, "stdio", era).client(sampling_callback=person.think) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert "everything_trigger-sampling-request" in names
    assert "everything-else_trigger-sampling-request" not in names


async def test_a_call_that_the_client_gives_up_is_given_up_at_the_server_too(http: Way) -> None:
    name, tool = f"quitter-{http.era}", "mcp/everything/trigger-long-running-operation"
    async with http.client(name) as client:
        async with anyio.create_task_group() as tasks:
            long = {"duration": 50, "steps": 1}
            tasks.start_soon(client.call_tool, "everything_trigger-long-running-operation", long)
            await http.house.until(lambda house: tool in house.running())
            tasks.cancel_scope.cancel()
        assert not (await client.call_tool("everything_get-sum", {"a": 1, "b": 2})).is_error
        await http.house.until(lambda house: (tool, "cancelled") in house.ended(name))


def test_the_servers_are_listed_with_how_they_are_and_what_they_speak(house: RealHouse) -> None:
    listed = house.doorward("servers", "list", "--json").json["result"]["items"]
    assert {one["id"]: one["state"] for one in listed} == dict.fromkeys(SERVERS, "ready")
    assert {one["id"]: one["protocolVersion"] for one in listed} == SERVERS
    assert [one["restarts"] for one in listed] == [0] * len(SERVERS)
