"""What the line door's first users wrote down, typed again: each line as they send it, compared with what they expect.

`nc` sends a line, ends its input, and prints what comes until the other side closes; so does `nc` below.
"""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from line_house import line_house

from doorward_process import Doorward
from waiting import PATIENCE

SETTINGS = "[approvals]\nforesee = false\n[line]\nquiet_seconds = 3\n"
"""Nobody waits for what a loop would do, and a busy machine does not make a quick call one that is told of."""
LOOP = '{"id":"7","method":"call_tool","params":{"tool":"bash","args":{"command":"while true; do :; done"}}}'
SLEEP = '{"id":"50","method":"call_tool","params":{"tool":"sleep","args":{"seconds":5}}}'
ALLOWING = {
    "recipeId": "allowing",
    "displayName": "Allowing",
    "strategy": {"aiCommands": {"enabled": True, "whitelist": ["bash"]}},
}
CLIENT = """
import socket, json
s = socket.socket()
s.connect(('localhost', {port}))
def send(obj): s.send((json.dumps(obj)+'\\n').encode())
def recv(): return json.loads(s.recv(4096).decode())
send({{'id':'1','method':'initialize','params':{{}}}})
print('Init:', recv())
send({{'id':'3','method':'call_tool','params':{{'tool':'pwd','args':{{}}}}}})
print('PWD:', recv()['result']['output'])
s.close()
"""
"""Their client without its second step: a list of tools is longer than one `recv(4096)`."""


class Netcat:
    def __init__(self, port: int) -> None:
        self.port = port

    def __call__(self, text: str) -> list[Any]:
        """All lines that come back, as `echo TEXT | nc localhost PORT` shows them."""
        with self.sent(text) as sock:
            return self.read(sock)

    def sent(self, text: str) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        sock.sendall(text.encode() + b"\n")
        sock.shutdown(socket.SHUT_WR)
        return sock

    def read(self, sock: socket.socket) -> list[Any]:
        with sock.makefile("rb") as file:
            return [json.loads(line) for line in file]

    def until_running(self, id: str) -> Any:
        """What its status is as soon as a request that was just sent runs."""
        question = {"id": "4", "method": "get_execution_status", "params": {"execution_id": id}}
        while True:
            (answer,) = self(json.dumps(question))
            if answer["type"] == "response" and answer["result"]["status"] == "running":
                return answer

    def call(self, id: str, tool: str, args: dict[str, Any], **more: Any) -> Any:
        text = json.dumps({"id": id, "method": "call_tool", "params": {"tool": tool, "args": args}, **more})
        return self(text)[-1]


class Server:
    """A real server, and two calls that were sent when it started, since they take their time."""

    def __init__(self, doorward: Doorward, port: int, token: str) -> None:
        self.doorward = doorward
        self.nc = Netcat(port)
        looping = json.dumps({**json.loads(LOOP), "token": token, "room": "lab"})
        self.sleeping, self.looping = self.nc.sent(SLEEP), self.nc.sent(looping)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("seed")
    doorward = Doorward(
        folder / "home",
        USHELL_MCP_ENABLED="1",
        USHELL_MCP_PORT="0",
        USHELL_MCP_DEBUG="1",
        USHELL_MCP_AUDIT_LOG=str(folder / "audit.log"),
        USHELL_MCP_RATE_LIMIT="1000",
        USHELL_MCP_CMD_TIMEOUT="7",
    )
    assert doorward("init").code == 0
    (doorward.home / "doorward.toml").write_text(SETTINGS)
    (doorward.home / "recipes" / "allowing.json").write_text(json.dumps(ALLOWING))
    shipped = doorward.home / "recipes" / "code-collaboration.json"
    shipped.write_text(shipped.read_text().replace('"maxCommandsPerMinute": 60', '"maxCommandsPerMinute": 6000'))
    (doorward.home / "workspace" / "src").mkdir()
    (doorward.home / "workspace" / "src" / "door.py").write_text("print('open')\n")
    with doorward.up() as up:
        (said,) = [line for line in up.said if "line door listening on 127.0.0.1 port" in line]
        port = int(said.split(" port ")[1].split(",")[0])
        assert doorward("rooms", "create", "lab", "--recipe=allowing").code == 0
        made = doorward("run", "--as=me", "--room=", "token/create", "--name=robot", "--kind=ai", "--access=full")
        one = Server(doorward, port, made.json["result"]["token"])
        with one.sleeping, one.looping:
            yield one
        up.process.terminate()
        assert up.process.wait(PATIENCE) == 0


