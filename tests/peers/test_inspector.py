"""The official inspector, from its command line: it lists and calls over both transports and in both eras."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from peer_house import NEW, OLD, PeerHouse, Way

from doorward_process import BIN
from node_peers import INSPECTOR, NODE, package

_ERA = {True: "modern", False: "legacy"}
_FRESH = iter(range(1, 1_000))


def inspect(way: Way, method: str, *words: str, code: int = 0) -> Any:
    """What the inspector prints for one method, as an agent of its own."""
    name = f"inspector-{next(_FRESH)}"
    doorward = way.house.doorward
    if way.transport == "http":
        token = way.house.token(name)
        target = ["--transport", "http", "--header", f"Authorization: Bearer {token}", "--server-url", way.house.url]
    else:
        given = ("DOORWARD_HOME", "HOME", "PATH", "LANG")
        target = [word for key in given for word in ("-e", f"{key}={doorward.env[key]}")]
        target += ["--", str(BIN / "doorward"), "mcp", "--room", "general", "--as", name, "--tools", "all"]
    launcher = package(INSPECTOR) / "clients" / "launcher" / "build" / "index.js"
    options = ["--cli", "--format", "json", "--quiet", "--stored-auth-only", "--protocol-era", _ERA[way.era == NEW]]
    done = subprocess.run(
        [NODE, launcher, *options, "--method", method, *words, *target],
        env={**doorward.env, "MCP_CATALOG_PATH": str(doorward.folder / "catalogue.json")},
        cwd=doorward.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, (done.returncode, done.stdout[-2_000:], done.stderr[-2_000:])
    return json.loads(done.stdout)["result"]


def test_the_inspector_lists_the_tools_and_finds_no_fault_with_their_schemas(way: Way) -> None:
    tools = {tool["name"]: tool for tool in inspect(way, "tools/list", "--strict")["tools"]}
    assert tools["file_read"]["title"] == "file/read"
    assert tools["file_read"]["annotations"]["readOnlyHint"] is True
    assert "system_shutdown" not in tools


def test_the_inspector_calls_a_tool_and_reads_its_result(way: Way) -> None:
    result = inspect(way, "tools/call", "--tool-name", "shell_echo", "--tool-args-json", '{"text": ["one door"]}')
    assert "one door" in result["content"][0]["text"]
    assert result["structuredContent"]["stdout"] == "one door\n"


@pytest.mark.parametrize(("transport", "era"), [("http", NEW), ("stdio", OLD)])
def test_the_inspector_reads_a_resource_and_gets_a_prompt(peers: PeerHouse, transport: str, era: str) -> None:
    way = Way(peers, transport, era)
    peers.workspace.mkdir(exist_ok=True)
    (peers.workspace / "notes.md").write_text("one door\n")
    (contents,) = inspect(way, "resources/read", "--uri", "doorward://files/notes.md")["contents"]
    assert contents["text"] == "one door\n"
    (message,) = inspect(way, "prompts/get", "--prompt-name", "work_here")["messages"]
    assert "general" in message["content"]["text"]
