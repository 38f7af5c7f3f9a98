"""`doorward connect` and entries that are there already: its own, those of people, and files that are no files."""

from __future__ import annotations

import json
import os
import signal
import socket
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from doorward.cli import main
from doorward.cli.clients.config_edit import merge_entry
from doorward.cli.clients.registry import find_client
from doorward.core.errors import BadParams, Conflict, NotFound, Unusable
from doorward.upstream.client_files import TOKEN_VARIABLE, ClientMachine, is_doorward_entry
from doorward_process import BIN, Doorward
from waiting import PATIENCE

PROGRAM = str(BIN / "doorward")
OURS = {"command": PROGRAM, "args": ["mcp", "--room", "general"]}
REMOTE = {"url": "http://127.0.0.1:8642/mcp/lab", "headers": {"Authorization": f"Bearer ${{env:{TOKEN_VARIABLE}}}"}}


def connect(*args: str) -> Result:
    return CliRunner().invoke(main.cli, ["connect", *args])


def put(id: str, text: str) -> Path:
    """The file of a client, with this in it."""
    file = find_client(id).user(ClientMachine.current())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def cursor(**servers: Any) -> Path:
    return put("cursor", json.dumps({"mcpServers": servers}, indent=2))


def held(file: Path, name: str = "doorward") -> Any:
    return json.loads(file.read_text())["mcpServers"][name]


@pytest.mark.parametrize(
    "entry",
    [
        OURS,
        {"command": "C:\\Tools\\doorward.exe", "args": ["mcp"]},
        {"command": "/usr/bin/python3", "args": ["-m", "doorward", "mcp", "--room", "general"]},
        {"command": "uvx", "args": ["doorward", "mcp", "--room", "general"]},
        {"command": "/usr/bin/pipx", "args": ["run", "--spec", "doorward @ file:///d", "doorward", "mcp"]},
        REMOTE,
        {"httpUrl": "https://example.org/mcp/lab", "headers": {"Authorization": f"Bearer ${TOKEN_VARIABLE}"}},
        {"url": "https://example.org/mcp/lab", "bearer_token_env_var": TOKEN_VARIABLE},
        {"url": "http://localhost:8642/mcp/lab", "headers": {"Authorization": "Bearer abc"}},
        {"url": "http://10.0.0.5:8642/mcp/lab", "headers": {"Authorization": "Bearer abc"}},
    ],
)
def test_what_starts_doorward_or_leads_to_it_is_ours(entry: Any) -> None:
    assert is_doorward_entry(entry, "http://10.0.0.5:8642")


@pytest.mark.parametrize(
    "entry",
    [
        5,
        {},
        {"command": "npx", "args": ["-y", "doorward-like", "mcp"]},
        {"command": "uvx", "args": ["doorward-like", "mcp"]},
        {"command": PROGRAM, "args": ["up"]},
        {"command": PROGRAM},
        {"command": "doorward-mine", "args": ["mcp"]},
        {"url": "https://example.org/mcp/lab", "headers": {"Authorization": "Bearer abc"}},
        {"url": "http://127.0.0.1:3845/mcp"},
        {"url": "http://[broken/mcp/lab"},
        {"url": 5},
    ],
)
def test_anything_else_is_not_ours(entry: Any) -> None:
    assert not is_doorward_entry(entry, "http://10.0.0.5:8642")


@pytest.mark.parametrize("entry", [{"command": "npx", "args": ["mine"]}, {"url": "https://example.org/mcp"}, 5])
def test_an_entry_of_somebody_else_is_neither_replaced_nor_taken_out(entry: Any, account: Path) -> None:
    file = cursor(doorward=entry)
    before = file.read_bytes()
    for args in ([], ["--http"], ["--remove"]):
        ended = connect("cursor", "--yes", *args)
        assert isinstance(ended.exception, Conflict)
        assert "--name NAME" in str(ended.exception)
        assert "'doorward' does not belong to Doorward" in str(ended.exception)
    assert [one.name for one in file.parent.iterdir()] == [file.name]
    assert file.read_bytes() == before
    assert connect("cursor", "--yes", "--name", "second").exit_code == 0
    assert (held(file), held(file, "second")) == (entry, OURS)


def test_what_a_person_added_to_our_entry_stays(account: Path) -> None:
    mine = {
        **OURS,
        "args": ["mcp", "--room", "general", "--as", "reviewer"],
        "env": {"DEBUG": "1", "DOORWARD_HOME": "/elsewhere"},
        "enabled": False,
        "timeout": 60,
        "type": "stdio",
    }
    file = cursor(doorward=mine)
    assert connect("cursor", "--yes", "--room", "lab").exit_code == 0
    changed = {**mine, "args": ["mcp", "--room", "lab", "--as", "reviewer"], "env": {"DEBUG": "1"}}
    assert held(file) == changed
    assert connect("cursor", "--yes", "--room", "lab").stdout.startswith("Nothing to change")
    assert connect("cursor", "--yes", "--http").exit_code == 0
    address = {**REMOTE, "url": "http://127.0.0.1:8642/mcp/general"}
    assert held(file) == {"enabled": False, "timeout": 60, **address}


