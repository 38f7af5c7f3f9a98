"""Who a line client is, what it may do, and that its limits follow it from connection to connection (R8.2, R3.3)."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from doorward.doors.line import peer

PEER = ("127.0.0.1", 50_000)
OURS = ("127.0.0.1", 9_000)


async def test_initialize_says_who_is_asked_and_who_asks(line):
    async with line() as house:
        answer = await (await house.wire()).asked("1", "initialize", {})
    result = answer["result"]
    assert result["server"] == "Doorward"
    assert result["version"]
    assert result["client"] == {
        "id": "line",
        "kind": "service",
        "on_behalf_of": "owner",
        "tenant": "local",
        "room": "lab",
    }
    assert result["tools"] > 50


async def test_a_token_speaks_for_itself_in_initialize_and_beside_a_method(line):
    async with line() as house:
        await house.driver.owner("room/create", name="annex", recipe="stage")
        token = await house.driver.token("robot", kind="ai", rooms=["lab", "annex"])
        wire = await house.wire()
        first = await wire.asked(1, "initialize", {"token": token, "room": "annex"})
        called = await wire.called(2, "stage_quick", {"name": "a"})
        other = await (await house.wire()).asked(
            3, "call_tool", {"tool": "stage_quick", "args": {"name": "b"}}, token=token, room="annex"
        )
        rows = [row for row in await house.driver.ledger() if row["command"] == "stage/quick"]
    assert (first["result"]["client"]["id"], first["result"]["client"]["room"]) == ("robot", "annex")
    assert called["type"] == other["type"] == "response"
    assert {(row["caller"], row["room"], row["door"]) for row in rows} == {("robot", "annex", "line")}


async def test_a_token_that_is_not_valid_is_refused_whatever_account_the_client_has(line):
    async with line() as house:
        wire = await house.wire()
        first = await wire.asked(1, "initialize", {"token": "nonsense"})
        listed = await wire.asked(2, "list_tools", token="nonsense")
        called = await wire.asked(3, "call_tool", {"tool": "stage_quick", "args": {"name": "a"}}, token="e.y.J")
    assert {one["error"]["code"] for one in (first, listed, called)} == {"not_authenticated"}
    assert house.stage.seen == []


async def test_without_a_token_nobody_names_another_room(line):
    async with line() as house:
        wire = await house.wire()
        refused = await wire.asked(1, "initialize", {"room": "general"})
        same = await wire.asked(2, "initialize", {"room": "lab"})
    assert refused["error"]["message"].startswith("Without a token the room must be 'lab'; given")
    assert same["type"] == "response"


async def test_a_closed_door_takes_only_tokens(line):
    async with line(open=False) as house:
        token = await house.driver.token("robot", kind="ai", rooms=["lab"])
        wire = await house.wire()
        refused = [await wire.asked(1, "initialize"), await wire.asked(2, "list_tools")]
        refused.append(await wire.called(3, "stage_quick", {"name": "a"}))
        shown = await wire.asked(4, "initialize", {"token": token})
        called = await wire.called(5, "stage_quick", {"name": "b"})
    assert {one["error"]["code"] for one in refused} == {"not_authenticated"}
    assert "doorward token create" in refused[0]["error"]["hint"]
    assert shown["type"] == called["type"] == "response"
    assert house.stage.seen == ["b"]


@pytest.mark.parametrize(
    ("account", "says"),
    [(os.getuid() + 1, "belongs to another account of this machine"), (None, "not a visible process of this machine")],
)
async def test_without_a_token_only_programs_of_the_same_account_come_in(line, monkeypatch, account, says):
    monkeypatch.setattr("doorward.doors.line.peer.account", lambda theirs, ours: account)
    async with line() as house:
        wire = await house.wire()
        refused = await wire.called(1, "stage_quick", {"name": "a"})
    assert refused["error"]["code"] == "not_authenticated"
    assert says in refused["error"]["message"]
    assert house.stage.seen == []


def test_the_account_at_the_other_end_is_read_from_the_kernels_table() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        with socket.create_connection(listening.getsockname()) as client:
            server, theirs = listening.accept()
            ours = server.getsockname()
            assert peer.account(theirs, ours) == os.getuid()
            client.shutdown(socket.SHUT_WR)
            assert peer.account(theirs, ours) == os.getuid()
        assert peer.account(theirs, ours) is None
        server.close()
    assert peer.account(("192.0.2.1", 1), ours) is None


def test_an_address_is_the_same_in_both_families() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket(socket.AF_INET6) as client:
        client.connect(("::ffff:127.0.0.1", listening.getsockname()[1]))
        server, theirs = listening.accept()
        with server:
            assert peer.account(theirs, server.getsockname()) == os.getuid()


def _table(tmp_path: Path, *rows: str) -> tuple[Path, ...]:
    file = tmp_path / "tcp"
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    file.write_text(head + "".join(f"{row}\n" for row in rows))
    return (file,)


def test_an_end_that_its_process_has_closed_is_nobodys(tmp_path: Path) -> None:
    """The kernel shows such an end as root's; a server that runs as root must not take it for its own."""
    ends = "0100007F:C350 0100007F:2328"
    held = f"0: {ends} 01 00000000:00000000 00:00000000 00000000  1000        0 12345 1 0"
    orphan = f"0: {ends} 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0"
    ours = "0: 0100007F:2328 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 99 1 0"
    assert peer.account(PEER, OURS, _table(tmp_path, ours, held)) == 1000
    assert peer.account(PEER, OURS, _table(tmp_path, ours, orphan)) is None
    assert peer.account(PEER, OURS, _table(tmp_path, ours)) is None
    assert peer.account(PEER, OURS, (tmp_path / "no such table",)) is None


