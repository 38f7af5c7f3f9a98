"""`doorward effort`: agents with effort in the terminal, beside a real server with a real persona file."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from doorward.cli import effort_view
from doorward.cli.effort_progress import RequestBars
from doorward_process import Doorward
from waiting import AT_LEISURE, wait_until

SCOUT = {"personaId": "scout", "displayName": "Scout", "rooms": ["general"], "model": "house", "effort": {}}


@pytest.fixture(scope="module")
def scouted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doorward]:
    """A server that runs, with the persona scout."""
    doorward = Doorward(tmp_path_factory.mktemp("effort") / "home")
    doorward("init")
    (doorward.home / "personas" / "scout.json").write_text(json.dumps(SCOUT))
    with doorward.serving():
        yield doorward


def items(doorward: Doorward, *args: str) -> list[dict[str, Any]]:
    ended = doorward("effort", *args, "--json")
    assert ended.code == 0, ended
    return list(ended.json["result"]["items"])


def test_without_agents_it_says_how_to_get_one(shared: Doorward) -> None:
    shown = shared.on_terminal("doorward effort").out
    assert shown.strip().splitlines()[-1] == (
        'No agent has effort. Add "effort": {} to a persona\'s file, see docs/EFFORT.md.'
    )
    assert "Start one: doorward effort start" in shared.on_terminal("doorward effort conversations").out
    assert "No requests to sub-agents." in shared.on_terminal("doorward effort requests").out


def test_the_energy_and_the_work_of_an_agent_are_shown(scouted: Doorward) -> None:
    shown = scouted.on_terminal("doorward effort status").out
    assert re.search(r"scout\s+█{10} 100 high\s+house", shown), shown
    (scout,) = items(scouted, "status", "scout")
    assert (scout["agent"], scout["subAgent"]) == ("scout", "idle")
    missing = scouted("effort", "status", "nobody")
    assert missing.code == 1
    assert "Agents: scout" in missing.err


def test_a_conversation_is_started_answered_given_more_and_ended(scouted: Doorward) -> None:
    started = scouted.on_terminal('doorward effort start scout "How many rooms do we have?" --budget 30')
    room = re.search(r"in the room (talk-\w+)\.", started.out)
    assert room, started
    assert f"doorward chat {room[1]}" in started.out

    def state() -> str:
        return next(one["state"] for one in items(scouted, "conversations") if one["room"] == room[1])

    wait_until(lambda: state() == "answered", AT_LEISURE)
    given = scouted.on_terminal(f"doorward effort budget conversation {room[1]} 50")
    assert f"conversation scout@{room[1]}:" in given.out
    assert "of 50 energy spent." in given.out
    assert "of 50 energy spent" in " ".join(scouted.on_terminal("doorward effort conversations").out.split())
    free = scouted.on_terminal(f"doorward effort budget conversation {room[1]} none")
    assert "no limit in energy." in free.out
    assert scouted("effort", "end", room[1]).json["result"]["state"] == "ended"


@pytest.mark.parametrize("amount", ["nan", "inf", "-1", "much"])
def test_what_is_no_amount_never_becomes_no_limit(amount: str, scouted: Doorward) -> None:
    for words in (["budget", "agent", "scout", "--", amount], ["start", "scout", "Hello", f"--budget={amount}"]):
        refused = scouted("effort", *words)
        assert refused.code == 2
        assert f"Give a number from 0 up; given {amount!r}." in refused.err
    assert items(scouted, "status")[0]["budgets"] == []


def test_a_request_waits_for_a_paused_sub_agent_and_is_cancelled(scouted: Doorward) -> None:
    assert "paused by owner" in scouted.on_terminal("doorward effort pause scout").out
    room = scouted("effort", "start", "scout", "Hello").json["result"]["room"]
    asked = scouted(
        "run",
        "--as=me",
        f"--room={room}",
        "effort/request",
        "--agent=scout",
        "--kind=search_servers",
        '--params={"purpose": "weather"}',
    )
    assert asked.code == 0, asked
    id = asked.json["result"]["id"]
    shown = scouted.on_terminal("doorward effort requests --state queued").out
    assert id in shown
    assert "weather for scout" in " ".join(shown.split())
    cancelled = scouted("effort", "cancel", id, "--reason", "not needed")
    assert cancelled.json["result"]["state"] == "cancelled"
    followed = scouted("effort", "requests", "--follow", "--json")
    assert [one["state"] for one in followed.json["result"]["items"] if one["id"] == id] == ["cancelled"]
    assert "idle" in scouted.on_terminal("doorward effort resume scout").out


def test_the_progress_of_a_running_request_is_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    request = {
        "id": "r1",
        "agent": "scout",
        "kind": "add_server",
        "params": {"serverName": "[red]weather"},
        "priority": "high",
        "state": "in_progress",
        "progress": 40.0,
        "message": "Installing [1]",
        "energy": 3.25,
        "error": "",
        "ticket": "t1",
    }
    effort_view.show_requests({"items": [request]})
    shown = capsys.readouterr()
    assert "████░░░░░░ 40 %" in shown.out
    assert "[red]weather" in shown.out
    assert "doorward approvals show t1" in shown.err
    written = io.StringIO()
    with RequestBars(True, Console(file=written, force_terminal=True, width=100)) as bars:
        assert bars.update([request])
        assert not bars.update([{**request, "state": "completed", "progress": 100.0}])
    drawn = written.getvalue()
    assert "add server [red]weather for scout" in drawn
    assert "Installing [1]" in drawn
