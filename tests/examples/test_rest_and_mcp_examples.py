"""The examples for REST and MCP, run as their docstrings say, from the root of the repository."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from doorward_process import Doorward
from waiting import PATIENCE

ROOT = Path(__file__).parents[2]
APPROVE = re.compile(r"doorward approvals approve (\w+)")


class Served(NamedTuple):
    doorward: Doorward
    url: str

    def start(self, example: str, *options: str, **env: str) -> subprocess.Popen[str]:
        return start(self.doorward, example, *options, DOORWARD_URL=self.url, **env)

    def token(self) -> str:
        return str(self.doorward("token", "create", "demo", "--room=general").json["result"]["token"])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    doorward = Doorward(tmp_path_factory.mktemp("examples") / "home")
    with doorward.serving() as server:
        yield Served(doorward, f"http://{server.host}:{server.port}")


def start(doorward: Doorward, example: str, *options: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, f"examples/{example}", *options],
        cwd=ROOT,
        env={**doorward.env, "PYTHONUNBUFFERED": "1", **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> str:
    """What it printed, if all went well."""
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, f"{out}\n{err}"
    return out


def approved_meanwhile(process: subprocess.Popen[str], doorward: Doorward) -> str:
    """The same, when a person in another terminal does what it says."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if found := APPROVE.search(line):
            assert doorward("approvals", "approve", found[1]).code == 0
            break
    return said + ended(process)


def test_a_program_with_a_token_over_rest(served: Served) -> None:
    said = approved_meanwhile(served.start("rest_client.py", DOORWARD_TOKEN=served.token()), served.doorward)
    assert "I am demo (ai) of local, on behalf of owner." in said
    assert "  | 1\n  | 2\n  | 3\n  done, exit code 0" in said
    assert "rule: recipe code-collaboration: nothing allows it" in said
    assert "done: hello-rest.txt, 22 bytes" in said


def test_a_person_who_registers_and_approves_over_rest(served: Served) -> None:
    invited = served.doorward("run", "--as=me", "--room=", "user/invite").json["result"]["passcode"]
    options = ("--login", "acme/ada", "--register", invited)
    said = ended(served.start("rest_client.py", *options, DOORWARD_PASSWORD="a long pass phrase"))
    assert "Registered acme with its first user ada." in said
    assert "(the person reads: file/write " in said
    assert "done: hello-rest.txt, 22 bytes" in said
    assert "a long pass phrase" not in said


def test_a_program_without_a_server_is_told_what_to_do(served: Served) -> None:
    process = start(served.doorward, "rest_client.py", DOORWARD_TOKEN="t", DOORWARD_URL="http://127.0.0.1:9")
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert err.startswith("Doorward cannot be reached at http://127.0.0.1:9")
    assert "doorward up" in err
    assert "Traceback" not in err


def test_an_mcp_client_over_stdio_approves_where_it_sits(served: Served) -> None:
    said = ended(served.start("mcp_client.py", "--yes"))
    assert re.search(r"Connected to doorward [\d.]+, MCP 20", said)
    assert re.search(r"\d+ tools, \d+ of which only read", said)
    assert "refused or failed: Command failed: system/status (tier system) is not allowed" in said
    assert "Doorward asks the person at this client:" in said
    assert '"path": "hello-mcp.txt"' in said


def test_an_mcp_client_over_http_waits_for_a_person_elsewhere(served: Served) -> None:
    options = ("--url", f"{served.url}/mcp/general", "--wait", "20")
    said = approved_meanwhile(served.start("mcp_client.py", *options, DOORWARD_TOKEN=served.token()), served.doorward)
    assert "Result: /workspace" in said
    assert '"bytesAfter": 26' in said


@pytest.mark.parametrize("example", ["rest_client.py", "mcp_client.py"])
def test_an_example_explains_itself(example: str, served: Served) -> None:
    said = ended(served.start(example, "--help"))
    assert "usage:" in said
    assert f".venv/bin/python examples/{example}" in said