def test_what_a_person_added_to_a_toml_table_stays(account: Path) -> None:
    file = put(
        "codex",
        f'[mcp_servers.doorward]\ncommand = "{PROGRAM}"\nargs = ["mcp", "--room", "general"]\n'
        "startup_timeout_sec = 20.5\nenabled = true\n\n"
        '[mcp_servers.doorward.env]\nDEBUG = "1"\n\n# mine\n[other]\nx = 1\n',
    )
    assert connect("codex", "--yes", "--room", "lab").exit_code == 0
    assert tomllib.loads(file.read_text()) == {
        "mcp_servers": {
            "doorward": {
                "command": PROGRAM,
                "args": ["mcp", "--room", "lab"],
                "startup_timeout_sec": 20.5,
                "enabled": True,
                "env": {"DEBUG": "1"},
            }
        },
        "other": {"x": 1},
    }
    assert "# mine" in file.read_text()


def test_a_token_in_the_file_gives_way_to_the_variable_and_other_headers_stay() -> None:
    there = {"url": "u", "headers": {"Authorization": "Bearer secret", "X-Mine": "1"}, "note": "n"}
    assert merge_entry(there, REMOTE) == {**REMOTE, "headers": {**REMOTE["headers"], "X-Mine": "1"}, "note": "n"}
    codex = {"url": "u", "http_headers": {"Authorization": "Bearer secret"}}
    assert merge_entry(codex, {"url": "v", "bearer_token_env_var": TOKEN_VARIABLE}) == {
        "url": "v",
        "bearer_token_env_var": TOKEN_VARIABLE,
    }


def test_an_inline_table_is_named_as_what_it_is(account: Path) -> None:
    text = 'model = "x"\nmcp_servers = { other = { command = "x" } }\n'
    file = put("codex", text)
    ended = connect("codex", "--yes")
    assert isinstance(ended.exception, Unusable)
    assert str(ended.exception) == (
        f"{file} was not changed: mcp_servers is an inline table, which cannot be extended; write it as"
        " [mcp_servers.NAME] tables, or copy the entry from --print."
    )
    assert file.read_text() == text


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {"doorward": %s}, "mcpServers": {}}',
        '{"mcpServers": {"doorward": %s, "doorward": {"command": "x"}}}',
    ],
)
def test_a_key_that_is_there_twice_makes_a_file_unreadable_for_every_purpose(text: str, account: Path) -> None:
    file = put("cursor", text % json.dumps(OURS))
    for args in (["--yes"], ["--remove", "--yes"]):
        ended = connect("cursor", *args)
        assert isinstance(ended.exception, Unusable)
        assert "occurs twice" in str(ended.exception)
    (line,) = [line for line in connect().stdout.splitlines() if line.startswith("cursor")]
    assert "occurs twice" in line
    assert file.read_text() == text % json.dumps(OURS)


@pytest.mark.parametrize("kind", ["folder", "fifo"])
def test_what_is_no_file_is_said_in_the_list_and_nothing_is_offered(kind: str, account: Path) -> None:
    file = account / ".cursor" / "mcp.json"
    file.parent.mkdir()
    if kind == "folder":
        file.mkdir()
    else:
        os.mkfifo(file)
    ended = connect()
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("cursor")]
    assert line.split(maxsplit=1)[1] == f"{file} was not changed: it is not a regular file."
    assert ended.stderr == ""


def test_a_link_that_leads_nowhere_is_refused_by_the_name_of_its_target(account: Path) -> None:
    link, target = account / ".cursor" / "mcp.json", account / "dotfiles" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(target)
    for args in ([], ["--remove"]):
        ended = connect("cursor", "--yes", *args)
        assert isinstance(ended.exception, Unusable)
        assert str(target) in str(ended.exception)
    assert not target.parent.exists()


