"""Real coding clients work through Doorward, and with `doorward protect` their own tools ask the gate."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import node_peers
from doorward_process import Doorward, Ended
from scripted_models import DONE, TOOL_SEARCH, AnthropicModel, GeminiModel, OpenAiModel, ScriptedModel, Step
from waiting import PATIENCE

RECIPE = {
    "recipeId": "clients",
    "displayName": "Clients",
    "description": "Agents read, edit and run programs, and write files in the top folder only.",
    "strategy": {
        "aiCommands": {
            "enabled": True,
            "tiers": ["information", "code"],
            "whitelist": ["native/edit"],
            "parameterRules": {"file/write": {"path": {"glob": "*"}}},
            "maxCommandsPerResponse": 50,
            "maxCommandsPerMinute": 600,
        }
    },
}
FORBIDDEN = "does not fit this room's recipe"
NOT_ALLOWED = "native/shell (tier system) is not allowed by this room's recipe"


class Setting(NamedTuple):
    """A running Doorward, with a room whose workspace is the project."""

    doorward: Doorward
    project: Path

    def run_here(self, *words: str, **env: str) -> Ended:
        """Run `doorward` in the project."""
        doorward = Doorward(self.doorward.home, **env)
        doorward.folder = self.project
        return doorward(*words)

    def connect_and_protect(self, client: str) -> None:
        for words in (["connect", client, "--scope", "project", "--room", "project"], ["protect", client]):
            done = self.run_here(*words, "--yes")
            assert done.code == 0, done

    def run_client(self, *words: str | Path, **env: str) -> str:
        """Run a client in the project, with a home folder of its own, and return what it printed."""
        done = subprocess.run(
            words,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.doorward.folder), "LANG": "C.UTF-8", **env},
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done
        return done.stdout

    def list_records(self, client: str) -> list[tuple[str, str]]:
        """The commands and statuses of a client's calls in the ledger, in order, without starts."""
        filter = {"caller": client, "phase": {"$ne": "start"}}
        found = self.doorward(
            *("run", "--as=me", "--room=", "data/list", "--collection=audit", f"--filter={json.dumps(filter)}")
        )
        return [(one["command"], one["status"]) for one in found.json["result"]["items"]]

    def list_offered_tools(self) -> set[str]:
        """The tools that Doorward lists for an MCP client in this room."""
        asked: list[dict[str, Any]] = [
            {
                "method": "initialize",
                "id": 1,
                "params": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "lister", "version": "1"},
                },
            },
            {"method": "notifications/initialized"},
            {"method": "tools/list", "id": 2},
        ]
        lines = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in asked)
        answers = self.doorward("mcp", "--room", "project", stdin=lines).out.splitlines()
        listed = next(found for found in map(json.loads, answers) if found.get("id") == 2)
        assert "nextCursor" not in listed["result"]
        return {tool["name"] for tool in listed["result"]["tools"]}


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    folder = tmp_path_factory.mktemp("clients")
    doorward, project = Doorward(folder / "home"), folder / "project"
    project.mkdir()
    (project / "check.sh").write_text('test "$(cat sum.txt)" = 4 && echo the sum is right\n')
    assert doorward("init").code == 0
    (doorward.home / "recipes" / "clients.json").write_text(json.dumps(RECIPE))
    with doorward.serving():
        made = doorward(
            *("run", "--as=me", "--room=", "room/create"),
            *("--name=project", "--recipe=clients", f"--workspace={project}"),
        )
        assert made.code == 0, made
        yield Setting(doorward, project)


def list_steps(call: str, native: list[Step], namespace: str = "") -> list[Step]:
    """Edit a file and run a test through Doorward, try what the recipe forbids, then use the client's own tools."""
    return [
        Step(f"{call}file_write", {"path": "sum.txt", "content": "4\n"}, namespace),
        Step(f"{call}bash", {"command": "sh check.sh"}, namespace),
        Step(f"{call}file_write", {"path": "release/notes.txt", "content": "no"}, namespace),
        *native,
    ]


def check(setting: Setting, client: str, model: ScriptedModel, prefix: str) -> None:
    """What every client must show: the tools, the results of the steps, the files and the ledger."""
    assert {f"{prefix}{name}" for name in setting.list_offered_tools()} <= {*model.list_tools()}
    written, tested, forbidden, shell, edited = model.list_results()
    assert "sum.txt" in written
    assert "the sum is right" in tested
    assert FORBIDDEN in forbidden
    assert NOT_ALLOWED in shell
    assert NOT_ALLOWED not in edited
    assert not (setting.project / f"{client}-shell.txt").exists()
    assert (setting.project / f"{client}-edit.txt").read_text() == "native\n"
    calls = [call for call in setting.list_records(client) if call[0].startswith("native/")]
    assert calls == [("native/shell", "refused"), ("native/edit", "done")]


