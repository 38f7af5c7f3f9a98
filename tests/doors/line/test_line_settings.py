"""The line door's variables, its audit log, its debug lines and its certificate."""

from __future__ import annotations

import json
import os
import ssl
import stat
from pathlib import Path

import msgspec
import pytest
import trustme

from doorward.config.settings import LineSettings, ServerSettings
from doorward.core.errors import Unusable
from doorward.doors.line.audit_log import AuditLog
from doorward.doors.line.door import open_line_door as door_opened
from doorward.doors.line.environment import VARIABLES, apply_environment
from waiting import until

SECRET = "correct-horse-battery"


def test_the_door_is_shut_unless_opened_and_then_for_this_machine_alone() -> None:
    assert (LineSettings().enabled, LineSettings().host, LineSettings().port) == (False, "127.0.0.1", 9000)
    assert (
        LineSettings().clients,
        LineSettings().idle_seconds,
        LineSettings().request_bytes,
        LineSettings().calls,
    ) == (10, 60.0, 16_384, 10)


def test_each_variable_stands_over_its_setting() -> None:
    given = {
        "USHELL_MCP_ENABLED": "1",
        "USHELL_MCP_PORT": "9001",
        "USHELL_MCP_DEBUG": "1",
        "USHELL_MCP_AUDIT_LOG": "/var/log/line.log",
        "USHELL_MCP_MAX_CLIENTS": "5",
        "USHELL_MCP_TIMEOUT": "90",
        "USHELL_MCP_CMD_TIMEOUT": "2.5",
        "USHELL_MCP_RATE_LIMIT": "100",
    }
    assert set(given) == set(VARIABLES)
    assert apply_environment(LineSettings(calls_seconds=60.0), given) == LineSettings(
        enabled=True,
        port=9001,
        debug=True,
        audit_log="/var/log/line.log",
        clients=5,
        idle_seconds=90.0,
        call_seconds=2.5,
        calls=100,
        calls_seconds=10.0,
    )


def test_without_variables_the_settings_hold_and_a_variable_can_switch_the_door_off() -> None:
    line = LineSettings(enabled=True, port=7)
    assert apply_environment(line, {"USHELL_MCP_PORT": "", "PATH": "/bin"}) == line
    assert apply_environment(line, {"USHELL_MCP_ENABLED": "0"}) == LineSettings(enabled=False, port=7)


@pytest.mark.parametrize("name", sorted(set(VARIABLES) - {"USHELL_MCP_AUDIT_LOG"}))
@pytest.mark.parametrize("value", ["x", "-1", "nan", "1e400", "99999999999", "1_0", "٣"])
def test_a_bad_value_is_refused_by_the_name_of_its_variable(name: str, value: str) -> None:
    with pytest.raises(Unusable, match=f"^The environment variable {name} must be ") as refusal:
        apply_environment(LineSettings(), {name: value})
    assert repr(value) in refusal.value.message


async def test_the_audit_log_tells_each_call_without_secrets_once_its_record_is_stored(line, tmp_path):
    file = tmp_path / "audit.log"
    async with line(audit_log=str(file)) as house:
        wire = await house.wire()
        await wire.called(1, "stage_login", {"user": "ann", "pin": SECRET})
        await wire.called(2, "stage_fail", {"name": "x"})
        await wire.called(3, "nothing", {"password": SECRET})
        calls = {row["call"] for row in await house.driver.ledger()}
    assert SECRET not in file.read_text()
    first, failed, unknown = [json.loads(text) for text in file.read_text().splitlines()]
    assert (first["client"], first["tool"], first["room"]) == ("127.0.0.1", "stage_login", "lab")
    assert first["arguments"] == {"user": "ann", "pin": "[redacted]"}
    assert first["result"] == {"status": "done", "code": "ok", "exit_code": None}
    assert first["execution_id"] in calls
    assert first["timestamp"].endswith("Z")
    assert failed["result"]["code"] == "command_failed"
    assert unknown["result"]["code"] == "unknown_command"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_full_audit_log_is_put_aside_and_the_last_three_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    log = AuditLog(str(file), 10_000)
    for n in range(200):
        log.write({"n": n, "filler": "x" * 400})
    log.close()
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["audit.log", "audit.log.1", "audit.log.2", "audit.log.3"]
    assert all(path.stat().st_size <= 10_000 for path in tmp_path.iterdir())
    assert json.loads(file.read_text().splitlines()[-1])["n"] == 199
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_an_audit_log_that_cannot_be_opened_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"^The audit log .* cannot be opened: No such file or directory\.$"):
        AuditLog(str(tmp_path / "no" / "folder"), 10_000)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(Unusable, match="cannot be opened"):
        AuditLog(str(tmp_path / "link"), 10_000)


