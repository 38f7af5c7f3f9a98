"""The hooks of coding clients: where each client reads them, Doorward's entry, and edits that keep all other bytes."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from doorward.cli.clients import config_edit
from doorward.cli.clients.config_edit import ConfigEdit
from doorward.cli.clients.registry import Scope
from doorward.config import jsonc
from doorward.config.jsonc import JsonNode, UnreadableText, error_at, parse_jsonc
from doorward.upstream.client_files import ClientMachine

HOOK_SECONDS = 90
"""Seconds that the client waits for the hook. The hook itself gives up earlier, and then blocks the call."""
_HOOKS = "hooks"
_BLOCK = "|| exit 2"
"""Makes the shell block the call when the hook cannot even start: every other exit code lets the call pass."""


class ClientHooks(msgspec.Struct, frozen=True, kw_only=True):
    """How one client is told to run a hook before its own tools."""

    id: str
    title: str
    own: str
    """The client's own tools that act on this machine, for people."""
    programs: tuple[str, ...]
    """Executables whose presence shows that the client is installed."""
    project: str
    """The settings file in the project folder."""
    shared: bool = True
    """Whether people commit that file to share it."""
    user: Callable[[ClientMachine], Path]
    events: tuple[str, ...]
    entry: Callable[[str], dict[str, Any]]
    first: dict[str, Any] = {}
    """What a new file holds besides the hooks."""
    canaries: tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
    """Hook inputs of a shell call, an edit and a read; `{canary}`, `{guarded}` and `{outside}` are filled in."""
    then: str
    """What to do next, for the person."""
    open: tuple[str, ...]
    """What stays outside the gate, as sentences."""

    def file(self, scope: Scope, machine: ClientMachine) -> Path:
        return self.user(machine) if scope == "user" else machine.folder / self.project


def _group(command: str, **more: Any) -> dict[str, Any]:
    return {"matcher": "*", _HOOKS: [{"type": "command", "command": command, "timeout": HOOK_SECONDS, **more}]}


