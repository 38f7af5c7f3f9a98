"""Translates a client's hook input to gate requests for the commands native/*. Tool names are data in one table."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from doorward.commands.native import LONGEST_TEXT
from doorward.core.errors import BadParams

SHELL_TOOLS = frozenset(
    ("Bash", "PowerShell", "Monitor", "shell", "exec_command", "run_shell_command", "Shell", "run_in_terminal")
)
EDIT_TOOLS = frozenset(
    (
        *("Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch", "write_file", "replace"),
        *("StrReplace", "Delete", "EditNotebook", "editFiles", "create_file", "create_directory", "edit_notebook_file"),
        *("replace_string_in_file", "multi_replace_string_in_file", "insert_edit_into_file"),
    )
)
READ_TOOLS = frozenset(
    (
        *("Read", "Grep", "Glob", "LS", "NotebookRead", "view_image", "read_file", "read_many_files", "list_directory"),
        *("glob", "grep_search", "search_file_content", "list_dir", "file_search", "SemanticSearch", "ReadLints"),
    )
)
UNJUDGED_TOOLS = frozenset(
    (
        *("TodoWrite", "Task", "Agent", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "ToolSearch", "Skill"),
        *("TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput", "TaskStop", "BashOutput", "KillShell"),
        *("ListMcpResourcesTool", "ReadMcpResourceTool", "StructuredOutput", "update_plan", "write_todos", "ask_user"),
        *("enter_plan_mode", "exit_plan_mode", "complete_task", "get_internal_docs", "TodoRead", "manage_todo_list"),
        *("ListAgents", "ReportFindings", "SendMessage", "ScheduleWakeup", "CronList", "ReadMcpResourceDirTool"),
        *("update_topic", "invoke_agent", "list_background_processes", "read_background_output", "list_mcp_resources"),
        *("list_mcp_resource_templates", "read_mcp_resource", "request_user_input", "get_goal", "create_goal"),
        *("update_goal", "spawn_agent", "wait_agent", "close_agent", "send_input", "runSubagent"),
    )
)
"""Tools that only plan, ask the person or manage what other calls started. Their sub-agents' calls are judged."""
_OURS = re.compile(r"mcp__doorward__|mcp_doorward_|MCP:")
"""Tools that MCP serves. Cursor does not say of which server."""
_SHELL_EVENT = "beforeShellExecution"
"""Cursor's own event for shell calls. Its general event fires for them, too."""
_PATH_KEYS = frozenset(
    (
        *("file_path", "notebook_path", "filePath", "path", "dir_path", "dirPath", "absolute_path", "target_file"),
        *("files", "paths", "include", "target_notebook"),
    )
)
_FOLDER_KEYS = ("workdir", "working_directory", "dir_path")
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)


class NativeCall(NamedTuple):
    """One question for the gate about a tool call of a client."""

    command: str
    params: dict[str, str]
    instead: str
    """Doorward's own tools that do the same."""


class HookInput(NamedTuple):
    """The facts of a hook's input, whatever the client calls them."""

    event: str
    tool: str
    input: dict[str, Any]
    folder: str

    @property
    def script(self) -> str:
        """The command line that a shell tool would run; empty for other tools."""
        if self.tool == "write_stdin":
            return str(self.input.get("chars", ""))
        command = self.input.get("command") if self.tool in SHELL_TOOLS else ""
        return shlex.join(map(str, command)) if isinstance(command, list) else str(command or "")

    @property
    def script_folder(self) -> str:
        """The folder that a shell tool would run it in; empty if the client does not say."""
        named = next((self.input[key] for key in _FOLDER_KEYS if isinstance(self.input.get(key), str)), "")
        return os.path.normpath(os.path.join(self.folder, named)) if self.folder or named else ""


def parse_input(body: Mapping[str, Any]) -> HookInput:
    """Read the tool, its input and the folder. Raises for an input that does not name a tool."""
    folder = body.get("cwd") or next(iter(body.get("workspace_roots") or ()), "")
    event = str(body.get("hook_event_name", ""))
    is_shell = event == _SHELL_EVENT
    tool: Any = "Shell" if is_shell else body.get("tool_name")
    given: Any = {"command": body.get("command")} if is_shell else body.get("tool_input", {})
    if not isinstance(tool, str) or not tool or not isinstance(given, dict) or not isinstance(folder, str):
        raise BadParams(
            "The hook's input is not valid: tool_name must be a name, tool_input an object and cwd a path;"
            f" given the fields {', '.join(sorted(map(str, body))) or 'none'}."
        )
    return HookInput(event, tool, given, folder)


def list_calls(client: str, asked: HookInput) -> list[NativeCall]:
    """The questions for the gate; none for a tool that is Doorward's or changes nothing."""
    tool, given = asked.tool, asked.input
    facts = {"client": client, "tool": tool}
    if tool in UNJUDGED_TOOLS or _OURS.match(tool) or _is_judged_elsewhere(client, asked):
        return []
    if tool in SHELL_TOOLS or tool == "write_stdin":
        if not asked.script:
            return [] if tool == "write_stdin" else [_other_tool(facts, given)]
        params = {**facts, "command": asked.script, "folder": asked.script_folder}
        return [NativeCall("native/shell", params, "bash")]
    paths = [os.path.normpath(os.path.join(asked.folder, path)) for path in dict.fromkeys(_find_paths(tool, given))]
    if tool in READ_TOOLS:
        return [
            NativeCall("native/read", {**facts, "path": path}, "file_read") for path in paths or [asked.folder or "/"]
        ]
    if tool in EDIT_TOOLS and paths:
        change = _to_text(given)
        return [
            NativeCall("native/edit", {**facts, "path": path, "change": change}, "file_edit or file_write")
            for path in paths
        ]
    return [_other_tool(facts, given)]


def _is_judged_elsewhere(client: str, asked: HookInput) -> bool:
    """Whether another hook of the same client judges this call."""
    return client == "cursor" and asked.tool == "Shell" and asked.event != _SHELL_EVENT


def _other_tool(facts: dict[str, str], given: dict[str, Any]) -> NativeCall:
    return NativeCall("native/tool", {**facts, "input": _to_text(given)}, "search_tools")


def _to_text(given: dict[str, Any]) -> str:
    text = msgspec.json.encode(given).decode()
    if len(text) > LONGEST_TEXT:
        raise BadParams(f"The tool's input has {len(text)} characters; at most {LONGEST_TEXT} can be judged.")
    return text


def _find_paths(tool: str, given: Mapping[str, Any]) -> Iterator[str]:
    """Every path in a tool's input, at any depth, and the files that a patch names."""
    if tool == "apply_patch":
        for text in given.values():
            yield from (match.strip() for match in _PATCHED.findall(text if isinstance(text, str) else ""))
        return
    if tool in ("Glob", "glob") and isinstance(given.get("pattern"), str):
        yield os.path.join(str(given.get("path") or given.get("dir_path") or ""), given["pattern"])
    for key, value in given.items():
        if key in _PATH_KEYS and isinstance(value, str) and value:
            yield value
        elif isinstance(value, dict):
            yield from _find_paths("", value)
        elif isinstance(value, list):
            for one in value:
                if isinstance(one, dict):
                    yield from _find_paths("", one)
                elif key in _PATH_KEYS and isinstance(one, str) and one:
                    yield one
