"""Servers of MCP clients are taken over in their sense, and what each may reach is decided and said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from doorward.core.errors import Unusable
from doorward.upstream import inferred_grants
from doorward.upstream.client_conversion import ConvertedEntry, convert_entry
from doorward.upstream.client_files import ClientMachine, find_client_file
from doorward.upstream.client_import import find_in_clients, find_in_file, find_missing
from doorward.upstream.config import ServerConfig, ServerSandbox, ServersConfig
from doorward.upstream.server_entry import make_id
from doorward.upstream.server_file import parse_servers
from doorward.upstream.variables import describe_plain_secrets

TIME = {"command": "uvx", "args": ["mcp-server-time"]}


def written(folder: Path, name: str, value: Any) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return file


def programs(folder: Path, *names: str) -> Path:
    """A folder with programs of these names."""
    for name in names:
        (folder / name).touch(0o755)
    return folder


def ours(entry: dict[str, Any], client: str = "", file: str = "") -> ConvertedEntry:
    return convert_entry("tool", entry, client=client, file=file)


def usable(converted: ConvertedEntry) -> bool:
    """Whether Doorward's own file takes it."""
    parse_servers(json.dumps({"servers": [{"id": converted.id, **converted.entry}]}).encode(), "f", {})
    return True


class TestFormats:
    @pytest.mark.parametrize(
        ("name", "value", "found"),
        [
            ("claude_desktop_config.json", {"mcpServers": {"time": TIME}, "globalShortcut": ""}, ["time"]),
            (".claude.json", {"mcpServers": {"a": TIME}, "projects": {"/p": {"mcpServers": {"b": TIME}}}}, ["a", "b"]),
            ("mcp.json", '{\n  // ours\n  "servers": {"time": {"command": "uvx",},},\n  "inputs": []\n}', ["time"]),
            ("settings.json", {"mcp": {"servers": {"time": TIME}}}, ["time"]),
            ("settings.json", {"theme": "dark", "context_servers": {"time": TIME}}, ["time"]),
            ("config.toml", '[mcp_servers.time]\ncommand = "uvx"\n[mcp_servers.time.env]\nA = "b"\n', ["time"]),
            ("mcp-servers.json", {"servers": [{"id": "time", **TIME}]}, ["time"]),
            ("plain.json", {"time": TIME, "web": {"url": "https://x.example"}}, ["time", "web"]),
        ],
    )
    def test_each_is_found_as_its_client_writes_it(
        self, tmp_path: Path, name: str, value: Any, found: list[str]
    ) -> None:
        assert [one.name for one in find_in_file(written(tmp_path, name, value))] == found

    @pytest.mark.parametrize(
        ("name", "text", "why"),
        [
            ("mcp.json", "{", "line 1"),
            ("mcp.json", '{"theme": "dark"}', "names no MCP server"),
            ("mcp.json", "[]", "names no MCP server"),
            ("config.toml", "[mcp_servers", "cannot be imported"),
            ("mcp.json", '{"a": "\\ud800"}', "cannot be imported"),
        ],
    )
    def test_what_cannot_be_read_is_said_with_the_file(self, tmp_path: Path, name: str, text: str, why: str) -> None:
        file = written(tmp_path, name, text)
        with pytest.raises(Unusable, match=why) as caught:
            find_in_file(file)
        assert str(file) in caught.value.message

    def test_a_folder_or_a_pipe_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(Unusable, match="not a regular file"):
            find_in_file(tmp_path)


