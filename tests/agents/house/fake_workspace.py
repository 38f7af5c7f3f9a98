"""A workspace in memory that answers the calls of the house model, and a way to ask about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from doorward.agents.house.conversation import Conversation
from doorward.agents.house.plan import Reply, Step, advance
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.understanding import understand
from doorward.agents.models.model import ChatTurn, Prompt, ToolSpec

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
_TOOLS = (
    *("file_list", "file_read", "file_stat", "file_search", "file_history", "vfs_find", "vfs_list"),
    *("shell_git_log", "shell_git_status", "shell_git_diff", "shell_git_branch", "debug_logs"),
)
_MOST_CALLS = 20


class FakeWorkspace:
    def __init__(self, files: Mapping[str, str], ages: Mapping[str, float] | None = None, **outputs: str) -> None:
        """`ages` are days by path, `outputs` the texts that programs print, by the name of the command's tool."""
        self._files, self._ages, self._outputs = files, ages or {}, outputs

    def ask(self, text: str, *earlier: str) -> tuple[list[Step], str]:
        """Return the calls for a request and the answer; `earlier` requests are given newest first."""
        turns = [ChatTurn(role="user", text=one, speaker="owner") for one in (*reversed(earlier), text)]
        folders = {f"{path.rpartition('/')[0]}/" for path in self._files if "/" in path}
        prompt = Prompt(
            instructions="",
            turns=tuple(turns),
            tools=tuple(ToolSpec(one, "Do it.", {}) for one in _TOOLS),
            files=tuple(sorted({*self._files, *folders})),
        )
        conversation = Conversation(prompt)
        reading = understand(RequestContext(conversation, conversation.question, NOW.timestamp(), UTC))
        if isinstance(reading, Reply):
            return [], f"{reading.kind}: {reading.text}"
        calls: list[Step] = []
        results: list[ToolResult] = []
        while len(calls) < _MOST_CALLS:
            wanted = advance(reading, results)
            if isinstance(wanted, Reply):
                return calls, wanted.text if wanted.kind == "answer" else f"{wanted.kind}: {wanted.text}"
            calls += wanted
            results += [self._run(step) for step in wanted]
        raise AssertionError(f"{text!r} made too many calls")

    def answer(self, text: str, *earlier: str) -> str:
        return self.ask(text, *earlier)[1]

    def _run(self, step: Step) -> ToolResult:
        name = step.command.replace("/", "_")
        if name in self._outputs:
            return ToolResult(command=step.command, text=self._outputs[name])
        value = getattr(self, f"_{name}")(**step.params)
        if value is None:
            return ToolResult(command=step.command, status="failed", message="There is no such file.")
        return ToolResult(command=step.command, params=step.params, value=value)

    def _entry(self, path: str) -> dict[str, Any]:
        modified = NOW - timedelta(days=self._ages.get(path, 100))
        size = len(self._files[path].encode())
        return {"path": path, "type": "file", "size": size, "modified": modified.isoformat()}

    def _file_list(self, path: str = ".", recursive: bool = False, limit: int = 500) -> dict[str, Any]:
        start = "" if path == "." else f"{path}/"
        inside = [one for one in sorted(self._files) if one.startswith(start)]
        here = [one for one in inside if recursive or "/" not in one[len(start) :]]
        folders = dict.fromkeys(f"{start}{one[len(start) :].partition('/')[0]}" for one in inside if one not in here)
        items = [{"path": one, "type": "folder", "modified": NOW.isoformat()} for one in folders]
        return {"items": [*items, *map(self._entry, here)][:limit], "path": path, "cut": False}

    def _file_stat(self, path: str) -> dict[str, Any] | None:
        return self._entry(path) if path in self._files else None

    def _file_read(self, path: str, offset: int = 1, limit: int = 2_000) -> dict[str, Any] | None:
        if path not in self._files:
            return None
        text = self._files[path]
        lines = text.splitlines(keepends=True)
        shown = lines[offset - 1 : offset - 1 + limit]
        last = offset - 1 + len(shown)
        more = {"cut": True, "nextOffset": last + 1} if last < len(lines) else {}
        facts = {"path": path, "encoding": "utf-8", "size": len(text.encode()), "content": "".join(shown)}
        return {**facts, "lines": len(lines), "firstLine": offset, "lastLine": last, **more}

    def _file_search(
        self,
        pattern: str,
        path: str = ".",
        glob: str = "*",
        regex: bool = False,
        ignoreCase: bool = False,
        limit: int = 100,
    ) -> dict[str, Any]:
        wanted = re.compile(pattern if regex else re.escape(pattern), re.IGNORECASE if ignoreCase else 0)
        items = [
            {"path": name, "line": number, "text": line}
            for name, text in sorted(self._files.items())
            if (path in (".", name) or name.startswith(f"{path}/")) and fnmatchcase(name, glob)
            for number, line in enumerate(text.splitlines(), 1)
            if wanted.search(line)
        ]
        return {"items": items[:limit], "cut": len(items) > limit}

    def _vfs_find(self, **params: Any) -> dict[str, Any]:
        start = params.get("path", "/workspace").removeprefix("/workspace").lstrip("/")
        found = []
        for one in map(self._entry, sorted(self._files)):
            base = one["path"].rpartition("/")[2].lower()
            if (
                one["path"].startswith(f"{start}/" if start else "")
                and fnmatchcase(base, params.get("name", "*").lower())
                and one["size"] > int(params.get("larger", -1))
                and one["size"] < int(params.get("smaller", 10**12))
                and one["modified"] >= params.get("newer", "")
                and one["modified"] < params.get("older", "9")
            ):
                found.append({**one, "path": f"/workspace/{one['path']}", "kind": "file"})
        if params.get("sort"):
            key = {"size": "size", "time": "modified"}[params["sort"]]
            found.sort(key=lambda one: one[key], reverse=params.get("descending", False))
        limit = params.get("limit", 200)
        whole = {"matched": len(found), "bytes": sum(one["size"] for one in found)}
        return {"items": found[:limit], **whole, "cut": len(found) > limit}
