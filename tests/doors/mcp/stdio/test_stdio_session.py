"""One MCP client over pipes: what it gets for good and bad messages, and what its end does."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stdio_client import StdioClient

from doorward.doors.mcp.stdio.frames import MAX_MESSAGE_BYTES
from doorward_process import BIN, Doorward
from mutation import mutate_line
from waiting import AT_LEISURE, PATIENCE, wait_until


@pytest.fixture(scope="module")
def doorward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doorward]:
    """A house that a server keeps, so that each client is a relay."""
    doorward = Doorward(tmp_path_factory.mktemp("stdio") / "home")
    with doorward.up():
        yield doorward


@pytest.fixture
def client(doorward: Doorward) -> Iterator[StdioClient]:
    with StdioClient(doorward) as client:
        client.initialize()
        yield client


def records(doorward: Doorward) -> list[dict[str, Any]]:
    return [json.loads(line) for line in doorward("audit", "tail", "-n", "200", "--json").out.splitlines()]


def test_a_client_lists_and_calls_tools(client: StdioClient) -> None:
    tools = {tool["name"] for tool in client.ask("tools/list")["result"]["tools"]}
    assert {"bash", "file_read"} <= tools
    result = client.call("data_count", collection="rooms")
    assert result["structuredContent"] == {"count": 1}


@pytest.mark.parametrize(
    ("given", "agent"),
    [("Visual Studio Code", "visual-studio-code"), ("owner", "agent"), ("Ж" * 9, "agent"), ("a" * 64, "agent")],
)
def test_the_agent_is_called_as_its_client_if_it_can_be(given: str, agent: str, doorward: Doorward) -> None:
    with StdioClient(doorward, name=given) as client:
        client.initialize()
        assert client.call("data_list", collection="rooms", limit=len(given))["structuredContent"]["items"]
    assert (agent, "owner", "ai") in {(line["caller"], line["behalf"], line["kind"]) for line in records(doorward)}


def test_a_client_of_the_stateless_era_needs_no_handshake(doorward: Doorward) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "stateless", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with StdioClient(doorward) as client:
        answer = client.ask("tools/call", name="data_count", arguments={"collection": "users"}, _meta=meta)
        assert answer["result"]["structuredContent"] == {"count": 1}
    assert "stateless" in {line["caller"] for line in records(doorward)}


def test_the_list_of_tools_can_be_short(doorward: Doorward) -> None:
    with StdioClient(doorward, "--tools", "search") as client:
        client.initialize()
        tools = {tool["name"] for tool in client.ask("tools/list")["result"]["tools"]}
        assert len(tools) < 30
        assert "run_command" in tools


def test_a_line_that_is_no_message_gets_an_error_and_the_session_goes_on(client: StdioClient) -> None:
    for line, code in (
        (b"nonsense", -32700),
        (b"[]", -32600),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
        (b'{"jsonrpc":"2.0"}', -32600),
        (b"#moving", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"x" * (MAX_MESSAGE_BYTES + 1), -32600),
    ):
        client.write(line + b"\n")
        assert client.message()["error"]["code"] == code, line[:80]
    client.write(b"\n \r\n")
    assert client.ask("ping")["result"] == {}


def test_the_session_survives_mutated_messages(client: StdioClient) -> None:
    """Each is answered with an error, ignored as a notification, or still a valid request; none ends the process."""
    chance = random.Random(5)
    cancelled = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"%b"}}'
    client.write(cancelled % b"\xff" + b"\n")
    assert client.message()["error"]["code"] == -32700
    valid = [cancelled % b"one", b'{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"cursor":"x"}}']
    for _ in range(20):
        client.write(b"".join(mutate_line(chance, chance.choice(valid)) + b"\n" for _ in range(10)))
        assert client.ask("ping")["result"] == {}
    assert any("error" in message for message in client.seen)


def test_a_person_at_the_client_approves_through_it(doorward: Doorward) -> None:
    with StdioClient(doorward) as client:
        client.initialize(elicitation={"form": {}})
        call = client.begin_call("file_write", path="asked.txt", content="yes")
        question = client.until("elicitation/create")
        assert "asked.txt" in question["params"]["message"]
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}}
        properties = question["params"]["requestedSchema"]["properties"]
        answer["result"]["content"] = {name: one.get("default", True) for name, one in properties.items()}
        client.write(json.dumps(answer).encode() + b"\n")
        done = client.answer(call)
    assert not done["result"].get("isError"), done
    assert (doorward.home / "workspace" / "asked.txt").read_text() == "yes"


def test_what_is_approved_in_a_terminal_meanwhile_runs_and_the_question_is_taken_back(doorward: Doorward) -> None:
    with StdioClient(doorward) as client:
        client.initialize(elicitation={})
        call = client.begin_call("file_write", path="elsewhere.txt", content="yes")
        question = client.until("elicitation/create")
        approved = doorward("approvals", "approve", question["params"]["message"].split()[-1])
        assert approved.code == 0, approved.err
        assert client.until("notifications/cancelled")["params"]["requestId"] == question["id"]
        done = client.answer(call)
    assert not done["result"].get("isError"), done
    assert (doorward.home / "workspace" / "elsewhere.txt").read_text() == "yes"


def test_a_client_that_does_not_read_holds_up_nobody_else(doorward: Doorward) -> None:
    with StdioClient(doorward) as stuck, StdioClient(doorward) as other:
        stuck.initialize()
        other.initialize()
        asked = [stuck.begin("tools/list") for _ in range(60)]
        assert other.call("data_count", collection="rooms")["structuredContent"] == {"count": 1}
        assert {stuck.message()["id"] for _ in asked[:-1]} < set(asked)
        for _ in range(60):
            stuck.begin("tools/list")
        assert stuck.close()[0] == 0


@pytest.mark.parametrize("way", ["closed", "terminated"])
def test_the_end_of_a_client_cancels_its_calls_and_leaves_their_records(way: str, doorward: Doorward) -> None:
    with StdioClient(doorward, "--as", way) as client:
        client.initialize()
        client.begin_call("shell_sleep", seconds=30)
        wait_until(lambda: f'"{way}"' in doorward("executions", "list", "--json").out, AT_LEISURE)
        time.sleep(2 * AT_LEISURE)  # whoever closes at once after asking has piped in what they want answered
        if way == "closed":
            code, said = client.close()
        else:
            client.process.send_signal(signal.SIGTERM)
            code, said = client.process.wait(PATIENCE), ""
        assert (code, said) == (0, "")

    def ends() -> set[str]:
        return {line["code"] for line in records(doorward) if line["caller"] == way and line["phase"] != "start"}

    assert wait_until(lambda: "cancelled" in ends(), AT_LEISURE)


def test_requests_in_a_file_are_answered(doorward: Doorward, tmp_path: Path) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "file", "version": "1"}}
    frames = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    given, got = tmp_path / "requests", tmp_path / "answers"
    given.write_text("\n".join(json.dumps(frame) for frame in frames))
    with given.open("rb") as source, got.open("wb") as sink:
        subprocess.run(
            [BIN / "doorward", "mcp"], env=doorward.env, stdin=source, stdout=sink, check=True, timeout=PATIENCE
        )
    assert {json.loads(line)["id"] for line in got.read_text().splitlines()} == {1, 2}


def test_the_last_line_is_answered_also_when_it_is_no_request(doorward: Doorward) -> None:
    lines = ["{bad", "[]", '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', '{"jsonrpc":"1.0","method":"notify"}']
    for last in lines:
        ended = subprocess.run(
            [BIN / "doorward", "mcp"], env=doorward.env, input=last, capture_output=True, text=True, timeout=PATIENCE
        )
        (answer,) = ended.stdout.splitlines()
        assert json.loads(answer)["error"]["code"] in (-32700, -32600), last


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--room", "nowhere"], "not_found", "There is no room 'nowhere'; valid: general."),
        (["--room", ""], "bad_params", "An agent needs a room; name one with --room."),
        (["--as", "owner"], "bad_params", "'owner' is a person. Choose another name for the agent."),
        (["--as", "No Name"], "bad_params", "An agent's name has 1 to 63 lowercase letters"),
    ],
)
def test_what_cannot_be_served_is_said_to_the_person_and_to_the_client(
    args: list[str], code: str, said: str, doorward: Doorward
) -> None:
    with StdioClient(doorward, *args) as client:
        answer = client.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
        assert answer["error"]["data"]["code"] == code
        assert answer["error"]["message"].startswith(said)
        assert client.process.wait(PATIENCE) == 3
        assert client.process.stderr is not None
        assert said in client.process.stderr.read().decode()
