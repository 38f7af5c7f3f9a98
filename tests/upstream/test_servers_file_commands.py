"""mcp/add, remove, enable, disable and import: for people only, recorded without secrets, and undone (R7.6, R11.1)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from doorward.core.model import Outcome
from doorward.doors.http.applications import HttpApplications

SECRET = "geheim-4711-very-secret"
CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("mcp/add", {"id": "two", "command": "x"}),
    ("mcp/remove", {"id": "one"}),
    ("mcp/enable", {"id": "one"}),
    ("mcp/disable", {"id": "one"}),
    ("mcp/import", {"sources": [{"file": "f", "client": "", "servers": {"two": {"command": "x"}}}]}),
]
PROPOSABLE = ("mcp/remove", "mcp/enable", "mcp/disable")
"""Agents may ask for these, and a person decides."""


@pytest.fixture(autouse=True)
def _no_file_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MCP_CONFIG_PATH", "MCP_TOOL_APPROVAL", "MCP_AUTO_DISCOVERY"):
        monkeypatch.delenv(name, raising=False)


async def owner(driver: Any, name: str, /, **params: Any) -> Outcome:
    """As the owner, outside any room; some parameters here are called `command`."""
    outcome: Outcome = await driver.ask(name, by="", room="", params=params)
    assert outcome.status == "done", outcome
    return outcome


def file_of(driver: Any) -> Path:
    return Path(driver.house.home.path / "mcp-servers.json")


def ids(driver: Any) -> dict[str, bool]:
    return {one.id: one.enabled for one in driver.house.services.servers.servers.servers}


async def test_a_server_is_added_switched_off_and_on_and_removed(driver: Any) -> None:
    added = await owner(
        driver,
        "mcp/add",
        id="one",
        command="/bin/true",
        args=["x"],
        env={"A": "b"},
        read=["/srv"],
        tier="information",
        tools=["t*"],
    )
    assert (added.result["now"], added.result["file"], added.result["notes"]) == ("added", str(file_of(driver)), [])
    assert json.loads(file_of(driver).read_text()) == {
        "servers": [
            {
                "id": "one",
                "command": "/bin/true",
                "args": ["x"],
                "env": {"A": "b"},
                "sandbox": {"read": ["/srv"]},
                "tier": "information",
                "tools": ["t*"],
            }
        ]
    }
    assert file_of(driver).stat().st_mode & 0o777 == 0o600
    await owner(driver, "mcp/disable", id="one")
    assert ids(driver) == {"one": False}
    await owner(driver, "mcp/enable", id="one")
    assert ids(driver) == {"one": True}
    await owner(driver, "mcp/remove", id="one")
    assert ids(driver) == {}


async def test_each_change_is_undone_and_its_undo_too(driver: Any) -> None:
    await owner(driver, "mcp/add", id="one", command="x")
    text = file_of(driver).read_text()
    for command, params in CHANGES:
        changed = await owner(driver, command, **params)
        after = file_of(driver).read_text()
        if after == text:  # it was enabled already, so there is nothing to take back
            continue
        undone = await owner(driver, "undo", execution=changed.call)
        assert file_of(driver).read_text() == text
        await owner(driver, "undo", execution=undone.call)
        assert file_of(driver).read_text() == after
        file_of(driver).write_text(text)
        await driver.house.services.servers.load()


async def test_the_undo_of_the_first_change_takes_the_file_away(driver: Any) -> None:
    added = await owner(driver, "mcp/add", id="one", command="x")
    await owner(driver, "undo", execution=added.call)
    assert not file_of(driver).exists()
    assert ids(driver) == {}


async def test_what_somebody_changed_since_is_not_undone(driver: Any) -> None:
    added = await owner(driver, "mcp/add", id="one", command="x")
    mine = '{"servers": [{"id": "mine", "command": "y"}]}'
    file_of(driver).write_text(mine)
    refused = await driver.ask("undo", by="", room="", params={"execution": added.call})
    assert (refused.code, file_of(driver).read_text()) == ("conflict", mine)


@pytest.mark.parametrize(("command", "params"), CHANGES, ids=[command for command, _ in CHANGES])
async def test_no_agent_changes_servers_by_itself(driver: Any, command: str, params: dict[str, Any]) -> None:
    await owner(driver, "room/create", name="free", recipe="admin")
    asked = await driver.ask(command, by="helper", room="free", params=params)
    looked = await driver.ask(command, by="helper", room="free", params=params, dry_run=True)
    if command in PROPOSABLE:
        assert (asked.status, asked.rule) == ("parked", f"built-in: {command} needs approval")
    else:
        assert (asked.status, asked.rule) == ("refused", "built-in: only people")
        assert (looked.result["decision"], "effect" in looked.result) == ("refused", False)
    assert not file_of(driver).exists()


async def test_a_secret_is_in_the_file_and_nowhere_else(driver: Any) -> None:
    await owner(driver, "mcp/add", id="one", command="x", args=["--api-key", SECRET], env={"PLAIN": SECRET})
    await owner(driver, "mcp/add", id="two", url="https://x.example", headers={"X-Plain": SECRET})
    entry = {"command": "x", "args": ["--token", SECRET], "env": {"PLAIN": SECRET}}
    given = {"sources": [{"file": "f", "client": "", "servers": {"three": entry}}], "names": ["three"]}
    outcomes = [
        await driver.ask("mcp/import", by="", room="", params=given, dry_run=True),
        await owner(driver, "mcp/import", **given),
        await driver.ask("mcp/add", by="", room="", params={"id": "one", "command": "x", "env": {"A": SECRET}}),
        await driver.ask(
            "mcp/add", by="", room="", dry_run=True, params={"id": "four", "command": "x", "env": {"A": SECRET}}
        ),
    ]
    assert [outcome.status for outcome in outcomes] == ["done", "done", "failed", "done"]
    assert SECRET in file_of(driver).read_text()
    assert SECRET not in json.dumps([outcome.result for outcome in outcomes])
    assert SECRET not in json.dumps([outcome.text for outcome in outcomes])
    assert SECRET not in json.dumps(await driver.ledger(), default=str)
    assert "three" in json.dumps(await driver.ledger(), default=str)


async def test_a_dry_run_shows_the_entry_and_writes_nothing(driver: Any) -> None:
    params = {"id": "one", "command": "npx", "args": ["-y", "x"], "env": {"A": "b"}}
    shown = await driver.ask("mcp/add", by="", room="", params=params, dry_run=True)
    assert shown.result["effect"] == {
        "id": "one",
        "entry": {"command": "npx", "args": ["-y", "x"], "env": ["A"]},
        "notes": ["npx downloads programs, but it may not use the network; to allow it: --network"],
    }
    assert not file_of(driver).exists()


async def test_what_the_file_would_refuse_changes_nothing(driver: Any) -> None:
    await owner(driver, "mcp/add", id="one", command="x")
    text = file_of(driver).read_text()
    for params, why in (
        ({"id": "two"}, "neither a command nor a url"),
        ({"id": "two", "command": "npx -y x"}, "command: valid: one program"),
        ({"id": "two", "url": "ftp://x"}, "url: it is not a URL"),
        ({"id": "one", "command": "x"}, "The server 'one' exists already"),
        ({"id": "two", "command": "x", "read": ["relative"]}, "sandbox.read[0]: valid: an absolute path"),
    ):
        refused = await driver.ask("mcp/add", by="", room="", params=params)
        assert why in refused.message
        assert refused.status in ("failed", "refused")
    assert file_of(driver).read_text() == text


async def test_an_id_that_is_none_is_answered_with_one_that_would_be(driver: Any) -> None:
    refused = await driver.ask("mcp/add", by="", room="", params={"id": "My Notes", "command": "x"})
    assert refused.message == (
        "A server's id is a lower-case letter, then at most 30 lower-case letters, digits, hyphens and underscores, "
        "such as my-notes; given 'My Notes'."
    )
    assert refused.hint == ""


async def test_a_change_that_changes_nothing_says_so(driver: Any) -> None:
    await owner(driver, "mcp/add", id="one", command="/bin/true")
    first, again = [(await owner(driver, "mcp/disable", id="one")).result for _ in range(2)]
    assert (first["changed"], first["notes"]) == (True, [])
    assert (again["changed"], again["notes"]) == (False, ["It was already disabled."])


async def test_servers_of_one_name_from_two_clients_are_both_taken_over(driver: Any) -> None:
    sources = [
        {"file": "/a", "client": "cursor", "servers": {"db": {"command": "/bin/true", "args": ["a"]}}},
        {"file": "/b", "client": "zed", "servers": {"db": {"command": "/bin/true", "args": ["b"]}}},
        {"file": "/c", "client": "", "servers": {"db": {"command": "/bin/true", "args": ["b"]}}},
    ]
    done = (await owner(driver, "mcp/import", sources=sources)).result
    assert [(one["id"], one["file"]) for one in done["items"]] == [("db", "/a"), ("db-2", "/b")]
    assert done["items"][1]["notes"] == ["another server in this import is named db, so this one becomes db-2"]
    assert [one["why"] for one in done["skipped"]] == ["it is the same as db-2, which is added"]


async def test_a_broken_file_is_mended_by_people_and_not_from_here(driver: Any) -> None:
    file_of(driver).write_text('{"servers": [')
    refused = await driver.ask("mcp/add", by="", room="", params={"id": "one", "command": "x"})
    assert "is not valid" in refused.message
    assert file_of(driver).read_text() == '{"servers": ['
    file_of(driver).write_bytes(b'\xef\xbb\xbf{"servers": []}')
    await driver.house.services.servers.load()
    listed = (await owner(driver, "mcp/servers")).result
    assert "it starts with a byte order mark; save it as UTF-8 without one" in listed["problem"]
    assert "no server in it is connected" in listed["problem"]
    transport = httpx2.ASGITransport(app=HttpApplications(driver.house.gate, driver.house.services).public)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        health = (await client.get("/health")).json()
    assert (health["status"], health["problems"]) == ("degraded", 1)


async def test_an_import_says_what_each_may_reach_and_leaves_the_rest_alone(driver: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    file_of(driver).write_text('{"servers": [{"id": "there",   "command": "x"}]}')
    await driver.house.services.servers.load()
    servers = {
        "files": {"command": "npx", "args": ["-y", "server", str(notes)]},
        "there": {"command": "other"},
        "bad": {"url": "nowhere"},
        "key": {"url": "https://x.example/mcp", "headers": {"A": "${env:DOORWARD_NOT_SET}"}},
        "doorward": {"command": "doorward", "args": ["mcp"]},
    }
    done = await owner(driver, "mcp/import", sources=[{"file": "/c/mcp.json", "client": "cursor", "servers": servers}])
    files, key = done.result["items"]
    assert (files["id"], files["reads"], files["writes"], files["network"]) == ("files", [str(notes)], [], True)
    assert any("to let it change files there" in note for note in files["notes"])
    assert any("DOORWARD_NOT_SET, which is not set" in note for note in key["notes"])
    assert {one["name"]: one["why"] for one in done.result["skipped"]} == {
        "there": "a server there already exists and stays unchanged",
        "bad": "url: it is not a URL; valid: https:// or http://, a host, and a path",
        "doorward": "it is Doorward itself",
    }
    assert '{"id": "there",   "command": "x"}' in file_of(driver).read_text()
    assert ids(driver) == {"there": True, "files": True, "key": False}
    config = driver.house.services.servers.servers.servers[1]
    assert (config.sandbox.read, config.sandbox.network, config.auto_approve) == ((str(notes),), True, False)


async def test_a_map_of_clients_stays_a_map(driver: Any) -> None:
    file_of(driver).write_text('{"mcpServers": {"My Time": {"command": "x"}}}')
    await driver.house.services.servers.load()
    await owner(driver, "mcp/add", id="two", command="y")
    await owner(driver, "mcp/disable", id="my-time")
    assert json.loads(file_of(driver).read_text()) == {
        "mcpServers": {"My Time": {"command": "x", "enabled": False}, "two": {"command": "y"}}
    }


async def test_with_discovery_people_hear_of_servers_elsewhere_and_none_is_added(
    driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text('{"mcpServers": {"time": {"command": "uvx"}}}')
    assert (await owner(driver, "mcp/servers")).result["elsewhere"] == []
    file_of(driver).write_text('{"autoDiscoveryEnabled": true}')
    await driver.house.services.servers.load()
    shown = await owner(driver, "mcp/servers")
    place = str(tmp_path / ".cursor" / "mcp.json")
    assert shown.result["elsewhere"] == [{"name": "time", "client": "cursor", "file": place}]
    assert shown.result["items"] == []
    assert ids(driver) == {}
    assert file_of(driver).read_text() == '{"autoDiscoveryEnabled": true}'