def test_claude_code_works_through_doorward_and_its_own_tools_ask_the_gate(setting: Setting) -> None:
    client = "claude-code"
    setting.connect_and_protect(client)
    native = [
        Step("Bash", {"command": f"touch {client}-shell.txt", "description": "Make a file"}),
        Step("Write", {"file_path": str(setting.project / f"{client}-edit.txt"), "content": "native\n"}),
    ]
    model = AnthropicModel(list_steps("mcp__doorward__", native))
    found = node_peers.package("@anthropic-ai", node_peers.CLIENTS).glob("claude-code-*/claude")
    with model.serving() as url:
        out = setting.run_client(
            *(next(found), "-p", "Go.", "--output-format", "stream-json", "--verbose"),
            *("--mcp-config", ".mcp.json", "--allowedTools", "mcp__doorward"),
            ANTHROPIC_BASE_URL=url,
            ANTHROPIC_API_KEY="sk-none",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
            ENABLE_TOOL_SEARCH="false",
        )
    assert json.loads(out.splitlines()[-1])["result"] == DONE
    check(setting, client, model, "mcp__doorward__")


def test_codex_works_through_doorward_and_its_own_tools_ask_the_gate(setting: Setting) -> None:
    client = "codex"
    setting.connect_and_protect(client)
    native = [
        Step("exec_command", {"cmd": f"touch {client}-shell.txt"}),
        Step("apply_patch", f"*** Begin Patch\n*** Add File: {client}-edit.txt\n+native\n*** End Patch"),
    ]
    search = Step(TOOL_SEARCH, {"query": "doorward", "limit": 1000})
    model = OpenAiModel([search, *list_steps("", native, "mcp__doorward")])
    home = setting.doorward.folder / ".codex"
    home.mkdir(exist_ok=True)
    with model.serving() as url:
        (home / "config.toml").write_text(
            'model = "gpt-5.5"\nmodel_provider = "scripted"\nweb_search = "disabled"\n'
            f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
            f'[projects."{setting.project}"]\ntrust_level = "trusted"\n'
        )
        out = setting.run_client(
            *(node_peers.NODE, node_peers.package("@openai/codex", node_peers.CLIENTS) / "bin" / "codex.js"),
            *("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"),
            *("--dangerously-bypass-approvals-and-sandbox", "Go."),
        )
    assert DONE in out
    check(setting, client, model, "mcp__doorward")
    bins = f"{node_peers.CLIENTS / 'node_modules' / '.bin'}:{node_peers.NODE.parent}"
    proof = setting.run_here("protect", client, "--verify", PATH=f"{bins}:/usr/bin:/bin")
    assert proof.code == 1
    assert proof.out.count("  proven  ") == 5
    assert "FAILED  Codex does not trust this hook and skips it" in proof.out


def test_gemini_cli_works_through_doorward_and_its_own_tools_ask_the_gate(setting: Setting) -> None:
    client = "gemini"
    setting.connect_and_protect(client)
    native = [
        Step("run_shell_command", {"command": f"touch {client}-shell.txt"}),
        Step("write_file", {"file_path": str(setting.project / f"{client}-edit.txt"), "content": "native\n"}),
    ]
    model = GeminiModel(list_steps("mcp_doorward_", native))
    home = setting.doorward.folder / ".gemini"
    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text(
        json.dumps(
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": False},
                "general": {"enableAutoUpdate": False},
            }
        )
    )
    program = node_peers.package("@google/gemini-cli", node_peers.CLIENTS) / "bundle" / "gemini.js"
    with model.serving() as url:
        out = setting.run_client(
            *(node_peers.NODE, program, "-p", "Go.", "-m", "gemini-2.5-pro"),
            *("--output-format", "stream-json", "--approval-mode", "yolo"),
            GEMINI_API_KEY="none",
            GOOGLE_GEMINI_BASE_URL=url,
            GEMINI_CLI_TRUST_WORKSPACE="true",
            GEMINI_CLI_NO_RELAUNCH="true",
        )
    assert DONE in out
    check(setting, client, model, "mcp_doorward_")