@pytest.fixture
def nc(server: Server) -> Netcat:
    return server.nc


def test_initialize_gives_the_server_and_its_version(nc: Netcat) -> None:
    (answer,) = nc('{"id":"1","method":"initialize","params":{}}')
    assert (answer["id"], answer["type"]) == ("1", "response")
    assert {"server", "version"} <= answer["result"].keys()


def test_list_tools_gives_every_tool_with_its_schema_and_category(nc: Netcat) -> None:
    (answer,) = nc('{"id":"2","method":"list_tools","params":{}}')
    tools = answer["result"]["tools"]
    assert len(tools) > 80
    assert all("inputSchema" in tool and tool["metadata"]["category"] for tool in tools)
    (cd,) = [tool for tool in tools if tool["name"] == "cd"]
    assert cd["inputSchema"]["properties"]["path"]["type"] == "string"


def test_pwd_gives_the_current_folder_and_nothing_else(nc: Netcat) -> None:
    (answer,) = nc('{"id":"3","method":"call_tool","params":{"tool":"pwd","args":{}}}')
    assert (answer["id"], answer["result"]["tool"], answer["result"]["output"]) == ("3", "pwd", "/workspace")
    assert answer["result"]["exit_code"] == 0


def test_echo_gives_the_text(nc: Netcat) -> None:
    (answer,) = nc('{"id":"4","method":"call_tool","params":{"tool":"echo","args":{"text":"hello"}}}')
    assert answer["result"]["output"] == "hello"


def test_what_is_not_json_and_an_unknown_method_get_errors(nc: Netcat) -> None:
    (bad,) = nc("not valid json")
    (unknown,) = nc('{"id":"5","method":"invalid_method","params":{}}')
    assert (bad["id"], bad["type"]) == (None, "error")
    assert (unknown["id"], unknown["type"]) == ("5", "error")


