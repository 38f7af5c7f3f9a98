"""Proves a client's protection without a model: runs the installed hook as the client would, on made-up calls."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from doorward import __version__
from doorward.cli import local_client
from doorward.cli.clients.hook_config import ClientHooks, with_words
from doorward.core.ids import new_id
from doorward.doors.terminal.messages import TerminalRequest

_PATIENCE = 30.0
_BLOCKED = 2
_OUTSIDE = "/etc/passwd"


class CanaryResult(msgspec.Struct, frozen=True):
    """What one made-up call showed."""

    passed: bool
    text: str


class _HookAnswer(msgspec.Struct, frozen=True):
    code: int
    decision: str
    """`allow`, `deny`, `replace`, `block` for exit code 2, or the reason why there is none."""


def run_canaries(client: ClientHooks, line: str, folder: Path) -> Iterator[CanaryResult]:
    """Run each canary with the command line from the client's own settings. They wait for nobody's approval."""
    canary = f"true doorward-canary-{new_id()}"
    values = {"canary": canary, "guarded": str(folder / ".git" / "hooks" / canary.split()[1]), "outside": _OUTSIDE}
    shell, edit, read = (_fill(one, values) for one in client.canaries)
    quick = with_words(line, "--wait=0")
    yield _judge_shell(_run_hook(client, quick, folder, shell), canary)
    yield _expect_denied("an edit of a git hook", _run_hook(client, quick, folder, edit), "native/edit", canary)
    yield _expect_denied(f"a read of {_OUTSIDE}", _run_hook(client, quick, folder, read), "native/read", _OUTSIDE)
    broken = _run_line(quick, folder, b"{")
    yield CanaryResult(broken.code == _BLOCKED, f"broken input: {_describe_block(broken)}")
    with tempfile.TemporaryDirectory() as empty:
        gone = _run_line(with_words(line, f"--wait=0 --home={empty}"), folder, b"{}")
    yield CanaryResult(gone.code == _BLOCKED, f"no server: {_describe_block(gone)}")


def ask_codex(program: str, line: str, folder: Path) -> CanaryResult:
    """Ask Codex itself, without a model, whether it has read this hook and trusts it."""
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "doorward", "version": __version__}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(folder)]}},
    ]
    answer = _ask_app_server([program, "app-server"], messages, folder)
    try:
        hooks = [hook for place in answer["result"]["data"] for hook in place["hooks"] if hook["command"] == line]
        trusted = [hook["trustStatus"] for hook in hooks if hook["enabled"]]
    except (KeyError, TypeError):
        return CanaryResult(False, "Codex did not say which hooks it has read")
    if not trusted:
        return CanaryResult(False, "Codex has not read this hook: it does not trust the folder, or hooks are off")
    if not {*trusted} & {"trusted", "managed"}:
        return CanaryResult(False, "Codex does not trust this hook and skips it: start Codex, type /hooks and trust it")
    return CanaryResult(True, "Codex has read this hook and trusts it")


def _ask_app_server(command: list[str], messages: list[dict[str, Any]], folder: Path) -> Any:
    """Send messages to a server on standard input and return its answer to the last one, or None."""
    with subprocess.Popen(  # noqa: S603 - the client that the person has installed
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder
    ) as server:
        timer = threading.Timer(_PATIENCE, server.kill)
        timer.start()
        try:
            if server.stdin is None or server.stdout is None:
                return None
            server.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in messages))
            server.stdin.flush()
            for line in server.stdout:
                answer = json.loads(line)
                if answer.get("id") == messages[-1]["id"]:
                    return answer
        except (OSError, ValueError):
            return None
        finally:
            timer.cancel()
            server.kill()
    return None


def _judge_shell(answer: _HookAnswer, canary: str) -> CanaryResult:
    if answer.decision == "replace":
        return CanaryResult(True, "a shell call: replaced by one that runs in the sandbox, through the gate")
    status = _find_record("native/shell", canary)
    if answer.decision == "allow" and status == "done":
        return CanaryResult(True, "a shell call: allowed by the gate, and recorded in the ledger")
    if answer.decision == "deny" and status:
        return CanaryResult(True, f"a shell call: denied by the gate, and recorded in the ledger ({status})")
    return CanaryResult(False, f"a shell call: {answer.decision}; {'recorded' if status else 'not in the ledger'}")


def _expect_denied(what: str, answer: _HookAnswer, command: str, text: str) -> CanaryResult:
    status = _find_record(command, text)
    passed = answer.decision == "deny" and bool(status) and status != "done"
    recorded = f"recorded in the ledger ({status})" if status else "not in the ledger"
    return CanaryResult(passed, f"{what}: {answer.decision}; {recorded}")


def _describe_block(answer: _HookAnswer) -> str:
    return "blocked" if answer.code == _BLOCKED else f"NOT blocked, exit code {answer.code}"


def _find_record(command: str, text: str) -> str:
    """The final status of the newest call of a hook with this text; empty if the ledger has none."""
    params = {"collection": "audit", "filter": {"door": "hook", "command": command}, "orderBy": "-id", "limit": 20}
    found = local_client.run(TerminalRequest(command="data/list", params=params))
    records = found.result["items"] if found.status == "done" else []
    call = next((one["call"] for one in records if text in json.dumps(one["params"])), "")
    return next((str(one["status"]) for one in records if call and one["call"] == call), "")


def _run_hook(client: ClientHooks, line: str, folder: Path, given: dict[str, Any]) -> _HookAnswer:
    event = {"hook_event_name": client.events[-1], "session_id": "canary", "cwd": str(folder), **given}
    return _run_line(line, folder, json.dumps(event).encode())


def _run_line(line: str, folder: Path, given: bytes) -> _HookAnswer:
    try:
        done = subprocess.run(  # noqa: S603 - the line is in the person's own settings, which the client runs, too
            ["/bin/sh", "-c", line], input=given, capture_output=True, timeout=_PATIENCE, cwd=folder, check=False
        )
    except subprocess.TimeoutExpired:
        return _HookAnswer(-1, f"no answer within {_PATIENCE:g} s")
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().replace("\n", " ")
        return _HookAnswer(done.returncode, f"blocked: {said}" if done.returncode == _BLOCKED else said)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return _HookAnswer(0, "an answer that is not JSON")
    return _HookAnswer(0, _read_decision(answer))


def _read_decision(answer: dict[str, Any]) -> str:
    details = answer.get("hookSpecificOutput", {})
    if "updatedInput" in details or "tool_input" in details:
        return "replace"
    decision = details.get("permissionDecision") or answer.get("decision") or answer.get("permission")
    return str(decision or "allow")


def _fill(value: Any, values: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _fill(one, values) for key, one in value.items()}
    for name, text in values.items():
        value = value.replace(f"{{{name}}}", text)
    return value
