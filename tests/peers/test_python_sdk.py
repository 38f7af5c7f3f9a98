"""The official Python client: what an agent's program does all day, over both transports and in both eras."""

from __future__ import annotations

from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent
from peer_house import MODE, NEW, OLD, TRANSPORTS, PeerHouse, Way

from doorward_process import Doorward


def said(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def test_it_is_offered_what_its_room_allows_and_nothing_else(way: Way) -> None:
    async with way.client() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        refused = await client.call_tool("system_shutdown", {})
    assert "system_shutdown" not in tools
    assert refused.is_error
    reading, writing = tools["file_read"], tools["file_write"]
    assert (reading.title, writing.title) == ("file/read", "file/write")
    assert reading.annotations is not None
    assert writing.annotations is not None
    assert (reading.annotations.read_only_hint, writing.annotations.read_only_hint) == (True, False)


async def test_a_result_fits_the_schema_that_the_tool_declared(way: Way) -> None:
    """The client checks this by itself, and raises when it is not so."""
    async with way.client() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        result = await client.call_tool("shell_echo", {"text": ["one door"]})
    assert tools["shell_echo"].output_schema is not None
    assert not result.is_error
    assert result.structured_content is not None
    assert result.structured_content["stdout"] == "one door\n"
    assert "one door" in said(result)


async def test_a_fault_in_the_parameters_is_told_in_a_sentence_that_a_model_can_use(way: Way) -> None:
    async with way.client() as client:
        result = await client.call_tool("file_read", {"pth": "notes.md"})
    assert result.is_error
    assert "Unknown parameter 'pth'" in said(result)


async def test_what_a_program_writes_arrives_while_it_runs(way: Way) -> None:
    heard: list[tuple[float, str]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message or ""))

    async with way.client() as client:
        result = await client.call_tool("shell_seq", {"numbers": [3]}, progress_callback=hear)
    assert not result.is_error
    assert any("1\n2\n3" in message for _, message in heard)
    numbers = [progress for progress, _ in heard]
    assert numbers == sorted(set(numbers))


async def test_a_call_that_the_client_gives_up_is_stopped_and_recorded(way: Way) -> None:
    name = f"quitter-{way.transport}-{way.era}"
    async with way.client(name) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "shell_sleep", {"seconds": 50})
            await way.house.until(lambda house: "shell/sleep" in house.running())
            tasks.cancel_scope.cancel()
        # The connection is as good as before, and what was given up holds nothing.
        assert not (await client.call_tool("shell_echo", {"text": ["still here"]})).is_error
        await way.house.until(lambda house: ("shell/sleep", "cancelled") in house.ended(name))
    assert "shell/sleep" not in way.house.running()


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_client_that_leaves_the_choice_to_the_server_speaks_the_newest_version(
    peers: PeerHouse, transport: str
) -> None:
    async with Way(peers, transport, NEW).client(mode="auto") as client:
        assert client.protocol_version == NEW
        assert not (await client.call_tool("shell_echo", {"text": ["newest"]})).is_error


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_a_token_that_is_none_gets_nowhere(peers: PeerHouse, era: str) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": "Bearer of nothing"}) as http:
        client = Client(streamable_http_client(peers.url, http_client=http), mode=MODE[era])
        with pytest.raises((MCPError, ExceptionGroup)):
            async with client:
                await client.list_tools()


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_over_stdio_a_client_needs_no_running_server_and_several_need_no_more(tmp_path: Path, era: str) -> None:
    """The first of them keeps the house, and the second speaks through it."""
    way = Way(PeerHouse(Doorward(tmp_path / "home"), ""), "stdio", era)
    async with way.client("first") as first, way.client("second") as second:
        for client in (first, second):
            result = await client.call_tool("shell_echo", {"text": ["one door"]})
            assert "one door" in said(result)
    assert [("shell/echo", "ok")] == way.house.ended("first") == way.house.ended("second")


async def test_a_result_too_large_for_a_message_is_cut_and_the_client_goes_on(way: Way) -> None:
    """The client ends its connection over an event above 1 MiB, and checks what is left against the schema."""

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert len((message or "").encode()) < 65_536

    async with way.client() as client:
        await client.list_tools()
        result = await client.call_tool("shell_seq", {"numbers": [300_000]}, progress_callback=hear)
        after = await client.call_tool("shell_echo", {"text": ["still here"]})
    assert (result.is_error, after.is_error) == (False, False)
    assert result.structured_content is not None
    assert result.structured_content["stdoutBytes"] > 1_048_576
    assert len(result.structured_content["stdout"]) < 40_000
    assert result.meta is not None
    assert result.meta["doorward/cut"]["bytes"] > 524_288
    assert result.meta["doorward/rest"].startswith("execution/output")
