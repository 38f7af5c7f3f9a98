"""`doorward protect` and `doorward hook`: files written and removed exactly, decisions, and every fault blocks."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doorward.cli.clients.hook_config import CLIENT_HOOKS
from doorward_process import BIN, Doorward, Ended
from waiting import PATIENCE

RECIPE: dict[str, Any] = {
    "recipeId": "judged",
    "displayName": "Judged",
    "description": "Native edits are allowed, native shell calls wait for a person.",
    "strategy": {
        "aiCommands": {
            "enabled": True,
            "tiers": ["information", "code"],
            "whitelist": ["native/edit", "native/shell"],
            "requireApproval": {"native/shell": True},
            "maxCommandsPerMinute": 600,
        }
    },
}
CLIENTS = [client.id for client in CLIENT_HOOKS]


class Project:
    """A folder that is the workspace of a room, beside a running Doorward."""

    def __init__(self, doorward: Doorward, folder: Path) -> None:
        self.doorward = doorward
        self.folder = doorward.folder = folder

    def run(self, *words: str) -> Ended:
        return self.doorward(*words)

    def run_hook(self, *words: str, stdin: str | bytes = "") -> Ended:
        """The real process, as a client starts it."""
        done = subprocess.run(
            [BIN / "doorward", "hook", *words],
            env=self.doorward.env,
            cwd=self.folder,
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=PATIENCE,
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def hook(self, client: str, tool: str, *options: str, room: str = "judged", **given: Any) -> Ended:
        event = {"hook_event_name": "PreToolUse", "cwd": str(self.folder), "tool_name": tool, "tool_input": given}
        return self.run_hook(client, f"--room={room}", "--wait=0", *options, stdin=json.dumps(event))

    def records(self, command: str) -> list[dict[str, Any]]:
        filter = {"door": "hook", "command": command}
        words = ["data/list", "--collection=audit", f"--filter={json.dumps(filter)}", "--orderBy=-id"]
        found = self.doorward("run", "--as=me", "--room=", *words).json["result"]["items"]
        assert isinstance(found, list)
        return found


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("protect")
    doorward, place = Doorward(folder / "home"), folder / "project"
    place.mkdir()
    assert doorward("init").code == 0
    (doorward.home / "recipes" / "judged.json").write_text(json.dumps(RECIPE))
    with doorward.serving():
        for room, recipe in (("judged", "judged"), ("strict", "coding")):
            made = doorward(
                *("run", "--as=me", "--room=", "room/create"),
                *(f"--name={room}", f"--recipe={recipe}", f"--workspace={place}"),
            )
            assert made.code == 0, made
        yield Project(doorward, place)


def decision(answer: Ended) -> dict[str, Any]:
    assert (answer.code, answer.err) == (0, ""), answer
    found = answer.json["hookSpecificOutput"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("client", CLIENT_HOOKS, ids=CLIENTS)
def test_a_hook_is_added_to_a_file_with_comments_and_removed_byte_for_byte(client: Any, project: Project) -> None:
    file = project.folder / client.project
    file.parent.mkdir(parents=True, exist_ok=True)
    before = f'{{\n  // mine\n  "other": [1, 2],\n  "hooks": {{"{client.events[0]}": [], "Stop": []}},\n}}\n'
    file.write_text(before)
    added = project.run("protect", client.id, "--room", "strict", "--yes")
    assert added.code == 0, added
    assert "stays outside the gate" in added.out
    text = file.read_text()
    assert f"doorward hook {client.id} --room=strict" in text
    assert "// mine" in text
    again = project.run("protect", client.id, "--room", "strict", "--yes")
    assert "Nothing to change" in again.out
    removed = project.run("protect", client.id, "--remove", "--yes")
    assert removed.code == 0, removed
    assert file.read_text() == before
    assert "Nothing to change" in project.run("protect", client.id, "--remove", "--yes").out
    file.unlink()


def test_a_file_that_doorward_made_is_deleted_and_foreign_hooks_stay(project: Project) -> None:
    file = project.folder / ".gemini" / "settings.json"
    file.unlink(missing_ok=True)
    assert project.run("protect", "gemini", "--room", "strict", "--yes").code == 0
    settings = json.loads(file.read_text())
    assert project.run("protect", "gemini", "--remove", "--yes").code == 0
    assert not file.exists()
    theirs = {"type": "command", "command": "lint"}
    settings["hooks"]["BeforeTool"][0]["hooks"].append(theirs)
    file.write_text(json.dumps(settings))
    assert project.run("protect", "gemini", "--remove", "--yes").code == 0
    assert json.loads(file.read_text())["hooks"]["BeforeTool"] == [{"matcher": "*", "hooks": [theirs]}]
    file.unlink()


def test_a_file_that_cannot_be_parsed_and_a_folder_without_a_room_are_errors(project: Project) -> None:
    file = project.folder / ".codex" / "hooks.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text("{")
    broken = project.run("protect", "codex", "--room", "strict", "--yes")
    assert broken.code != 0
    assert "cannot be parsed" in broken.err
    assert file.read_text() == "{"
    file.unlink()
    unknown = project.run("protect", "codex", "--room", "nowhere", "--yes")
    assert "There is no room 'nowhere'; valid: " in unknown.err
    outside = Doorward(project.doorward.home)("protect", "codex", "--yes")
    assert "No room has the workspace" in outside.err


def test_an_edit_in_the_workspace_is_allowed_and_recorded(project: Project) -> None:
    path = str(project.folder / "new.txt")
    answer = decision(project.hook("claude-code", "Write", file_path=path, content="key sk-ant-api03-" + "a" * 40))
    assert answer["permissionDecision"] == "allow"
    end, start = project.records("native/edit")[:2]
    assert (end["status"], end["call"], start["params"]["path"]) == ("done", start["call"], path)
    assert start["caller"] == "claude-code"
    assert "sk-ant-api03" not in json.dumps(start)


@pytest.mark.parametrize("name", [".git/hooks/pre-commit", ".claude/settings.local.json", "../elsewhere.txt"])
def test_an_edit_that_would_run_something_later_or_lies_outside_is_denied(name: str, project: Project) -> None:
    answer = decision(project.hook("claude-code", "Edit", file_path=str(project.folder / name), new_string="x"))
    assert answer["permissionDecision"] == "deny"
    assert project.records("native/edit")[0]["status"] != "done"


def test_a_patch_is_judged_for_every_file_that_it_names(project: Project) -> None:
    patch = "*** Begin Patch\n*** Add File: ok.txt\n+x\n*** Update File: .git/config\n@@\n-a\n+b\n*** End Patch"
    assert decision(project.hook("codex", "apply_patch", command=patch))["permissionDecision"] == "deny"
    started = [one for one in project.records("native/edit") if one["phase"] == "start"]
    assert [Path(one["params"]["path"]).name for one in started[:2]] == ["config", "ok.txt"]


def test_a_tool_that_nobody_knows_is_denied_and_a_planning_tool_or_our_own_is_left_alone(project: Project) -> None:
    denied = decision(project.hook("claude-code", "LaunchRocket", target="moon"))
    assert "native/tool (tier system) is not allowed" in denied["permissionDecisionReason"]
    assert project.hook("claude-code", "TodoWrite", todos=[]).json == {}
    assert project.hook("claude-code", "mcp__doorward__bash", command="true").json == {}
    assert project.hook("claude-code", "mcp__other__push", branch="main").json != {}


@pytest.mark.parametrize(
    ("client", "answer"),
    [
        ("gemini", {"decision": "deny"}),
        ("cursor", {"permission": "deny"}),
        ("vscode", {"hookEventName": "PreToolUse", "permissionDecision": "deny"}),
    ],
)
def test_each_client_gets_the_answer_that_it_understands(client: str, answer: dict[str, str], project: Project) -> None:
    said = project.hook(client, "WebFetch", url="https://example.com").json
    assert answer.items() <= said.get("hookSpecificOutput", said).items()


def test_a_call_that_needs_approval_waits_for_it_and_is_denied_without_one(project: Project) -> None:
    denied = decision(project.hook("claude-code", "Bash", command="make"))
    assert "Nobody has approved it yet" in denied["permissionDecisionReason"]
    with subprocess.Popen(
        [BIN / "doorward", "hook", "claude-code", "--room=judged", "--wait=60"],
        env=project.doorward.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as waiting:
        assert waiting.stdin is not None
        event = {"cwd": str(project.folder), "tool_name": "Bash", "tool_input": {"command": "make again"}}
        waiting.stdin.write(json.dumps(event).encode())
        waiting.stdin.close()
        approve_when_asked(project, "make again")
        assert waiting.stdout is not None
        answer = json.loads(waiting.stdout.read())["hookSpecificOutput"]
    assert answer["permissionDecision"] == "allow"
    assert project.records("native/shell")[0]["status"] == "done"


def approve_when_asked(project: Project, text: str) -> None:
    for _ in range(200):
        waiting = project.doorward("approvals", "list", "--json").json
        for one in waiting["result"]["items"]:
            if text in json.dumps(one) and one["state"] == "pending":
                assert project.doorward("approvals", "approve", one["id"]).code == 0
                return
    raise AssertionError("no approval was asked for")


def test_in_sandbox_mode_a_shell_call_is_replaced_by_one_that_passes_the_gate(project: Project) -> None:
    script = """echo "it's $((20 + 3))" > sum.txt; cat sum.txt"""
    answer = decision(
        project.hook("claude-code", "Bash", "--mode=sandbox", room="judged", command=script, description="Add")
    )
    assert answer["updatedInput"]["description"] == "Add"
    line = answer["updatedInput"]["command"]
    done = subprocess.run(["/bin/sh", "-c", line], cwd=project.folder, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "it's 23\n"), done
    assert (project.folder / "sum.txt").read_text() == "it's 23\n"
    filter = {"command": "bash", "caller": "claude-code", "status": "done"}
    words = ["data/count", "--collection=audit", f"--filter={json.dumps(filter)}"]
    assert project.doorward("run", "--as=me", "--room=", *words).json["result"]["count"] == 1
    outside = {"cwd": "/", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    refused = project.run_hook("claude-code", "--room=judged", "--mode=sandbox", stdin=json.dumps(outside))
    assert decision(refused)["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    ("words", "given", "said"),
    [
        (["claude-code"], "{", "not JSON"),
        (["claude-code"], "", "not JSON"),
        (["claude-code"], '{"tool_name": 3}', "tool_name must be a name"),
        (["claude-code"], b'{"tool_name": "\xff"}', "not JSON"),
        (["emacs"], "{}", "Unknown client 'emacs'; valid: claude-code"),
        (["claude-code", "--room=nowhere"], '{"tool_name": "Read"}', ""),
        (["claude-code", "--wait=soon"], "{}", "--wait takes whole seconds"),
        (["claude-code", "--loud"], "{}", "given '--loud'"),
        (["claude-code", "--mode=loose"], "{}", "mode takes judge or sandbox; given 'loose'"),
        ([], "{}", "needs the name of a client"),
        (["claude-code", "--home=/nonexistent"], "{}", "Doorward is not running for /nonexistent"),
    ],
)
def test_a_call_that_cannot_be_judged_is_blocked_with_a_reason(
    words: list[str], given: str | bytes, said: str, project: Project
) -> None:
    answer = project.run_hook(*words, stdin=given)
    if words[1:] == ["--room=nowhere"]:
        assert decision(answer)["permissionDecision"] == "deny"
        return
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("Doorward blocked this call: ")
    assert said in answer.err


@pytest.mark.parametrize("response", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{}"])
def test_a_server_that_dies_before_its_answer_blocks_the_call(
    response: bytes, tmp_path: Path, project: Project
) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "doorward.sock"))
        server.listen()

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(65_536)
                peer.sendall(response)

        thread = threading.Thread(target=serve)
        thread.start()
        answer = project.run_hook("claude-code", f"--home={tmp_path}", stdin="{}")
        thread.join()
    assert (answer.code, answer.out) == (2, "")
    assert "before its answer was complete" in answer.err


def test_an_input_that_never_ends_and_a_hook_that_cannot_start_block_the_call(project: Project) -> None:
    program = str(BIN / "doorward")
    stuck = "import doorward.cli.hook_client as h, sys; h._GRACE_SECONDS = 1; sys.exit(h.main(['codex', '--wait=0']))"
    with subprocess.Popen(
        [BIN / "python", "-c", stuck], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as waiting:
        assert waiting.wait(PATIENCE) == 2
        assert waiting.stderr is not None
        assert b"no decision arrived in time" in waiting.stderr.read()
    assert project.run("protect", "claude-code", "--room", "strict", "--yes").code == 0
    file = project.folder / ".claude" / "settings.local.json"
    line = json.loads(file.read_text())["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    gone = subprocess.run(["/bin/sh", "-c", line.replace(program, "/nonexistent")], input=b"{}", capture_output=True)
    assert gone.returncode == 2
    assert project.run("protect", "claude-code", "--remove", "--yes").code == 0


@pytest.mark.parametrize("client", CLIENTS)
def test_verify_proves_each_client_with_made_up_calls_and_says_what_it_did_not_prove(
    client: str, project: Project
) -> None:
    assert project.run("protect", client, "--verify").code == 1
    assert project.run("protect", client, "--room", "strict", "--yes").code == 0
    proof = project.run("protect", client, "--verify")
    assert project.run("protect", client, "--remove", "--yes").code == 0
    assert proof.code == 0, proof
    assert proof.out.count("  proven  ") == 5
    assert "FAILED" not in proof.out
    assert "not proven:" in proof.out
    assert "it is not installed here" in proof.out
