"""The answers that each client's hook understands: allow, deny with a reason, or no decision."""

from __future__ import annotations

from typing import Any

import msgspec

CLIENTS = ("claude-code", "codex", "gemini", "cursor", "vscode")
REPLACED_TOOLS = {"claude-code": "Bash", "gemini": "run_shell_command", "vscode": "run_in_terminal"}
"""The shell tools whose input a hook can replace completely.

Codex is not among them: its model also chooses the program that runs the command line, which hooks cannot change.
"""


def encode_no_decision() -> bytes:
    """The client's own rules decide."""
    return b"{}"


def encode_allow(client: str, replaced: dict[str, Any] | None = None) -> bytes:
    """The tool may run, with another input where one is given."""
    if client == "gemini":
        return _encode({"decision": "allow"} | ({"hookSpecificOutput": {"tool_input": replaced}} if replaced else {}))
    if client == "cursor":
        return _encode({"permission": "allow"})
    if client == "codex" and replaced is None:
        return b"{}"  # Codex takes `allow` only together with another input
    answer: dict[str, Any] = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
    return _encode({"hookSpecificOutput": answer | ({"updatedInput": replaced} if replaced else {})})


def encode_deny(client: str, reason: str) -> bytes:
    """The tool must not run. The model reads the reason."""
    if client == "gemini":
        return _encode({"decision": "deny", "reason": reason})
    if client == "cursor":
        return _encode({"permission": "deny", "user_message": reason, "agent_message": reason})
    answer = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    return _encode({"hookSpecificOutput": answer})


def _encode(answer: dict[str, Any]) -> bytes:
    return msgspec.json.encode(answer)