async def test_a_client_makes_so_many_calls_and_no_more_however_often_it_connects(line, clock):
    async with line(calls=10) as house:
        answers = []
        for n in range(15):
            wire = await house.wire()
            answers.append(await wire.called(n, "stage_quick", {"name": "same"}))
            await wire.close()
        wire = await house.wire()
        asked = await wire.asked("s", "get_execution_status", {"execution_id": 3})
        clock.advance(answers[10]["error"]["retry_after"] + 0.01)
        later = await wire.called("later", "stage_quick", {"name": "same"})
    assert [one["type"] for one in answers] == ["response"] * 10 + ["error"] * 5
    assert {one["error"]["code"] for one in answers[10:]} == {"too_fast"}
    assert answers[10]["error"]["retry"] == "later"
    assert asked["result"]["status"] == "completed"
    assert later["type"] == "response"


async def test_another_of_the_machines_own_addresses_is_no_other_client(line):
    async with line(calls=1) as house:
        first = await (await house.wire()).called(1, "stage_quick", {"name": "a"})
        second = await (await house.wire(local_addr=("127.0.0.2", 0))).called(2, "stage_quick", {"name": "a"})
    assert (first["type"], second["error"]["code"]) == ("response", "too_fast")


async def test_who_a_connection_is_lasts_until_another_token_is_shown(line):
    async with line() as house:
        token = await house.driver.token("robot", kind="ai", rooms=["lab"])
        wire = await house.wire()
        said = [await wire.asked(n, "initialize", {"token": token} if n == 1 else {}) for n in range(3)]
        await wire.called("x", "stage_quick", {"name": "a"})
        (row,) = [row for row in await house.driver.ledger() if row["command"] == "stage/quick"]
    assert [one["result"]["client"]["id"] for one in said] == ["line", "robot", "robot"]
    assert row["caller"] == "robot"


async def test_each_token_has_a_count_of_its_own(line):
    async with line(calls=2) as house:
        tokens = [await house.driver.token(name, kind="ai", rooms=["lab"]) for name in ("one", "two")]
        wire = await house.wire()
        answers = [
            await wire.asked(n, "call_tool", {"tool": "stage_quick", "args": {"name": str(n)}}, token=token)
            for n, token in enumerate([tokens[0], tokens[0], tokens[0], tokens[1]])
        ]
    assert [one["type"] for one in answers] == ["response", "response", "error", "response"]


async def test_a_program_may_repeat_a_call_that_an_agent_would_loop_in(line):
    async with line() as house:
        wire = await house.wire()
        program = [await wire.called(n, "stage_quick", {"name": "same"}) for n in range(4)]
        token = await house.driver.token("robot", kind="ai", rooms=["lab"])
        await wire.asked("i", "initialize", {"token": token})
        agent = [await wire.called(n, "stage_quick", {"name": "same"}) for n in range(3)]
    assert {one["type"] for one in program} == {"response"}
    assert agent[2]["error"]["code"] == "looping"
