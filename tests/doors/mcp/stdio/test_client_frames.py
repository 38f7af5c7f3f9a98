"""The frames of well-known clients: each is answered in its own version, gets the short list, and reads a file."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from client_frames import CLIENTS, fill_call
from stdio_client import StdioClient

from doorward_process import Doorward


@pytest.fixture(scope="module")
def doorward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doorward]:
    doorward = Doorward(tmp_path_factory.mktemp("clients") / "home")
    with doorward.up():
        yield doorward


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_as_it_really_speaks_lists_and_calls_tools(doorward: Doorward, name: str) -> None:
    (doorward.home / "workspace" / "note.txt").write_text("one\ntwo\n")
    answers = {}
    with StdioClient(doorward) as client:
        for frame in CLIENTS[name]:
            client.write(fill_call(frame, "file_read", {"path": "/workspace/note.txt"}))
            if "id" in frame:
                answers[frame["method"]] = client.answer(frame["id"])
    said = CLIENTS[name][0]["params"]
    welcome = answers["initialize"]["result"]
    assert welcome["protocolVersion"] == said["protocolVersion"]
    assert "tools" in welcome["capabilities"]
    assert [method for method, answer in answers.items() if "error" in answer] == []
    listed = answers["tools/list"]["result"]
    assert {"file_read", "file_edit", "search_commands"} <= {tool["name"] for tool in listed["tools"]}
    assert len(json.dumps(listed)) < 30_000
    assert answers["tools/call"]["result"]["content"] == [{"type": "text", "text": "one\ntwo\n"}]
    lines = doorward("audit", "tail", "-n", "20", "--json").out.splitlines()
    assert said["clientInfo"]["name"] in {json.loads(line)["caller"] for line in lines}