def _tool_canaries(shell: str, edit: str, read: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    return (
        {"tool_name": shell, "tool_input": {"command": "{canary}"}},
        {"tool_name": edit, "tool_input": {"file_path": "{guarded}", "content": "{canary}"}},
        {"tool_name": read, "tool_input": {"file_path": "{outside}"}},
    )


_HOOKS_DISABLED = "Whoever can change {title}'s settings, or starts it with hooks disabled, can go around the gate."
_BEFORE_START = "Hooks apply to sessions that start after this; {title} reads the file when it starts."

CLIENT_HOOKS = (
    ClientHooks(
        id="claude-code",
        title="Claude Code",
        own="Bash, Edit, Write, NotebookEdit, Read, Grep, Glob and WebFetch",
        programs=("claude",),
        project=".claude/settings.local.json",
        shared=False,
        user=lambda machine: machine.home_path("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
        events=("PreToolUse",),
        entry=lambda command: _group(command, onFailure="block"),
        canaries=_tool_canaries("Bash", "Write", "Read"),
        then="Restart Claude Code and type /hooks to see it.",
        open=(
            _HOOKS_DISABLED,
            "Files that you mention with @ and commands that you type with ! are your own, and are not judged.",
            _BEFORE_START,
        ),
    ),
    ClientHooks(
        id="codex",
        title="Codex",
        own="its shell, apply_patch, view_image and web search",
        programs=("codex",),
        project=".codex/hooks.json",
        user=lambda machine: machine.home_path("CODEX_HOME", ".codex", "hooks.json"),
        events=("PreToolUse",),
        entry=_group,
        canaries=(
            {"tool_name": "Bash", "tool_input": {"command": "{canary}"}},
            {
                "tool_name": "apply_patch",
                "tool_input": {"command": "*** Begin Patch\n*** Add File: {guarded}\n+{canary}\n*** End Patch"},
            },
            {"tool_name": "view_image", "tool_input": {"path": "{outside}"}},
        ),
        then="Start Codex, type /hooks and trust Doorward's hook. Until then Codex skips it without a word.",
        open=(
            _HOOKS_DISABLED,
            "Codex runs no hook for its web search, and none for input to a program that already runs.",
            "The hook does not see which program or folder the model chose for a command line.",
            "A new or changed hook does nothing in Codex until you trust it with /hooks.",
            "In a project, Codex reads hooks only if you trust the folder.",
        ),
    ),
    ClientHooks(
        id="gemini",
        title="Gemini CLI",
        own="run_shell_command, write_file, replace, read_file, glob and web_fetch",
        programs=("gemini",),
        project=".gemini/settings.json",
        user=lambda machine: machine.home / ".gemini" / "settings.json",
        events=("BeforeTool",),
        entry=lambda command: {
            "matcher": "*",
            _HOOKS: [{"type": "command", "name": "doorward", "command": command, "timeout": HOOK_SECONDS * 1000}],
        },
        canaries=_tool_canaries("run_shell_command", "write_file", "read_file"),
        then="Restart Gemini CLI and type /hooks to see it.",
        open=(
            _HOOKS_DISABLED,
            "Commands that you type with ! and files that you mention with @ are your own, and are not judged.",
            "In a project, Gemini CLI reads hooks only if you trust the folder.",
        ),
    ),
    ClientHooks(
        id="cursor",
        title="Cursor",
        own="its shell, its edits, deletions and reads, and Tab",
        programs=("cursor", "cursor-agent"),
        project=".cursor/hooks.json",
        user=lambda machine: machine.home / ".cursor" / "hooks.json",
        events=("beforeShellExecution", "preToolUse"),
        entry=lambda command: {"command": command, "timeout": HOOK_SECONDS, "failClosed": True},
        first={"version": 1},
        canaries=(
            {"hook_event_name": "beforeShellExecution", "command": "{canary}"},
            *_tool_canaries("Shell", "Write", "Read")[1:],
        ),
        then="Restart Cursor and open Settings, Hooks to see it.",
        open=(
            _HOOKS_DISABLED,
            "Cursor does not say which server an MCP tool belongs to, so MCP tools of other servers are not judged.",
            "Tab completions edit files without asking a hook.",
            "Versions of Cursor before 2.0 know only the hook of the shell, so their edits are not judged.",
        ),
    ),
    ClientHooks(
        id="vscode",
        title="VS Code",
        own="its terminal, its edits and its reads",
        programs=("code",),
        project=".github/hooks/doorward.json",
        user=lambda machine: machine.home / ".copilot" / "hooks" / "doorward.json",
        events=("PreToolUse",),
        entry=lambda command: {"type": "command", "command": command, "timeout": HOOK_SECONDS},
        canaries=(
            {"tool_name": "run_in_terminal", "tool_input": {"command": "{canary}"}},
            {"tool_name": "create_file", "tool_input": {"filePath": "{guarded}", "content": "{canary}"}},
            {"tool_name": "read_file", "tool_input": {"filePath": "{outside}"}},
        ),
        then="Reload VS Code. Its agent hooks are a preview feature, which your organization can switch off.",
        open=(
            _HOOKS_DISABLED,
            "Only agent mode asks hooks. Inline chat and completions edit files without asking.",
            "Extensions other than Copilot do not ask these hooks.",
        ),
    ),
)


def find_client_hooks(id: str) -> ClientHooks:
    return next(client for client in CLIENT_HOOKS if client.id == id)


def hook_command_line(words: str) -> str:
    """The command line for the client's settings, which blocks the call whatever goes wrong."""
    return f"{words} {_BLOCK}"


def with_words(line: str, words: str) -> str:
    """Add options to a hook's command line."""
    head, found, rest = line.rpartition(_BLOCK)
    return f"{head}{words} {found}{rest}" if found else f"{line} {words}"


def plan_protection(client: ClientHooks, file: Path, line: str) -> ConfigEdit:
    """Compute the edit that adds Doorward's hook, or replaces it."""
    before = config_edit.read_text(config_edit.resolve_links(file))
    try:
        return ConfigEdit(file, before, _add_hooks(before or "", client, line))
    except UnreadableText as error:
        raise config_edit.unchanged_error(file, error) from error


def plan_removal(client: ClientHooks, file: Path) -> ConfigEdit:
    """Compute the edit that removes Doorward's hook. Restores the exact original bytes if nothing else has changed."""
    real = config_edit.resolve_links(file)
    before = config_edit.read_text(real)
    try:
        lines = [] if before is None else list(find_lines(before, client))
        if before is None or not lines:
            return ConfigEdit(file, before, before)
        if _add_hooks("", client, lines[0]) == before:
            return ConfigEdit(file, before, None)
        for copy in config_edit.list_backups(real):
            earlier = config_edit.read_text(copy)
            if earlier is not None and _leads_to(earlier, before, client, lines[0]):
                return ConfigEdit(file, before, earlier)
        return ConfigEdit(file, before, _remove_hooks(before, client))
    except UnreadableText as error:
        raise config_edit.unchanged_error(file, error) from error


def _leads_to(earlier: str, now: str, client: ClientHooks, line: str) -> bool:
    """Whether a backup without our hook becomes the present text when the hook is added."""
    with contextlib.suppress(UnreadableText):
        return not [*find_lines(earlier, client)] and _add_hooks(earlier, client, line) == now
    return False


def find_installed_lines(client: ClientHooks, file: Path) -> list[str]:
    """The command lines of Doorward's hook in a settings file."""
    text = config_edit.read_text(config_edit.resolve_links(file))
    try:
        return list(find_lines(text or "", client))
    except UnreadableText as error:
        raise config_edit.unchanged_error(file, error) from error


def find_lines(text: str, client: ClientHooks) -> Iterator[str]:
    for _, node in _find_ours(text, client):
        yield node.value["command"]


def _add_hooks(text: str, client: ClientHooks, line: str) -> str:
    if not text.strip("\ufeff \t\r\n"):
        events = {event: [client.entry(line)] for event in client.events}
        return json.dumps({**client.first, _HOOKS: events}, indent=2, ensure_ascii=False) + "\n"
    if _find_ours(text, client):
        if {*find_lines(text, client)} == {line}:
            return text
        text = _remove_hooks(text, client)
    for key, value in client.first.items():
        root = _root(text)
        if root.find_member(key) is None:
            text = jsonc.insert_member(text, root, key, value, 0)
    for event in client.events:
        text = _add_hook(text, event, client.entry(line))
    return text


def _add_hook(text: str, event: str, entry: dict[str, Any]) -> str:
    root = _root(text)
    hooks = root.find_member(_HOOKS)
    if hooks is None:
        return jsonc.insert_member(text, root, _HOOKS, {event: [entry]}, 0)
    if hooks.node.members is None:
        raise error_at(text, hooks.node.start, f"{_HOOKS!r} must be a JSON object")
    held = hooks.node.find_member(event)
    if held is None:
        return jsonc.insert_member(text, hooks.node, event, [entry], 1)
    if held.node.elements is None:
        raise error_at(text, held.node.start, f"{event!r} must be a list")
    return jsonc.append_element(text, held.node, entry, 2)


def _remove_hooks(text: str, client: ClientHooks) -> str:
    """Remove our hooks, and the groups and lists that would be empty without them."""
    while found := _find_ours(text, client):
        path, _ = found[0]
        depth = len(path) - 1
        while depth > 0 and (_is_group(path, depth) or len(_list_entries(path[depth][0])) == 1):
            depth -= 1
        text = jsonc.remove_entry(text, *path[depth])
    return text


def _is_group(path: _Path, depth: int) -> bool:
    """Whether this is a group of hooks, which means nothing without them."""
    return path[depth][0].members is not None and path[depth - 1][0].elements is not None


def _list_entries(node: JsonNode) -> list[JsonNode]:
    return [one.node for one in node.members] if node.members is not None else node.elements or []


_Path = list[tuple[JsonNode, int]]
"""The containers on the way to a node, with its place in each; the root is not removed from anything."""


def _find_ours(text: str, client: ClientHooks) -> list[tuple[_Path, JsonNode]]:
    """Our hooks in a settings file, each with the way to it."""
    if not text.strip("\ufeff \t\r\n"):
        return []
    ours = re.compile(rf"doorward['\"]? hook {re.escape(client.id)}\b")
    found = []

    def search(node: JsonNode, path: _Path) -> None:
        command = node.value.get("command") if isinstance(node.value, dict) else None
        if isinstance(command, str) and ours.search(command):
            found.append((path, node))
            return
        for place, one in enumerate(_list_entries(node)):
            search(one, [*path, (node, place)])

    root = _root(text)
    for place, member in enumerate(root.members or []):
        if member.key == _HOOKS:
            search(member.node, [(root, place)])
    return found


def _root(text: str) -> JsonNode:
    root = parse_jsonc(text)
    if root.members is None:
        raise error_at(text, root.start, "the file must be a JSON object")
    return root
