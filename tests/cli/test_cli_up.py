"""`doorward up`: a real server, the terminal that talks to it, and its end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from doorward.core.errors import Unusable
from doorward.doors.http.ports import listen
from doorward_process import BIN, Doorward, Server
from waiting import AT_LEISURE, PATIENCE, wait_until


def get(server: Server, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.fixture(scope="module")
def server(shared: Doorward) -> Iterator[Server]:
    with shared.up() as server:
        yield server


class TestRunning:
    def test_it_says_where_to_look_and_what_to_do_next(self, server: Server, shared: Doorward) -> None:
        said = "\n".join(server.said)
        assert "Created the home folder:" in said
        assert f"health   http://127.0.0.1:{server.port}/health" in said
        assert f"home     {shared.home}" in said
        assert "doorward run data/list --collection=rooms" in said

    def test_health_answers_and_tells_no_more_than_needed(self, server: Server) -> None:
        status, body = get(server, "/health")
        assert status == 200
        assert json.loads(body).keys() == {"status", "version", "problems"}
        assert json.loads(body)["status"] == "ok"

    def test_metrics_count_what_the_terminal_asks(self, server: Server, shared: Doorward) -> None:
        assert shared("run", "data/count", "--collection=users").code == 0
        status, body = get(server, "/metrics")
        assert status == 200
        assert 'doorward_calls_total{code="ok",status="done"}' in body

    def test_the_terminal_talks_to_the_server(self, server: Server, shared: Doorward) -> None:
        assert shared("status").json["result"]["process"] == server.process.pid

    def test_outcomes_and_exit_codes_are_the_same_through_the_server(self, server: Server, shared: Doorward) -> None:
        done = shared("run", "data/count", "--collection=rooms")
        assert (done.code, done.json["result"]) == (0, {"count": 1})
        assert shared("run", "system/status").code == 3
        assert shared("run", "undo", "--execution=none").code == 1
        parked = shared("run", "file/write", "--path=a.txt", "--content=a")
        assert parked.code == 4
        assert shared("approvals", "approve", parked.json["ticket"]).code == 0
        assert shared("run", f"--ticket={parked.json['ticket']}").code == 0
        assert shared("explain", "file/write").json["decision"] == "allowed"
        assert shared("explain", "no/such").code == 3

    def test_a_kept_answer_is_given_when_asked_for(self, server: Server, shared: Doorward) -> None:
        first, second = (shared("run", "--cache", "recipe/list") for _ in range(2))
        assert (first.json["code"], second.json["code"]) == ("ok", "cached")
        assert first.json["result"] == second.json["result"]

    def test_the_ledger_can_be_read_and_verified_meanwhile(self, server: Server, shared: Doorward) -> None:
        assert shared("audit", "tail").code == 0
        assert shared("audit", "verify").code == 0

    def test_an_edited_recipe_file_holds_without_a_restart(self, server: Server, shared: Doorward) -> None:
        assert shared("rooms", "create", "hall", "--recipe=casual-chat").code == 0
        assert shared("explain", "--room=hall", "recipe/list").code == 3
        file = shared.home / "recipes" / "casual-chat.json"
        file.write_text(file.read_text().replace('"enabled": false', '"enabled": true, "whitelist": ["recipe/list"]'))
        wait_until(lambda: shared("explain", "--room=hall", "recipe/list").code == 0, AT_LEISURE)
        told = shared("explain", "--room=hall", "recipe/list")
        assert told.json["rule"] == 'recipe casual-chat: whitelist "recipe/list"'

    @pytest.mark.parametrize("host", ["evil.example", "a/?x=", "127.0.0.1.evil.example", "user@localhost", ""])
    def test_a_host_that_is_not_ours_is_refused(self, host: str, server: Server) -> None:
        status, body = get(server, "/health", {"Host": host})
        assert status in (400, 403)
        assert '"version"' not in body

    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example"])
    def test_a_page_of_another_origin_is_refused(self, origin: str, server: Server) -> None:
        status, body = get(server, "/health", {"Origin": origin})
        assert status == 403
        assert "another origin" in body

    def test_the_address_for_everybody_runs_nothing_without_a_token(self, server: Server) -> None:
        assert get(server, "/api/rooms")[0] == 401
        assert get(server, "/api/rooms", {"Authorization": "Bearer x"})[0] == 401

    def test_only_the_owner_may_open_the_socket(self, server: Server, shared: Doorward) -> None:
        mode = (shared.home / "doorward.sock").stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) & 0o077 == 0

    def test_a_second_server_is_told_who_holds_the_home(self, server: Server, shared: Doorward) -> None:
        ended = shared("up", "--port=0")
        assert ended.code == 3
        assert f"This home folder is in use by process {server.process.pid}." in ended.err
        assert f"Doorward is already running: http://{server.host}:{server.port}." in ended.err


def test_a_signal_ends_it_in_good_order(doorward: Doorward) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with doorward.up() as server:
            assert (doorward.home / "doorward.sock").exists()
            server.process.send_signal(number)
            out, err = server.process.communicate(timeout=PATIENCE)
            assert (server.process.returncode, err) == (0, "")
            assert out.endswith("Doorward has stopped.\n")
        assert not (doorward.home / "doorward.sock").exists()


def test_what_it_tells_to_type_works_where_doorward_is_not_on_the_path(doorward: Doorward) -> None:
    doorward.env["PATH"] = "/usr/bin:/bin"
    with doorward.up() as server:
        assert f"  {BIN / 'doorward'} audit tail" in server.said


def test_the_owner_can_stop_it_from_the_terminal(doorward: Doorward) -> None:
    with doorward.up() as server:
        assert doorward("run", "--as=me", "--room=", "system/shutdown", "--reason=tea").code == 0
        assert server.process.wait(PATIENCE) == 0
    assert doorward("status").json["result"]["process"] != server.process.pid


def test_after_it_was_killed_the_terminal_goes_on_without_it(doorward: Doorward) -> None:
    with doorward.up() as server:
        server.process.kill()
        server.process.wait(PATIENCE)
    assert (doorward.home / "doorward.sock").exists()
    assert doorward("run", "data/count", "--collection=rooms").code == 0
    with doorward.up() as server:
        assert doorward("status").json["result"]["process"] == server.process.pid


def test_a_port_in_use_names_the_process(doorward: Doorward) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = doorward("up", "--port", str(port))
    assert ended.code == 5
    assert f"Port {port} on 127.0.0.1 is in use by process {os.getpid()} (" in ended.err
    assert f"doorward up --port {port + 1}" in ended.err
    assert f"The home folder was created: {doorward.home}" in ended.err


def test_a_home_folder_with_a_very_long_path_works(tmp_path: Path) -> None:
    """Longer than the path of a socket may be."""
    home = tmp_path.joinpath(*["a-folder-with-a-rather-long-name" * 4] * 3, "home")
    home.parent.mkdir(parents=True)
    assert len(str(home)) > 300
    doorward = Doorward(home)
    with doorward.up() as server:
        assert doorward("status").json["result"]["process"] == server.process.pid
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0
    assert not (home / "doorward.sock").exists()
    assert doorward("status").code == 0


def test_an_address_that_is_none_is_said_in_words() -> None:
    with pytest.raises(Unusable, match=r"^Cannot listen on 203\.0\.113\.1:0: [A-Z][a-z ]+\.$"):
        listen("203.0.113.1", 0)
