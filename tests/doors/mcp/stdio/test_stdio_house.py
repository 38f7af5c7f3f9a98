"""Several MCP clients, a server and terminals on one home folder: whoever keeps the house, all are served."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stdio_client import StdioClient

from doorward_process import Doorward
from talking import Stage, stage, with_talker
from waiting import PATIENCE, wait_until


@pytest.fixture
def doorward(tmp_path: Path) -> Doorward:
    return Doorward(tmp_path / "home")


@pytest.fixture
def talkative(tmp_path: Path) -> Doorward:
    """The same with a room `lab` for commands that last for as long as the test likes."""
    return with_talker(tmp_path, "data/list")


@pytest.fixture
def theatre() -> Iterator[Stage]:
    with stage() as one:
        yield one


def keeper(doorward: Doorward) -> int:
    """The process that holds the house."""
    return int((doorward.home / "lock").read_text())


def rooms(client: StdioClient, number: int) -> Any:
    """A call that is different each time, so that it is not held for a loop."""
    result = client.call("data_list", collection="rooms", limit=number)
    return [room["id"] for room in result["structuredContent"]["items"]]


def test_clients_and_terminals_share_the_house_of_the_first(doorward: Doorward) -> None:
    with StdioClient(doorward) as first, StdioClient(doorward, "--as", "second") as second:
        first.initialize()
        second.initialize()
        assert rooms(first, 1) == rooms(second, 1) == ["general"]
        assert keeper(doorward) in (first.process.pid, second.process.pid)
        assert doorward("status").json["result"]["process"] == keeper(doorward)
        for socket in ("mcp.sock", "doorward.sock"):
            mode = (doorward.home / socket).stat().st_mode
            assert (stat.S_ISSOCK(mode), stat.S_IMODE(mode)) == (True, 0o600)
        assert first.close()[0] == second.close()[0] == 0
    assert not (doorward.home / "mcp.sock").exists()
    assert not (doorward.home / "doorward.sock").exists()
    told = doorward("audit", "tail", "--json").out
    assert '"tester"' in told
    assert '"second"' in told
    assert doorward("audit", "verify").code == 0


@pytest.mark.parametrize("end", [StdioClient.close, lambda client: client.process.kill()], ids=["closed", "killed"])
def test_when_the_keeper_ends_another_takes_over_and_nobody_begins_anew(
    end: Callable[[StdioClient], Any], doorward: Doorward
) -> None:
    with StdioClient(doorward) as host:
        host.initialize()
        assert keeper(doorward) == host.process.pid
        with StdioClient(doorward) as second, StdioClient(doorward) as third:
            second.initialize()
            third.initialize()
            end(host)
            second.until("notifications/tools/list_changed")
            third.until("notifications/tools/list_changed")
            assert rooms(second, 1) == rooms(third, 2) == ["general"]
            assert keeper(doorward) in (second.process.pid, third.process.pid)
            assert second.close()[0] == third.close()[0] == 0
    assert doorward("audit", "verify").code == 0


def test_a_call_that_was_cut_off_is_answered_and_other_requests_are_asked_again(
    talkative: Doorward, theatre: Stage
) -> None:
    with StdioClient(talkative) as host:
        host.initialize()
        with StdioClient(talkative, "--room=lab", "--as", "cut") as client:
            client.initialize()
            call = client.begin_call("talk_live", port=theatre.port)
            theatre.talker()
            os.kill(host.process.pid, signal.SIGSTOP)
            listing = client.begin("tools/list")
            os.kill(host.process.pid, signal.SIGKILL)
            answer = client.answer(call)
            assert answer["error"]["data"]["code"] == "interrupted"
            assert answer["error"]["data"]["effect"] == "unknown"
            assert "doorward audit tail" in answer["error"]["data"]["hint"]
            assert client.answer(listing)["result"]["tools"]
            assert rooms(client, 1) == ["general"]
            assert client.close()[0] == 0
    assert talkative("audit", "verify").code == 0


def test_a_server_gets_the_house_from_a_client_and_gives_it_back_at_its_end(doorward: Doorward) -> None:
    with StdioClient(doorward) as host, StdioClient(doorward) as guest:
        host.initialize()
        guest.initialize()
        assert rooms(host, 1) == rooms(guest, 1) == ["general"]
        with doorward.up() as server:
            assert keeper(doorward) == server.process.pid
            assert rooms(host, 2) == rooms(guest, 2) == ["general"]
            with StdioClient(doorward) as late:
                late.initialize()
                assert rooms(late, 3) == ["general"]
                assert keeper(doorward) == server.process.pid
                late.close()
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(PATIENCE) == 0
        assert rooms(host, 4) == rooms(guest, 4) == ["general"]
        assert keeper(doorward) in (host.process.pid, guest.process.pid)
        assert guest.close()[0] == host.close()[0] == 0
    assert doorward("audit", "verify").code == 0


def test_a_call_may_finish_before_the_house_is_handed_over(talkative: Doorward, theatre: Stage) -> None:
    with StdioClient(talkative, "--room=lab", "--tools=all") as host:
        host.initialize()
        call = host.begin_call("talk_live", port=theatre.port)
        talker = theatre.talker()
        with talkative.started("up", "--port", "0") as process:
            try:
                wait_until(lambda: not (talkative.home / "mcp.sock").exists())
                assert keeper(talkative) == host.process.pid
                talker.tell("end", 0)
                assert host.answer(call)["result"]["structuredContent"]["exitCode"] == 0
                assert rooms(host, 1) == ["general"]
                assert keeper(talkative) == process.pid
            finally:
                process.kill()


def test_a_client_is_served_beside_a_command_that_runs_for_long(talkative: Doorward, theatre: Stage) -> None:
    with talkative.started("run", "--room=lab", "talk/live", f"--port={theatre.port}") as command:
        talker = theatre.talker()
        assert keeper(talkative) == command.pid
        with StdioClient(talkative, "--room=lab") as client:
            client.initialize()
            assert rooms(client, 1) == ["general"]
            assert keeper(talkative) == command.pid
            talker.tell("end", 0)
            command.communicate(timeout=PATIENCE)
            assert command.returncode == 0
            assert rooms(client, 2) == ["general", "lab"]
            assert keeper(talkative) == client.process.pid


def test_a_server_is_not_asked_out_by_another(doorward: Doorward) -> None:
    with doorward.up() as server, StdioClient(doorward) as client:
        client.initialize()
        ended = doorward("up", "--port=0")
        assert ended.code == 3
        assert f"This home folder is in use by process {server.process.pid}." in ended.err
        assert rooms(client, 1) == ["general"]


def test_a_person_can_shut_down_a_house_that_a_client_keeps(doorward: Doorward) -> None:
    with StdioClient(doorward) as host:
        host.initialize()
        assert doorward("run", "--as=me", "--room=", "system/shutdown", "--reason=tea").code == 0
        assert host.process.wait(PATIENCE) == 0
