"""A person at the terminal sees what servers give, and answers what they ask (the real program)."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_house import write_recipe
from upstream_door import recipe, server

from doorward.config.home import Home
from doorward_process import Doorward
from waiting import PATIENCE


@pytest.fixture(scope="module")
def doorward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doorward]:
    folder: Path = tmp_path_factory.mktemp("terminal")
    home = Home(folder / "home")
    home.create()
    write_recipe(home, recipe("annex", "mcp/*"))
    (home.path / "mcp-servers.json").write_text(json.dumps({"servers": [server("notes")]}))
    doorward = Doorward(home.path)
    with doorward.serving():
        assert doorward("rooms", "create", "annex", "--recipe=annex").code == 0
        yield doorward


def question(doorward: Doorward, running: subprocess.Popen[str]) -> dict[str, Any]:
    """The question that waits, as soon as there is one; asked for at a pace that no limit of the house minds."""
    while not (items := doorward("approvals", "questions").json["result"]["items"]):
        assert running.poll() is None, running.communicate()
        time.sleep(0.2)
    (one,) = items
    return dict(one)


def test_a_question_is_answered_from_another_terminal(doorward: Doorward):
    with doorward.started("run", "--room=annex", "mcp/notes/asks") as running:
        asked = question(doorward, running)
        assert (asked["server"], asked["caller"]) == ("notes", "terminal")
        shown = doorward.on_terminal("doorward approvals")
        assert "notes asks for terminal, to continue mcp/notes/asks:\n  Who\\u202e are you?" in shown.out
        assert f"doorward approvals answer {asked['id']} name=…" in shown.out
        wrong = doorward("approvals", "answer", asked["id"], "nome=Ada")
        assert (wrong.code, wrong.json["code"]) == (1, "bad_params")
        assert doorward("approvals", "answer", asked["id"], "name=Ada").json["result"]["action"] == "accept"
        out, _ = running.communicate(timeout=PATIENCE)
    given = json.loads(json.loads(out)["result"]["content"][0]["text"])
    assert given == {"action": "accept", "content": {"name": "Ada"}}
    late = doorward("approvals", "answer", asked["id"], "--decline")
    assert late.json["code"] == "not_found"


def test_blocks_are_words_at_the_terminal_and_whole_in_json(doorward: Doorward):
    shown = doorward.on_terminal("doorward run --room=annex mcp/notes/blocks").out
    assert (
        "hello\n[image: image/png, 70 bytes]\n[audio: audio/wav, 4 bytes]\n[link to mcp://notes/note:///one]" in shown
    )
    assert "To save the image: doorward run --json … | jq -r '.result.content[1].data' | base64 -d > FILE" in shown
    whole = doorward("run", "--room=annex", "mcp/notes/blocks").json["result"]["content"]
    assert whole[1]["data"].startswith("iVBO")
    failed = doorward.on_terminal("doorward run --room=annex mcp/notes/fails")
    assert failed.code == 1
    assert "no paper\n[image: image/png, 70 bytes]" in failed.out