def test_the_list_shows_our_entries_under_any_name_once_and_nobody_elses(
    account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(account)  # where the file for all projects is also that of the project
    file = cursor(second=OURS, third=REMOTE, other={"command": "x", "args": []})
    put("gemini", json.dumps({"mcpServers": {"doorward": {"command": "x"}}}))
    lines = {line.split()[0]: line for line in connect().stdout.splitlines()}
    assert lines["cursor"].endswith(f"connected in {file} as second and third")
    assert lines["gemini"].endswith("installed; connect it with: doorward connect gemini")


@pytest.mark.parametrize("option", ["--remove", "--yes", "--print", "--http"])
def test_an_option_for_a_client_needs_one(option: str, account: Path) -> None:
    ended = connect(option)
    assert ended.exit_code == 2
    assert "need a CLIENT" in ended.stderr


def test_for_any_other_client_there_is_nothing_to_take_out(account: Path) -> None:
    ended = connect("generic", "--remove")
    assert (ended.exit_code, ended.stdout.startswith("Nothing to remove")) == (0, True)


def test_where_no_server_runs_the_address_of_the_settings_is_written_and_that_is_said(account: Path) -> None:
    home = account / ".doorward"
    home.mkdir()
    (home / "doorward.toml").write_text("[server]\nport = 4321\n")
    with socket.socket() as unused:  # a server that was killed left an address where nobody listens
        unused.bind(("127.0.0.1", 0))
        (home / "address").write_text(f"http://127.0.0.1:{unused.getsockname()[1]}\n")
        ended = connect("generic", "--http")
    assert json.loads(ended.stdout)["mcpServers"]["doorward"]["url"] == "http://127.0.0.1:4321/mcp/general"
    assert "No server is running for this home folder" in ended.stderr
    (home / "doorward.toml").write_text("[server]\nport = 0\n")
    (home / "address").write_text("nonsense")
    assert isinstance(connect("generic", "--http").exception, BadParams)


def test_of_a_server_that_runs_its_address_is_written_and_its_rooms_are_known(
    account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doorward = Doorward(account / ".doorward")
    with doorward.up() as server:
        ended = connect("generic", "--http")
        url = json.loads(ended.stdout)["mcpServers"]["doorward"]["url"]
        assert (url, ended.stderr) == (f"http://127.0.0.1:{server.port}/mcp/general", "")
        refused = connect("cursor", "--yes", "--room", "nosuch")
        assert isinstance(refused.exception, NotFound)
        assert str(refused.exception) == "There is no room 'nosuch'; valid: general."
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE) == 0
    assert isinstance(connect("cursor", "--yes", "--room", "nosuch").exception, NotFound)
    assert not (account / ".cursor").exists()
    assert connect("cursor", "--yes").exit_code == 0


class Installed:
    """A package as it was installed, from a package index or from a place of its own."""

    def __init__(self, origin: Any = None) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return json.dumps(self.origin) if self.origin else None


FORK = {"url": "https://example.org/d.git", "vcs_info": {"vcs": "git", "requested_revision": "v2", "commit_id": "0"}}


@pytest.mark.parametrize(
    ("cache", "runner", "origin", "words"),
    [
        (".cache/uv/archive-v0/AbC", "uvx", None, ["doorward"]),
        (
            ".tmpQ/environments-v2/0123",
            "uvx",
            FORK,
            ["--from", "doorward @ git+https://example.org/d.git@v2", "doorward"],
        ),
        (".local/share/pipx/.cache/0123", "pipx", None, ["run", "doorward"]),
        (
            ".cache/pipx/0123",
            "pipx",
            {"url": "file:///d.whl"},
            ["run", "--spec", "doorward @ file:///d.whl", "doorward"],
        ),
    ],
)
def test_a_program_in_a_cache_is_started_by_the_runner_of_that_cache(
    account: Path, monkeypatch: pytest.MonkeyPatch, cache: str, runner: str, origin: Any, words: list[str]
) -> None:
    cached = account / cache / "bin" / "doorward"
    for program in (cached, account / "bin" / runner):
        program.parent.mkdir(parents=True)
        program.touch(0o700)
    monkeypatch.setattr("sys.argv", [str(cached)])
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed(origin))
    monkeypatch.setenv("PATH", str(account / "bin"))
    file = cursor(doorward=OURS)
    assert connect("cursor", "--yes").exit_code == 0
    assert held(file) == {"command": str(account / "bin" / runner), "args": [*words, "mcp", "--room", "general"]}
    assert connect("cursor", "--yes").stdout.startswith("Nothing to change")
    monkeypatch.setenv("PATH", str(account))
    before = file.read_text()
    ended = connect("cursor", "--yes")
    assert f"{cached} is in a cache that {runner} can empty at any time" in str(ended.exception)
    assert "Install Doorward first" in getattr(ended.exception, "hint", "")
    assert file.read_text() == before


def test_a_program_in_a_temporary_folder_is_pointed_out(account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(account))
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed())
    (account / "doorward").touch(0o700)
    monkeypatch.setattr("sys.argv", [str(account / "doorward")])
    assert f"{account}/doorward is in a temporary folder" in connect("cursor", "--print").stderr
    monkeypatch.setattr("sys.argv", [PROGRAM])
    assert "a temporary folder" not in connect("cursor", "--print").stderr