def test_many_clients_at_once_are_all_served(nc: Netcat) -> None:
    answers: list[Any] = []

    def ask(n: int) -> None:
        answers.extend(nc(json.dumps({"id": str(n), "method": "initialize", "params": {}})))

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(1, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(one["id"] for one in answers) == [str(n) for n in range(1, 8)]
    assert {one["type"] for one in answers} == {"response"}


def test_their_client_in_python_reads_one_line_for_each_request(nc: Netcat) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", CLIENT.format(port=nc.port)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.stderr == ""
    assert ended.stdout.splitlines()[-1] == "PWD: /workspace"


def test_an_alias_gives_what_the_command_gives(nc: Netcat) -> None:
    listed = nc.call("2", "list_directory", {"path": "."})
    plain = nc.call("3", "ls", {"path": "."})
    assert plain["result"]["output"] == "src"
    assert [item["path"] for item in listed["result"]["data"]["items"]] == ["src"]
    assert nc.call("4", "ls", {"path": "./src"})["result"]["output"] == "door.py"


def test_the_special_tools_answer(nc: Netcat) -> None:
    info = nc.call("4", "get_shell_info", {})["result"]["data"]
    history = nc.call("5", "get_history", {"limit": 5})["result"]["data"]["items"]
    context = nc.call("1", "get_shell_context", {"include_history": True})["result"]["data"]
    detailed = nc.call("6", "list_files_detailed", {"path": ".", "recursive": True})["result"]["data"]["items"]
    script = nc.call("7", "execute_script", {"commands": ["pwd", "echo hi"]})["result"]
    assert info["workspace"] == context["workspace"] == "/workspace"
    assert 0 < len(history) <= 5
    assert context["history"]
    assert {item["path"] for item in detailed} >= {"src", "src/door.py"}
    assert "hi" in script["output"]


def test_search_ranks_commands_and_suggest_gives_one_to_run(nc: Netcat) -> None:
    found = nc.call("2", "search_commands", {"query": "list files recursively", "limit": 5})["result"]["data"]["items"]
    suggested = nc.call("3", "suggest_command", {"query": "show all text files in current directory"})["result"]
    python = nc.call("5", "suggest_command", {"query": "list all python files"})["result"]
    assert len(found) == 5
    assert all({"command", "summary", "score"} <= one.keys() for one in found)
    assert suggested["output"].splitlines()[0] == suggested["data"]["suggestion"]
    assert suggested["data"]["explanation"]
    assert suggested["data"]["suggestion"] == "find . -name '*.txt' -type f"
    assert python["output"].splitlines()[0] == "find . -name '*.py' -type f"


def test_paths_cannot_leave_the_workspace(nc: Netcat) -> None:
    above = nc.call("1", "ls", {"path": "../../etc"})
    found = nc.call("7", "find", {"path": "/usr", "name": "*.txt"})
    listed = nc.call("2", "ls", {"path": "/tmp/test_mcp"})
    assert {one["error"]["code"] for one in (above, found, listed)} == {"bad_params"}
    assert all("workspace" in one["error"]["message"] for one in (above, found, listed))


def test_signs_of_a_shell_are_printed_and_mean_nothing(nc: Netcat) -> None:
    assert nc.call("3", "echo", {"text": "test; rm -rf /"})["result"]["output"] == "test; rm -rf /"
    assert nc.call("4", "echo", {"text": "`whoami`"})["result"]["output"] == "`whoami`"


def test_what_is_not_in_the_catalogue_does_not_exist(nc: Netcat) -> None:
    sudo = nc.call("6", "sudo", {"command": "whoami"})
    python = nc.call("8", "python3", {"code": "x=[1]*10**9"})
    assert sudo["error"]["code"] == python["error"]["code"] == "unknown_command"


def test_a_shell_script_waits_for_a_person_where_the_recipe_says_so(nc: Netcat) -> None:
    (answer,) = nc(LOOP)
    assert (answer["type"], answer["error"]["code"]) == ("error", "approval_needed")
    assert answer["error"]["message"] == "bash is waiting for approval."
    assert answer["error"]["ticket"] in answer["error"]["hint"]


def test_status_and_cancel_by_the_id_of_the_request(nc: Netcat) -> None:
    sleep = '{"id":"3","method":"call_tool","params":{"tool":"sleep","args":{"seconds":30}}}'
    with nc.sent(sleep) as sock, sock.makefile("rb") as file:
        status = nc.until_running("3")
        (cancelled,) = nc('{"id":"6","method":"cancel_execution","params":{"execution_id":"3"}}')
        rest = [json.loads(line) for line in file]
    assert status["result"]["status"] == "running"
    assert status["result"]["elapsed_time"] >= 0
    assert cancelled["result"]["success"] is True
    assert (rest[-1]["id"], rest[-1]["error"]["code"]) == ("3", "cancelled")


def test_a_client_that_disappears_leaves_the_server_as_it_was(nc: Netcat) -> None:
    nc.sent('{"id":"1","method":"initialize","params":{}}').close()
    assert nc.call("2", "pwd", {})["result"]["output"] == "/workspace"


def test_a_long_call_is_told_of_from_start_to_end(server: Server) -> None:
    lines = server.nc.read(server.sleeping)
    events = [one.get("event", one["type"]) for one in lines]
    assert events[0] == "tool_started"
    assert set(events[1:-2]) == {"tool_progress"}
    assert events[-2:] == ["tool_completed", "response"]
    assert (lines[-1]["id"], lines[-1]["result"]["tool"]) == ("50", "sleep")


def test_an_endless_loop_is_killed_after_the_timeout(server: Server) -> None:
    last = server.nc.read(server.looping)[-1]
    assert (last["id"], last["type"], last["error"]["code"]) == ("7", "error", "timed_out")
    assert "was cancelled after 7 s" in last["error"]["message"]


def test_the_audit_log_and_the_debug_log_tell_what_happened(server: Server) -> None:
    server.nc.call("9", "pwd", {})
    lines = [json.loads(line) for line in (server.doorward.folder / "audit.log").read_text().splitlines()]
    (pwd, *_) = [one for one in reversed(lines) if one["tool"] == "pwd"]
    assert {"timestamp", "client", "tool", "arguments", "result"} <= pwd.keys()
    assert pwd["result"]["status"] == "done"
    log = (server.doorward.home / "logs" / "doorward.log").read_text()
    assert "line door: 9 call_tool" in log


async def test_of_fifteen_quick_commands_ten_succeed_and_the_rest_are_told_to_wait(opened: Callable[..., Any]) -> None:
    """On a clock that stands still, since the ten seconds are the point."""
    async with functools.partial(line_house, opened)(room="general", calls=10) as house:
        answers = []
        for n in range(1, 16):
            wire = await house.wire()
            answers.append(await wire.called(str(n), "pwd", {}))
            with contextlib.suppress(ConnectionError):
                await wire.close()
    assert [one["type"] for one in answers] == ["response"] * 10 + ["error"] * 5
    assert {one["error"]["code"] for one in answers[10:]} == {"too_fast"}
    assert answers[10]["error"]["retry_after"] > 0