class TestWhatAnEntryBecomes:
    def test_a_plain_one_stays_as_it_is(self) -> None:
        found = convert_entry("My Time", {**TIME, "env": {"TZ": "UTC"}})
        assert (found.id, found.entry) == ("my-time", {"name": "My Time", **TIME, "env": {"TZ": "UTC"}})
        assert (found.notes, found.skipped) == ((), "")

    @pytest.mark.parametrize(
        ("client", "text", "becomes"),
        [
            ("claude-code", "${KEY}", "${KEY}"),
            ("claude-code", "${KEY:-none}", "${KEY:-none}"),
            ("cursor", "Bearer ${env:KEY}", "Bearer ${KEY}"),
            ("vscode", "${userHome}/x", "${HOME}/x"),
            ("vscode", "${workspaceFolder}/x", "/p/x"),
            ("gemini", "$KEY", "${KEY}"),
            ("claude-desktop", "$KEY", "$KEY"),
            ("claude-desktop", "a$$b", "a$$$$b"),
            ("claude-desktop", "${not a variable}", "$${not a variable}"),
            ("claude-desktop", "${OWN}", "$${OWN}"),
            ("doorward", "$${X}", "$${X}"),
        ],
    )
    def test_variables_mean_what_they_mean_to_the_client(self, client: str, text: str, becomes: str) -> None:
        entry = {"command": "x", "args": [text], "env": {"OWN": "set in the entry itself"}}
        assert ours(entry, client, "/p/.vscode/mcp.json").entry["args"] == [becomes]

    def test_a_question_of_the_client_becomes_a_variable_and_a_note(self) -> None:
        found = ours(
            {"type": "http", "url": "https://x.example", "headers": {"Authorization": "Bearer ${input:gh-token}"}}
        )
        assert found.entry["headers"] == {"Authorization": "Bearer ${GH_TOKEN}"}
        assert found.notes == ("the client asks for 'gh-token': set the variable GH_TOKEN where Doorward runs",)

    def test_codex(self) -> None:
        found = ours(
            {"command": "x", "env_vars": ["A"], "startup_timeout_sec": 9, "tool_timeout_sec": 8, "enabled": False},
            "codex",
        )
        assert found.entry == {
            "command": "x",
            "env": {"A": "${A}"},
            "timeoutSeconds": 8.0,
            "startSeconds": 9.0,
            "enabled": False,
        }
        remote = ours(
            {
                "url": "https://x.example/mcp",
                "bearer_token_env_var": "T",
                "http_headers": {"X": "1"},
                "env_http_headers": {"Y": "V"},
                "enabled_tools": ["a"],
                "disabled_tools": ["b"],
            },
            "codex",
        )
        assert remote.entry == {
            "url": "https://x.example/mcp",
            "headers": {"X": "1", "Y": "${V}"},
            "auth": {"type": "bearer", "token": "${T}"},
            "tools": ["a"],
            "denyTools": ["b"],
        }
        assert usable(remote)

    def test_gemini(self) -> None:
        found = ours(
            {"httpUrl": "https://x.example/mcp", "timeout": 5_000, "trust": True, "includeTools": ["a"]}, "gemini"
        )
        assert found.entry == {"url": "https://x.example/mcp", "tools": ["a"], "timeoutSeconds": 5.0}
        assert found.notes == ("the client's automatic approvals were not imported: each call needs your approval",)

    def test_windsurf_and_zed(self) -> None:
        windsurf = ours({"serverUrl": "https://x.example/mcp", "disabledTools": ["rm"]}, "windsurf")
        assert windsurf.entry == {"url": "https://x.example/mcp", "denyTools": ["rm"]}
        zed = ours({"source": "custom", "command": {"path": "uvx", "args": ["a"], "env": {"B": "c"}}}, "zed")
        assert zed.entry == {"command": "uvx", "args": ["a"], "env": {"B": "c"}}
        assert "an extension of the client provides it" in ours({"source": "extension", "settings": {}}, "zed").skipped

    def test_what_a_client_approves_by_itself_is_not_taken_over(self) -> None:
        found = ours({**TIME, "autoApprove": ["*"], "alwaysAllow": ["x"]})
        assert "autoApprove" not in found.entry
        assert "each call needs your approval" in found.notes[0]

    def test_a_secret_in_plain_text_is_warned_of_and_not_repeated(self) -> None:
        found = ours({**TIME, "env": {"API_KEY": "abcdefgh", "SAFE_TOKEN": "${T}"}})
        assert found.notes == (
            "env has API_KEY in plain text, which is stored in Doorward's file; ${API_KEY} is better",
        )

    def test_what_a_server_may_do_is_not_for_the_file_to_say(self) -> None:
        terms = {"tier": "information", "cost": 0, "sampling": True, "sandbox": {"write": ["/srv"]}}
        for client in ("claude-code", "doorward"):
            found = ours({**TIME, **terms, "tools": {"now": {"autoApprove": True}}}, client=client)
            reach = {"sandbox": terms["sandbox"]} if client == "doorward" else {}
            assert found.entry == {**TIME, "tools": ["now"], **reach}
            assert "tier, cost, sampling" in found.notes[-1]
            assert "settings of single tools" in found.notes[-1]

    def test_what_has_no_meaning_here_is_named(self) -> None:
        assert ours({**TIME, "sandboxEnabled": True}).notes == (
            "not imported, as Doorward has no such field: 'sandboxEnabled'",
        )

    @pytest.mark.parametrize(
        ("entry", "why"),
        [
            ({"command": "/usr/bin/doorward", "args": ["mcp", "--room", "general"]}, "it is Doorward itself"),
            ({"url": "http://127.0.0.1:8642/mcp/general"}, "it is Doorward itself"),
            ({"type": "sse", "url": "https://x.example/sse"}, "the deprecated HTTP+SSE transport"),
            ({}, "neither a command nor a URL"),
            ({"cmd": "x"}, "valid: one of command, url, httpUrl, serverUrl; given 'cmd'; did you mean 'command'?"),
            ({"command": 3}, "one of them is not text"),
            ({"command": "x", "url": "https://x.example"}, "it has both"),
        ],
    )
    def test_what_cannot_be_taken_over_says_why(self, entry: dict[str, Any], why: str) -> None:
        assert why in ours(entry).skipped

    def test_a_client_may_hold_anything_at_all(self) -> None:
        for odd in (
            [],
            "text",
            {"args": "text"},
            {"args": [1, None], "env": {"A": 1, "B": None}},
            {"env": [], "cwd": 3},
        ):
            entry = {**TIME, **odd} if isinstance(odd, dict) else {"command": odd}
            converted = ours(entry)
            assert converted.skipped or usable(converted)


