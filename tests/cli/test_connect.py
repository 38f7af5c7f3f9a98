"""`doorward connect`: each client's own file, changed only after a yes, and back to its very bytes."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from doorward.cli import main
from doorward.cli.clients.config_edit import plan_connect
from doorward.cli.clients.registry import CLIENTS, McpClientConfig, StdioEntry, find_client
from doorward.core.errors import Conflict, DoorwardError, Unusable
from doorward.upstream.client_files import TOKEN_VARIABLE, ClientMachine
from doorward_process import BIN, Doorward

IDS = [client.id for client in CLIENTS]
JSON_TEXT = '{\r\n\t"theme": "dark", // mine\r\n\t"%s": {\r\n\t\t"other": {"command": "x"},\r\n\t},\r\n}\r\n'
TOML_TEXT = '# mine\nmodel = "x"\n\n[%s.other]\ncommand = "x" # why\n'


def connect(*args: str) -> Result:
    """As in a pipe, where there is nobody to ask."""
    return CliRunner().invoke(main.cli, ["connect", *args])


def file_of(id: str) -> Path:
    return find_client(id).user(ClientMachine.current())


def entry_in(client: McpClientConfig, file: Path, name: str = "doorward") -> Any:
    text = file.read_text()
    return (tomllib.loads(text) if client.toml else json.loads(text))[client.container][name]


def snapshot(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".before-doorward-" not in path.name)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


class TestEveryClient:
    @pytest.mark.parametrize("id", IDS)
    def test_without_a_yes_nothing_is_written(self, id: str, account: Path) -> None:
        ended = connect(id)
        assert ended.exit_code == 1
        assert "+++ " in ended.stdout
        assert '"--room' in ended.stdout
        assert "Nothing was written" in ended.stderr
        assert snapshot(account) == {}
        assert not file_of(id).parent.exists() or file_of(id).parent == account

    @pytest.mark.parametrize("id", IDS)
    def test_a_file_is_made_where_there_was_none_and_removed_again(self, id: str, account: Path) -> None:
        assert connect(id, "--yes", "--room", "lab").exit_code == 0
        entry = entry_in(find_client(id), file_of(id))
        assert entry["command"] == str(BIN / "doorward")
        assert entry["args"] == ["mcp", "--room", "lab"]
        assert "env" not in entry
        again = connect(id, "--yes", "--room", "lab")
        assert (again.exit_code, again.stdout.startswith("Nothing to change")) == (0, True)
        assert connect(id, "--remove", "--yes").exit_code == 0
        assert snapshot(account) == {}
        assert "is not connected" in connect(id, "--remove", "--yes").stdout

    @pytest.mark.parametrize("id", IDS)
    def test_all_else_in_a_file_stays_and_removing_gives_its_very_bytes(self, id: str, account: Path) -> None:
        client, file = find_client(id), file_of(id)
        file.parent.mkdir(parents=True, exist_ok=True)
        before = ((TOML_TEXT if client.toml else JSON_TEXT) % client.container).encode()
        file.write_bytes(before)
        file.chmod(0o640)
        for room in ("general", "lab"):
            assert connect(id, "--yes", "--room", room).exit_code == 0
        after = file.read_bytes()
        assert all(line in after.splitlines() for line in before.splitlines())
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        copies = sorted(file.parent.glob(f"{file.name}.before-doorward-*"))
        assert len(copies) == 2
        assert {copy.read_bytes() for copy in copies} >= {before}
        assert {stat.S_IMODE(copy.stat().st_mode) for copy in copies} == {0o640}
        assert connect(id, "--remove", "--yes").exit_code == 0
        assert file.read_bytes() == before

    @pytest.mark.parametrize("id", IDS)
    def test_a_file_that_cannot_be_read_is_left_alone(self, id: str, account: Path) -> None:
        file = file_of(id)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"{\n = broken")
        for args in ([], ["--remove"]):
            ended = connect(id, "--yes", *args)
            assert isinstance(ended.exception, Unusable)
            assert "was not changed" in str(ended.exception)
            assert re.search(r"line \d, column \d", str(ended.exception))
        assert snapshot(account) == {str(file.relative_to(account)): b"{\n = broken"}

    @pytest.mark.parametrize("id", [client.id for client in CLIENTS if client.project is not None])
    def test_a_project_has_a_file_of_its_own(self, id: str, account: Path) -> None:
        assert connect(id, "--yes", "--scope", "project", "--name", "house").exit_code == 0
        made = list(snapshot(account))
        assert len(made) == 1
        assert made[0].startswith("project/.")
        assert entry_in(find_client(id), account / made[0], "house")["args"][0] == "mcp"

    @pytest.mark.parametrize("id", [client.id for client in CLIENTS if client.http is not None])
    def test_by_address_the_token_stays_out_of_the_file_unless_asked_for(
        self, id: str, account: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(TOKEN_VARIABLE, "very-secret-token")
        assert connect(id, "--yes", "--http").exit_code == 0
        text = file_of(id).read_text()
        assert "http://127.0.0.1:8642/mcp/general" in text
        assert TOKEN_VARIABLE in text
        assert "very-secret-token" not in text
        ended = connect(id, "--yes", "--http", "--with-token")
        assert ended.exit_code == 0
        assert "very-secret-token" not in ended.output
        assert "anyone who can read the file can use it" in ended.stderr
        assert "Bearer very-secret-token" in file_of(id).read_text()


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "mcpServers": {\n    "a": {"env": {"API_KEY": "hush-hush"}}\n  }\n}\n',
        '{\n  "mcpServers": {\n    "a": {\n      "env": {\n        "API_KEY": "hush-hush"\n      }\n    }\n  }\n}\n',
        '{"mcpServers": {"a": {"env": {"API_KEY": "hush-hush"}}}}',
    ],
)
def test_secrets_of_other_servers_are_not_shown(text: str, account: Path) -> None:
    file_of("cursor").parent.mkdir()
    file_of("cursor").write_text(text)
    ended = connect("cursor", "--yes")
    assert "hush-hush" not in ended.output
    assert '"--room"' in ended.stdout
    assert file_of("cursor").read_text().count("hush-hush") == 1


def test_the_paths_are_those_of_each_system() -> None:
    home, folder = Path("/home/me"), Path("/work")
    mac, linux = ClientMachine("darwin", home, folder), ClientMachine("linux", home, folder)
    windows = ClientMachine("win32", home, folder, {"APPDATA": "/home/me/Roaming"})
    moved = ClientMachine(
        "linux", home, folder, {"XDG_CONFIG_HOME": "/x", "CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/d"}
    )
    found = {
        (id, machine.platform if machine is not moved else "moved"): str(find_client(id).user(machine))
        for id in IDS
        for machine in (mac, linux, windows, moved)
    }
    assert found["claude-desktop", "darwin"] == (
        "/home/me/Library/Application Support/Claude/claude_desktop_config.json"
    )
    assert found["claude-desktop", "linux"] == "/home/me/.config/Claude/claude_desktop_config.json"
    assert found["claude-desktop", "win32"] == "/home/me/Roaming/Claude/claude_desktop_config.json"
    assert found["vscode", "darwin"] == "/home/me/Library/Application Support/Code/User/mcp.json"
    assert found["vscode", "moved"] == "/x/Code/User/mcp.json"
    assert found["claude-code", "linux"] == "/home/me/.claude.json"
    assert found["claude-code", "moved"] == "/d/.claude.json"
    assert found["codex", "darwin"] == "/home/me/.codex/config.toml"
    assert found["codex", "moved"] == "/c/config.toml"
    assert found["cursor", "win32"] == "/home/me/.cursor/mcp.json"
    assert found["gemini", "linux"] == "/home/me/.gemini/settings.json"


def test_another_home_folder_is_named_and_the_usual_one_is_not(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOORWARD_HOME", str(account / "elsewhere"))
    assert connect("cursor", "--yes").exit_code == 0
    assert entry_in(find_client("cursor"), file_of("cursor"))["env"] == {"DOORWARD_HOME": str(account / "elsewhere")}


def test_started_as_a_module_it_is_written_down_as_a_module(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(account / "doorward" / "__main__.py")])
    entry = json.loads(connect("generic").stdout)["mcpServers"]["doorward"]
    assert [entry["command"], *entry["args"]] == [sys.executable, "-m", "doorward", "mcp", "--room", "general"]


def test_a_file_behind_a_symlink_is_changed_and_the_link_stays(account: Path) -> None:
    real, link = account / "dotfiles" / "mcp.json", file_of("cursor")
    real.parent.mkdir()
    link.parent.mkdir()
    real.write_text("{}")
    link.symlink_to(real)
    assert connect("cursor", "--yes").exit_code == 0
    assert link.is_symlink()
    assert entry_in(find_client("cursor"), real)
    assert connect("cursor", "--remove", "--yes").exit_code == 0
    assert real.read_text() == "{}"


def test_a_file_that_the_client_changed_meanwhile_is_left_alone(account: Path) -> None:
    file = account / "mcp.json"
    file.write_text("{}")
    change = plan_connect(find_client("cursor"), file, "doorward", StdioEntry("d", []).entry())
    file.write_text('{"new": 1}')
    with pytest.raises(Conflict, match="another program"):
        change.write()
    assert file.read_text() == '{"new": 1}'
    assert sorted(os.listdir(account)) == ["mcp.json", "project"]


@pytest.mark.parametrize("kind", ["folder", "fifo", "bytes"])
def test_what_is_no_text_file_is_left_alone(kind: str, account: Path) -> None:
    file = file_of("cursor")
    file.parent.mkdir()
    if kind == "folder":
        file.mkdir()
    elif kind == "fifo":
        os.mkfifo(file)
    else:
        file.write_bytes(b'{"a": "\xff"}')
    ended = connect("cursor", "--yes")
    assert isinstance(ended.exception, Unusable)
    assert str(file) in str(ended.exception)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["claude-desktop", "--http"], "does not support HTTP servers"),
        (["claude-desktop", "--scope", "project"], "no per-project configuration"),
        (["cursor", "--http", "--with-token"], f"{TOKEN_VARIABLE}, which is not set"),
        (["cursor", "--name", "a b"], "--name takes 1 to 63 letters"),
        (["cursor", "--room", "../x"], "--room takes 1 to 63 lower-case letters"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(args: list[str], said: str, account: Path) -> None:
    ended = connect(*args, "--yes")
    assert isinstance(ended.exception, DoorwardError)
    assert said in str(ended.exception)
    assert snapshot(account) == {}


def test_the_entry_can_be_printed_alone(account: Path) -> None:
    printed = tomllib.loads(connect("codex", "--print").stdout)
    assert printed["mcp_servers"]["doorward"]["args"] == ["mcp", "--room", "general"]
    assert json.loads(connect("vscode", "--print").stdout)["servers"]["doorward"]["type"] == "stdio"
    assert snapshot(account) == {}


def test_the_list_says_who_is_here_and_who_is_connected(account: Path) -> None:
    (account / ".gemini").mkdir()
    (account / ".codex").mkdir()
    (account / ".codex" / "config.toml").write_text("broken = ")
    assert connect("cursor", "--yes").exit_code == 0
    assert connect("claude-code", "--yes", "--scope", "project").exit_code == 0
    ended = connect()
    lines = {line.split()[0]: line for line in ended.stdout.splitlines()}
    assert set(lines) == {*IDS, "generic"}
    assert lines["cursor"].endswith(f"connected in {file_of('cursor')}")
    assert lines["claude-code"].endswith(f"connected in {account / 'project' / '.mcp.json'}")
    assert lines["gemini"].endswith("installed; connect it with: doorward connect gemini")
    assert lines["claude-desktop"].endswith("not installed")
    assert "config.toml was not changed" in lines["codex"]


def test_the_help_names_every_client_and_says_where_its_name_goes(account: Path) -> None:
    said = connect("--help").stdout
    assert "connect [OPTIONS] [CLIENT]\n" in said
    clients = " ".join(said.partition("CLIENT is ")[2].partition("You see")[0].split())
    assert clients == ", ".join(IDS) + ", or generic for any other."


def test_at_a_terminal_a_person_is_asked(tmp_path: Path) -> None:
    doorward = Doorward(tmp_path / ".doorward")
    no = doorward.on_terminal("doorward connect gemini", "n")
    assert no.code == 1
    assert "Make this change? [y/N]: n" in no.out
    assert not (tmp_path / ".gemini").exists()
    yes = doorward.on_terminal("doorward connect gemini", "y")
    assert yes.code == 0
    entry = json.loads((tmp_path / ".gemini" / "settings.json").read_text())["mcpServers"]["doorward"]
    assert entry == {"command": str(BIN / "doorward"), "args": ["mcp", "--room", "general"]}
    assert not (tmp_path / ".doorward").exists()