def test_a_full_disk_under_the_audit_log_harms_no_call(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = AuditLog(str(tmp_path / "audit.log"), 10_000)
    os.close(log._descriptor)
    log._descriptor = os.open("/dev/full", os.O_WRONLY)
    for _ in range(3):
        log.write({"n": 1})
    log.close()
    assert [record.levelname for record in caplog.records] == ["WARNING"]


async def test_debugging_shows_requests_in_the_log_without_their_secrets(line, home):
    async with line(debug=True) as house:
        token = await house.driver.token("robot", kind="ai", rooms=["lab"])
        wire = await house.wire()
        await wire.asked("first", "initialize", {"token": token})
        await wire.called("second", "stage_login", {"user": "ann", "pin": SECRET}, notify="all")
        await wire.called("third", "nothing", {"password": SECRET})
    log = (home.path / "logs" / "doorward.log").read_text()
    assert "line door: first initialize" in log
    assert "line door: second call_tool" in log
    assert token not in log
    assert SECRET not in log


async def test_with_a_certificate_the_door_speaks_tls_and_nothing_else(line, tmp_path):
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    pem = tmp_path / "line.pem"
    issued.private_key_and_cert_chain_pem.write_to_path(pem)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    async with line(certificate=str(pem)) as house:
        wire = await house.wire(ssl=context)
        answer = await wire.called(1, "stage_quick", {"name": "a"})
        wire.call(2, "stage_hold", {"name": "b"})
        await house.stage.on("b")
        await wire.close()
        await until(lambda: not house.stage.running)
        plain = await house.wire()
        plain.raw('{"id":1,"method":"initialize"}')
        nothing = await plain.reader.read()
    assert answer["type"] == "response"
    assert b"result" not in nothing


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"certificate": "/nonexistent.pem"}, "The line door's certificate /nonexistent.pem cannot be used: No such"),
        ({"key": "/nonexistent.pem"}, "The setting line.key needs line.certificate, which is not set."),
    ],
)
async def test_a_certificate_that_cannot_be_used_stops_the_start(line, settings, says):
    with pytest.raises(Unusable) as refusal:
        async with line(**settings):
            pass
    assert refusal.value.message.startswith(says)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
async def test_the_port_of_the_http_door_is_not_taken_and_both_are_named(line, host):
    both = {"port": 8_642, "host": "127.0.0.1"}
    async with line() as house:
        services = house.house.services
        settings = msgspec.structs.replace(
            services.settings, line=LineSettings(**both), server=ServerSettings(**both | {"host": host})
        )
        with pytest.raises(Unusable, match="HTTP door and the line door have the same port 8642") as refusal:
            async with door_opened(house.house.gate, msgspec.structs.replace(services, settings=settings), {}):
                pass
    assert "doorward.toml, [line] port = 8643" in refusal.value.hint


async def test_a_port_in_use_names_the_process_and_the_setting(line):
    async with line() as house:
        services = house.house.services
        settings = msgspec.structs.replace(services.settings, line=LineSettings(port=house.port))
        taken = f"^Port {house.port} on 127.0.0.1 is in use by process {os.getpid()} "
        with pytest.raises(Unusable, match=taken) as refusal:
            async with door_opened(house.house.gate, msgspec.structs.replace(services, settings=settings)):
                pass
        assert f"doorward.toml, [line] port = {house.port + 1}" in refusal.value.hint
        given = {"USHELL_MCP_PORT": str(house.port)}
        with pytest.raises(Unusable, match=taken) as refusal:
            async with door_opened(house.house.gate, msgspec.structs.replace(services, settings=settings), given):
                pass
    assert f"set the environment variable USHELL_MCP_PORT to {house.port + 1}" in refusal.value.hint