@pytest.mark.parametrize(
    ("name", "id"),
    [("GitHub", "github"), ("My_Files 2", "my_files-2"), ("7zip", "s-7zip"), ("日本", "server"), ("x" * 40, "x" * 31)],
)
def test_a_name_becomes_an_id_by_rule(name: str, id: str) -> None:
    assert make_id(name) == id


class TestReach:
    def test_it_may_read_what_it_is_told_of_and_nothing_else(self, tmp_path: Path) -> None:
        notes, home = tmp_path / "notes", tmp_path / "home"
        notes.mkdir()
        home.mkdir()
        entry = {"command": "server", "args": [str(notes), f"--dir={notes}", "/not/there", "/usr/share", "relative"]}
        found = inferred_grants.infer_grants(entry, home, {})
        assert (found.read, found.network) == ((str(notes),), False)
        assert found.notes == (f"it may read {notes}; to let it change files there, add them to sandbox.write",)

    def test_a_path_with_a_variable_is_granted_as_it_is_written(self, tmp_path: Path) -> None:
        (tmp_path / "notes").mkdir()
        found = inferred_grants.infer_grants(
            {"command": "x", "args": ["${HOME}/notes"]}, tmp_path / "home", {"HOME": str(tmp_path)}
        )
        assert found.read == ("${HOME}/notes",)

    def test_a_script_is_read_with_the_program_that_it_is_part_of(self, tmp_path: Path) -> None:
        here = {"HOME": str(tmp_path)}
        for name in ("mine/src/server.py", "plain/server.js", "npm/node_modules/@a/b/dist/index.js", "alone.py"):
            written(tmp_path, name, "")
        written(tmp_path, "mine/pyproject.toml", "")

        def read(name: str) -> tuple[str, ...]:
            return inferred_grants.infer_grants(
                {"command": "x", "args": [str(tmp_path / name)]}, tmp_path / "home", here
            ).read

        assert read("mine/src/server.py") == (str(tmp_path / "mine"),)
        assert read("plain/server.js") == (str(tmp_path / "plain"),)
        assert read("npm/node_modules/@a/b/dist/index.js") == (str(tmp_path / "npm" / "node_modules"),)
        assert read("alone.py") == (str(tmp_path / "alone.py"),)

    def test_nothing_that_shows_doorwards_own_folder_is_granted(self, tmp_path: Path) -> None:
        home = tmp_path / "home"
        (home / "logs").mkdir(parents=True)
        link = tmp_path / "link"
        link.symlink_to(tmp_path)
        found = inferred_grants.infer_grants(
            {"command": "x", "args": ["/", str(tmp_path), str(home / "logs"), str(link)]}, home, {}
        )
        assert found.read == ()
        assert all("which no program may see" in note for note in found.notes)
        assert len(found.notes) == 4

    @pytest.mark.parametrize("program", ["npx", "uvx", "/usr/local/bin/npx", "docker"])
    def test_what_fetches_itself_gets_the_network_and_it_is_said(self, tmp_path: Path, program: str) -> None:
        found = inferred_grants.infer_grants({"command": program}, tmp_path, {})
        assert found.network is True
        assert "network" in found.notes[0]

    def test_an_entry_of_ones_own_is_only_advised(self, tmp_path: Path) -> None:
        notes = tmp_path / "notes"
        notes.mkdir()
        entry = {"command": "npx", "args": [str(notes)]}
        environment = {"PATH": str(programs(tmp_path, "npx"))}
        assert inferred_grants.advise(entry, tmp_path / "home", environment) == [
            f"its arguments name {notes}, which it may not read; to allow it: --read {notes}",
            "npx downloads programs, but it may not use the network; to allow it: --network",
        ]
        granted = {**entry, "sandbox": {"write": [str(notes)], "network": True}}
        assert inferred_grants.advise(granted, tmp_path / "h", environment) == []

    def test_what_keeps_an_entry_from_working_is_said_when_it_is_added(self, tmp_path: Path) -> None:
        home, kept = tmp_path / "home", tmp_path / "kept"
        home.mkdir()
        kept.mkdir()
        granted = [str(home), str(tmp_path / "missing")]
        env = {"MEMORY_FILE_PATH": str(kept / "memory.json"), "LEVEL": "/"}
        entry = {"command": "nothing-like-it", "env": env, "sandbox": {"read": granted}}
        program, own, missing, memory = inferred_grants.advise(entry, home, {"PATH": str(tmp_path)})
        assert "there is no program nothing-like-it" in program
        assert own.startswith(f"{home} cannot be granted, so it will not start: it contains Doorward's own folder")
        assert missing == f"{tmp_path / 'missing'} does not exist, so it will not start"
        assert memory.endswith(f"memory.json, which it may not write; to allow it: --write {kept}")
        assert "older HTTP+SSE transport" in inferred_grants.advise({"url": "https://x.example/v1/sse"}, home, {})[0]

    def test_what_a_sandbox_hides_is_named_unless_it_came_from_a_variable(self, tmp_path: Path) -> None:
        seen, unseen, ours = (tmp_path / name for name in ("seen", "unseen", "ours"))
        for folder in (seen, unseen, ours):
            folder.mkdir()
        config = ServerConfig(id="a", name="a", command="x", args=(str(seen), str(unseen), str(ours)))
        config = replace(config, sandbox=ServerSandbox(read=(str(seen),)), secrets=(str(ours),))
        (sentence,) = inferred_grants.find_hidden_paths(config, tmp_path / "home", {})
        assert sentence.startswith(f"Its arguments name {unseen}, which is not visible")
        assert "sandbox.read" in sentence
        assert (
            inferred_grants.find_hidden_paths(ServerConfig(id="a", name="a", transport="http"), tmp_path / "home", {})
            == []
        )

    @pytest.mark.parametrize(
        "entry",
        [
            {"command": "x", "args": ["--access-token", "abcdefgh"]},
            {"command": "x", "args": ["--api-key=abcdefgh"]},
            {
                "command": "npx",
                "args": ["mcp-remote", "https://x.example/mcp", "--header", "Authorization: Bearer abcdefgh"],
            },
            {"command": "npx", "args": ["mcp-remote", "--header=X-Api-Key:abcdefgh"]},
            {"command": "docker", "args": ["run", "-e", "API_KEY=abcdefgh", "image"]},
            {"command": "x", "args": ["postgres://ada:abcdefgh@db.example/x"]},
            {"command": "x", "env": {"DATABASE": "postgres://ada:abcdefgh@db.example/x"}},
            {"url": "https://x.example/mcp?token=abcdefgh"},
            {"url": "https://x.example/mcp", "auth": {"type": "bearer", "token": "abcdefgh"}},
        ],
    )
    def test_a_secret_in_plain_text_is_found_wherever_it_stands(self, entry: dict[str, Any]) -> None:
        (note,) = describe_plain_secrets(entry)
        assert "in plain text" in note
        assert "abcdefgh" not in note
        assert describe_plain_secrets(json.loads(json.dumps(entry).replace("abcdefgh", "${SOME}"))) == []


