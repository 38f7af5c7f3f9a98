"""`doorward servers`, as a person and as a script use it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
import pytest

from doorward.cli.servers import command
from doorward.core.errors import NotFound, Unusable
from doorward.upstream.server_file import SERVERS_SCHEMA
from doorward_process import Doorward

ECHO = Path(__file__).with_name("fault_server.py")
PYTHON = sys.executable


@pytest.fixture
def doorward(tmp_path: Path) -> Doorward:
    return Doorward(tmp_path / "home")


@pytest.fixture(scope="module")
def echoing(tmp_path_factory: pytest.TempPathFactory) -> Doorward:
    """A home with one server that works and one that does not."""
    doorward = Doorward(tmp_path_factory.mktemp("echoing") / "home")
    doorward.home.mkdir(mode=0o700)
    words = doorward.folder / "words"
    words.write_text("Says what it is told.")
    args = [str(ECHO), "--describe", str(words)]
    works = {"id": "echo", "command": PYTHON, "args": args, "sandbox": {"read": [str(ECHO), str(words)]}}
    fails = {"id": "gone", "command": PYTHON, "args": ["-c", "import sys; sys.exit('no luck today')"]}
    file_of(doorward).write_text(json.dumps({"servers": [works, fails]}))
    return doorward


def file_of(doorward: Doorward) -> Path:
    return doorward.home / "mcp-servers.json"


def test_where_there_is_none_a_person_is_told_how_to_add_one(doorward: Doorward) -> None:
    shown = doorward.on_terminal("doorward servers")
    assert (shown.code, "No MCP servers yet." in shown.out) == (0, True)
    assert "doorward servers import" in shown.out
    assert "doorward servers add" in shown.out
    assert f"The file {file_of(doorward)} does not exist." in shown.out
    file_of(doorward).write_text("{")
    broken = doorward.on_terminal("doorward run --as=me --room= mcp/servers")
    assert "There is no earlier version" in broken.out
    assert f"The file {file_of(doorward)} lists no servers." in broken.out


def test_a_server_is_added_by_what_starts_it_or_by_its_address(doorward: Doorward) -> None:
    (doorward.folder / "notes").mkdir()
    options = ["--read", "notes", "--write", "~/w", "--network", "--env", "A=b=c", "--tier", "code", "--tool", "t*"]
    assert doorward("servers", "add", "one", *options, "--", "npx", "-y", "x", "--flag").code == 0
    web = ["--url", "https://x.example/mcp", "--header", "X-Team=blue", "--bearer", "${TEAM_TOKEN}"]
    added = doorward("servers", "add", "two", *web)
    assert "TEAM_TOKEN, which is not set" in added.json["result"]["notes"][0]
    assert json.loads(file_of(doorward).read_text())["servers"] == [
        {
            "id": "one",
            "command": "npx",
            "args": ["-y", "x", "--flag"],
            "env": {"A": "b=c"},
            "sandbox": {"read": [str(doorward.folder / "notes")], "write": ["~/w"], "network": True},
            "tier": "code",
            "tools": ["t*"],
        },
        {
            "id": "two",
            "url": "https://x.example/mcp",
            "headers": {"X-Team": "blue"},
            "auth": {"type": "bearer", "token": "${TEAM_TOKEN}"},
        },
    ]


@pytest.mark.parametrize(
    "words", [["one"], ["one", "--url", "https://x", "--", "x"], ["one", "--env", "A", "--", "x"], ["one", "--nope"]]
)
def test_a_line_that_cannot_be_meant_is_refused_before_anything_is_asked(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOORWARD_HOME", str(tmp_path / "home"))
    with pytest.raises(click.UsageError):
        command.main(["add", *words], standalone_mode=False)
    assert not (tmp_path / "home").exists()


def test_a_server_is_tried_and_its_tools_are_listed(echoing: Doorward) -> None:
    tested = echoing.on_terminal("doorward servers test echo")
    assert (tested.code, "echo works after" in tested.out) == (0, True)
    shown = echoing.on_terminal("doorward run --as=me --room= mcp/tools --server=echo")
    assert ["mcp/echo/echo", "system", "each", "call"] in [line.split()[:4] for line in shown.out.splitlines()]


def test_a_tool_that_changed_is_approved_after_a_look_at_the_change(echoing: Doorward) -> None:
    echoing("servers", "tools", "echo")
    (echoing.folder / "words").write_text("Says it, and more.")
    assert echoing("servers", "restart", "echo").json["result"]["changed"] == 1
    shown = echoing.on_terminal("doorward servers approve echo", "y\n")
    assert shown.code == 0
    for told in ("-description: Says what it is told.", "+description: Says it, and more.", "Approved: echo."):
        assert told in shown.out
    nothing = echoing("servers", "approve", "echo")
    assert (nothing.code, nothing.json["result"]["effect"]["tools"]) == (0, []), "a script reads that nothing waits"


def test_approving_for_a_server_that_there_is_not_says_so(echoing: Doorward) -> None:
    told = echoing("servers", "approve", "nope", "--json").json
    assert (told["status"], told["code"], told["retry"]) == ("refused", "not_found", "after_fix")
    assert told["text"].startswith("Command failed: There is no server 'nope'; known servers: ")


def test_one_that_does_not_work_says_why_and_ends_so(echoing: Doorward) -> None:
    shown = echoing.on_terminal("doorward servers test gone")
    assert (shown.code, "gone fails after" in shown.out, "no luck today" in shown.out) == (1, True, True)


def test_a_person_sees_what_an_import_reaches_and_says_yes(doorward: Doorward) -> None:
    notes = doorward.folder / "notes"
    notes.mkdir()
    client = doorward.folder / ".config" / "Claude" / "claude_desktop_config.json"
    client.parent.mkdir(parents=True)
    client.write_text(
        json.dumps(
            {
                "mcpServers": {
                    "filesystem": {
                        "command": "npx",
                        "args": ["-y", "@modelcontextprotocol/server-filesystem", str(notes)],
                    },
                    "github": {
                        "command": "npx",
                        "args": ["-y", "x"],
                        "env": {"GITHUB_TOKEN": "ghp_plainplainplain1234"},
                    },
                    "doorward": {"command": "doorward", "args": ["mcp", "--room", "general"]},
                },
            }
        )
    )
    refused = doorward.on_terminal("doorward servers import", "n\n")
    assert (refused.code, file_of(doorward).exists()) == (1, False)
    for told in (f"reads     {notes}", "writes    nothing", "network   yes", "in plain text", "it is Doorward itself"):
        assert told in refused.out
    assert "ghp_plain" not in refused.out
    done = doorward.on_terminal("doorward servers import", "y\n")
    assert (done.code, f"Added filesystem, github to {file_of(doorward)}" in " ".join(done.out.split())) == (0, True)
    assert file_of(doorward).stat().st_mode & 0o777 == 0o600


def test_a_script_must_say_yes(doorward: Doorward) -> None:
    client = doorward.folder / "mcp.json"
    client.write_text('{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}')
    planned = doorward("servers", "import", str(client), "--only", "a")
    assert (planned.code, [one["id"] for one in planned.json["result"]["effect"]["items"]]) == (1, ["a"])
    assert "Add --yes" in planned.err
    assert not file_of(doorward).exists()
    done = doorward("servers", "import", str(client), "--only", "a", "--yes")
    assert (done.code, [one["id"] for one in done.json["result"]["items"]]) == (0, ["a"])


def test_a_file_without_servers_and_a_machine_without_clients_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DOORWARD_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    odd = tmp_path / "odd.json"
    odd.write_text("{}")
    with pytest.raises(Unusable, match="names no MCP server"):
        command.main(["import", str(odd)], standalone_mode=False)
    with pytest.raises(NotFound, match="in the MCP clients on this machine"):
        command.main(["import"], standalone_mode=False)
    assert not (tmp_path / "home").exists()


def test_the_schema_is_printed_for_editors(capsys: pytest.CaptureFixture[str]) -> None:
    command.main(["schema"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out) == SERVERS_SCHEMA
