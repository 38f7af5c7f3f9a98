"""The official Python client and what else is offered: resources, prompts, completions, and word of changes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import (
    PromptReference,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
    TextResourceContents,
    ToolListChangedNotification,
)
from peer_house import NEW, Way

from waiting import PATIENCE

SHARED = "doorward://files/shared.md"


class Ear:
    """Hears what the server says without being asked."""

    def __init__(self) -> None:
        self.tools = anyio.Event()
        self.shared = anyio.Event()

    async def hear(self, message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.tools.set()
        elif isinstance(message, ResourceUpdatedNotification) and message.params.uri == SHARED:
            self.shared.set()


@contextlib.asynccontextmanager
async def listening(way: Way) -> AsyncIterator[tuple[Client, Ear]]:
    """A client that waits for word of changes, as each era wants to be asked for it."""
    ear = Ear()
    async with way.client(message_handler=ear.hear) as client:
        if way.era == NEW:
            async with client.listen(tools_list_changed=True, resource_subscriptions=[SHARED]):
                yield client, ear
            return
        with pytest.warns(MCPDeprecationWarning):  # of the client: it knows that this went with the older era
            await client.subscribe_resource(SHARED)
        yield client, ear


async def text(client: Client, uri: str) -> str:
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    return contents.text


def add_program(way: Way, name: str) -> None:
    """What a person does who edits the catalogue."""
    file = way.house.doorward.home / "commands.json"
    catalogue = json.loads(file.read_text())
    catalogue["commands"].append({"name": name, "summary": "Do nothing, well.", "program": "true"})
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(catalogue))
    fresh.rename(file)


async def test_it_reads_files_of_the_workspace_as_resources(way: Way) -> None:
    way.house.workspace.mkdir(exist_ok=True)
    (way.house.workspace / "notes.md").write_text("one door\n")
    async with way.client() as client:
        listed = [resource.uri for resource in (await client.list_resources()).resources]
        folder = json.loads(await text(client, next(uri for uri in listed if uri.startswith("doorward://files/"))))
        assert await text(client, next(one["uri"] for one in folder if one["path"] == "notes.md")) == "one door\n"
        with pytest.raises(MCPError) as missing:
            await client.read_resource("doorward://files/no-such-file.md")
    assert missing.value.code == (-32602 if way.era == NEW else -32002)


async def test_it_reads_its_own_calls_and_nobody_elses_as_a_resource(way: Way) -> None:
    async with way.client() as other:
        await other.call_tool("shell_echo", {"text": ["not for others"]})
    name = f"reader-{way.transport}-{way.era}"
    async with way.client(name) as client:
        await client.call_tool("shell_echo", {"text": ["mine"]})
        entries = json.loads(await text(client, "doorward://ledger"))
    assert "shell/echo" in [entry["command"] for entry in entries]
    assert {entry["caller"] for entry in entries} == {name}


async def test_it_gets_prompts_and_what_their_arguments_can_be(way: Way) -> None:
    async with way.client() as client:
        prompts = (await client.list_prompts()).prompts
        assert prompts
        for prompt in prompts:
            given = {}
            for argument in prompt.arguments or []:
                offered = await client.complete(PromptReference(name=prompt.name), {"name": argument.name, "value": ""})
                given[argument.name] = next(iter(offered.completion.values), "tidy up")
            got = await client.get_prompt(prompt.name, given)
            assert all(message.content for message in got.messages)


async def test_it_completes_the_path_of_a_file(way: Way) -> None:
    way.house.workspace.mkdir(exist_ok=True)
    (way.house.workspace / "completion.txt").write_text("x")
    async with way.client() as client:
        template = next(
            one.uri_template
            for one in (await client.list_resource_templates()).resource_templates
            if one.uri_template.startswith("doorward://files/")
        )
        found = await client.complete(ResourceTemplateReference(uri=template), {"name": "path", "value": "completion"})
    assert found.completion.values == ["completion.txt"]


async def test_it_hears_that_the_tools_changed(way: Way) -> None:
    """The catalogue is a file that people edit; what it gains is offered at once."""
    async with listening(way) as (client, ear):
        before = {tool.name for tool in (await client.list_tools()).tools}
        fresh = f"fresh_{way.transport}_{way.era[:4]}"
        add_program(way, fresh)
        with anyio.fail_after(PATIENCE):
            await ear.tools.wait()
        after = {tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools}
    assert after - before == {f"shell_{fresh}"}


async def test_it_hears_that_a_resource_changed(way: Way) -> None:
    async with listening(way) as (client, ear):
        way.house.owner("file/write", path="shared.md", content=f"for {way.transport} {way.era}\n")
        with anyio.fail_after(PATIENCE):
            await ear.shared.wait()
        assert await text(client, SHARED) == f"for {way.transport} {way.era}\n"