class TestKnownClients:
    @pytest.fixture
    def machine(self, tmp_path: Path) -> ClientMachine:
        return ClientMachine("linux", tmp_path, tmp_path / "project")

    def test_all_of_them_are_looked_at_and_a_broken_file_spoils_none(
        self, machine: ClientMachine, tmp_path: Path
    ) -> None:
        written(tmp_path, ".cursor/mcp.json", {"mcpServers": {"a": TIME}})
        written(tmp_path, ".codex/config.toml", '[mcp_servers.b]\ncommand = "x"\n')
        written(tmp_path, ".config/zed/settings.json", {"context_servers": {"c": TIME}})
        written(tmp_path, "project/.mcp.json", {"mcpServers": {"d": TIME}})
        written(tmp_path, ".gemini/settings.json", "{")
        written(tmp_path, ".claude.json", {"numStartups": 1})
        found, problems = find_in_clients(machine, projects=True)
        assert {one.name: one.client for one in found} == {"a": "cursor", "b": "codex", "c": "zed", "d": "claude-code"}
        assert [".gemini/settings.json" in problem for problem in problems] == [True]
        assert "d" not in [one.name for one in find_in_clients(machine, projects=False)[0]]

    def test_what_is_here_already_and_doorward_itself_are_not_elsewhere(
        self, machine: ClientMachine, tmp_path: Path
    ) -> None:
        doorward = {"command": "doorward", "args": ["mcp"]}
        written(tmp_path, ".cursor/mcp.json", {"mcpServers": {"Here": TIME, "New": TIME, "doorward": doorward}})
        written(tmp_path, ".codeium/windsurf/mcp_config.json", {"mcpServers": {"new": TIME}})
        found = find_missing(ServersConfig(servers=(ServerConfig(id="here", name="Here"),)), machine)
        assert [(one.name, one.client) for one in found] == [("New", "cursor")]

    def test_zed_keeps_its_file_where_each_system_has_it(self) -> None:
        zed = find_client_file("zed").user
        assert zed(ClientMachine("darwin", Path("/Users/a"), Path("/p"))) == Path("/Users/a/.config/zed/settings.json")
        assert zed(ClientMachine("linux", Path("/home/a"), Path("/p"))) == Path("/home/a/.config/zed/settings.json")
