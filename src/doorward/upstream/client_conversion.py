"""Converts server entries of other MCP clients to Doorward's format."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from doorward.core.command import shorten
from doorward.upstream.client_files import is_doorward_entry
from doorward.upstream.server_entry import make_id
from doorward.upstream.variables import describe_plain_secrets

DOORWARD_CLIENT = "doorward"
"""Client id of Doorward's own files, whose variables need no conversion."""

_VARIABLE = re.compile(r"\$\$|\$\{([^}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)|\$")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?")
_OLD_TRANSPORTS = {
    "sse": "the deprecated HTTP+SSE transport",
    "ws": "WebSocket",
    "websocket": "WebSocket",
}
_TRUST = ("autoApprove", "alwaysAllow", "trust", "always_allow", "default_tools_approval_mode")
_COPIED = ("name", "timeoutSeconds", "startSeconds", "pingSeconds", "denyTools", "auth")
"""Fields of Doorward's format that give a server no extra permissions, so they are copied."""
_SERVER_FIELDS = ("command", "url", "httpUrl", "serverUrl")
"""Fields that identify the server."""
_PERMISSION_FIELDS = ("tier", "cost", "sampling")
"""Fields that give a server permissions. They are not imported; the operator decides them."""
_IGNORED = (
    "type",
    "transport",
    "source",
    "description",
    "gallery",
    "version",
    "dev",
    "icon",
    "disabled",
    "enabled",
    "required",
    "settings",
    "$schema",
)


class ConvertedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The result of converting an entry."""

    id: str
    entry: dict[str, Any] = {}
    notes: tuple[str, ...] = ()
    """Notes for the person who approves the import."""
    skipped: str = ""
    """A clause that says why the entry is not imported."""
    is_doorward: bool = False


def convert_entry(name: str, entry: Mapping[str, Any], *, client: str = "", file: str = "") -> ConvertedEntry:
    """Convert an entry from a file of the client `client`. Sandbox grants are decided elsewhere."""
    id = make_id(name)
    if is_doorward_entry(entry):
        return ConvertedEntry(id=id, skipped="it is Doorward itself", is_doorward=True)
    said = str(entry.get("type", entry.get("transport", ""))).lower()
    if said in _OLD_TRANSPORTS:
        return ConvertedEntry(id=id, skipped=f"it uses {_OLD_TRANSPORTS[said]}; valid: stdio or Streamable HTTP")
    return _EntryConverter(name, entry, client, file).convert(id)


class _EntryConverter:
    def __init__(self, name: str, entry: Mapping[str, Any], client: str, file: str) -> None:
        self._name = name
        self._entry = dict(entry)
        self._client = client
        self._folder = _project_folder(file)
        self._notes: list[str] = []
        self._left: set[str] = set(entry)

    def convert(self, id: str) -> ConvertedEntry:
        self._flatten_command()
        command, url = self._take("command"), self._take("httpUrl") or self._take("serverUrl")
        if (
            url is None
            and (url := self._take("url")) is not None
            and self._client == "gemini"
            and "type" not in self._entry
        ):
            self._notes.append("in Gemini CLI, url is an SSE address; it works only if it also speaks Streamable HTTP")
        if isinstance(command, str) and command and url is None:
            found = self._process(command)
        elif isinstance(url, str) and url and command is None:
            found = self._address(url)
        elif command is None and url is None:
            return ConvertedEntry(id=id, skipped=self._explain_missing())
        else:
            return ConvertedEntry(id=id, skipped="it has both a command and a URL, or one of them is not text")
        if self._name != id:
            found = {"name": self._name[:100], **found}
        found |= self._common()
        unknown = sorted(self._left - {*_IGNORED})
        if unknown:
            self._notes.append(f"not imported, as Doorward has no such field: {', '.join(map(shorten, unknown))}")
        return ConvertedEntry(id=id, entry=found, notes=(*self._notes, *describe_plain_secrets(found)))

    def _explain_missing(self) -> str:
        """Say why an entry without a command and a URL is skipped, with a suggestion for a misspelt key."""
        keys = sorted(self._left - {*_IGNORED})
        if not keys:
            return "it has neither a command nor a URL; an extension of the client provides it"
        near = [one for key in keys for one in difflib.get_close_matches(key[:40], _SERVER_FIELDS, n=1, cutoff=0.5)]
        meant = f"; did you mean {near[0]!r}?" if near else ""
        given = ", ".join(map(shorten, keys))
        return f"it has neither a command nor a URL; valid: one of {', '.join(_SERVER_FIELDS)}; given {given}{meant}"

    def _take(self, key: str) -> Any:
        self._left.discard(key)
        return self._entry.get(key)

    def _flatten_command(self) -> None:
        """Flatten a command that is an object or a list, as some clients write it."""
        command = self._entry.get("command")
        if isinstance(command, dict):
            self._entry |= {"command": command.get("path"), **{k: command[k] for k in ("args", "env") if k in command}}
            self._left |= {key for key in ("args", "env") if key in command}
        elif isinstance(command, list) and command and all(isinstance(one, str) for one in command):
            self._entry |= {"command": command[0], "args": [*command[1:], *self._entry.get("args", [])]}
            self._left.add("args")

    def _process(self, command: str) -> dict[str, Any]:
        found: dict[str, Any] = {"command": self._text(command)}
        args = self._take("args")
        if isinstance(args, list):
            found["args"] = [self._text(str(one)) for one in args]
        env = self._texts("env") | {name: f"${{{name}}}" for name in self._names("env_vars")}
        if env:
            found["env"] = env
        if self._take("envFile"):
            self._notes.append(f"its variables in {shorten(self._entry['envFile'])} are not imported: set them")
        cwd = self._take("cwd")
        if isinstance(cwd, str):
            self._start_in(found, self._text(cwd))
        return found

    def _start_in(self, found: dict[str, Any], cwd: str) -> None:
        if not cwd.startswith(("/", "~", "$")) and self._folder is not None:
            cwd = str(self._folder / cwd)
        if cwd.startswith(("/", "~/", "${")):
            found["cwd"] = cwd
        else:
            self._notes.append(f"its folder {shorten(cwd)} is not absolute and was not imported")

    def _address(self, url: str) -> dict[str, Any]:
        found: dict[str, Any] = {"url": self._text(url)}
        headers = self._texts("headers") | self._texts("http_headers")
        for name, variable in self._texts("env_http_headers").items():
            headers[name] = f"${{{variable}}}"
        if headers:
            found["headers"] = headers
        variable = self._take("bearer_token_env_var")
        if isinstance(variable, str) and "auth" not in self._entry:
            found["auth"] = {"type": "bearer", "token": f"${{{variable}}}"}
        return found

    def _common(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key in _COPIED:
            value = self._take(key)
            if value is not None and (key != "auth" or (isinstance(value, dict) and "type" in value)):
                found[key] = value
        only = self._names("includeTools") or self._names("enabled_tools")
        tools = self._entry.get("tools")
        if only:
            found["tools"] = only
        elif isinstance(tools, list | dict):
            self._take("tools")
            found["tools"] = list(tools)
        self._drop_permissions(found, tools)
        never = [*self._names("excludeTools"), *self._names("disabled_tools"), *self._names("disabledTools")]
        if never:
            found["denyTools"] = [*found.get("denyTools", ()), *never]
        self._times(found)
        if any(self._take(key) for key in _TRUST):
            self._notes.append("the client's automatic approvals were not imported: each call needs your approval")
        if self._entry.get("disabled") is True or self._entry.get("enabled") is False:
            found["enabled"] = False
            self._notes.append("it is disabled in the client, so it is disabled here too")
        return found

    def _drop_permissions(self, found: dict[str, Any], tools: Any) -> None:
        """Drop permissions. Sandbox grants are imported only from Doorward's own format, where the plan shows them."""
        left = [key for key in _PERMISSION_FIELDS if (value := self._take(key)) is not None and value is not False]
        sandbox = self._take("sandbox")
        if sandbox is not None and self._client == DOORWARD_CLIENT:
            found["sandbox"] = sandbox
            self._notes.append("its sandbox permissions were imported from the file")
        elif sandbox:
            left.append("sandbox")
        if isinstance(tools, dict) and any(tools.values()):
            left.append("settings of single tools")
        if left:
            self._notes.append(f"not imported, because you decide it: {', '.join(left)}")

    def _times(self, found: dict[str, Any]) -> None:
        thousandth = {
            "timeout": 1_000 if self._client in ("gemini", "claude-code", "zed") else 1,
            "startup_timeout_ms": 1_000,
        }
        for key, ours in (
            ("timeout", "timeoutSeconds"),
            ("tool_timeout_sec", "timeoutSeconds"),
            ("startup_timeout_sec", "startSeconds"),
            ("startup_timeout_ms", "startSeconds"),
        ):
            value = self._take(key)
            if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
                found[ours] = min(value / thousandth.get(key, 1), 3_600)

    def _texts(self, key: str) -> dict[str, str]:
        held = self._take(key)
        if not isinstance(held, dict):
            return {}
        return {name: self._text(str(value)) for name, value in held.items() if value is not None}

    def _names(self, key: str) -> list[str]:
        held = self._take(key)
        return [one for one in held if isinstance(one, str)] if isinstance(held, list) else []

    def _text(self, text: str) -> str:
        return text if self._client == DOORWARD_CLIENT else _VARIABLE.sub(self._variable, text)

    def _variable(self, found: re.Match[str]) -> str:
        """Convert one variable to `${NAME}`. Text that is not a variable in any client is escaped with `$$`."""
        whole, inside, bare = found[0], found[1], found[2]
        if whole == "$$":
            return "$$$$"
        if bare is not None:
            return f"${{{bare}}}" if self._client == "gemini" and not self._is_own_variable(bare) else whole
        if inside is None:
            return whole
        return self._braced(inside)

    def _braced(self, inside: str) -> str:
        kind, _, name = inside.partition(":")
        if kind == "env" and name:
            return f"${{{name}}}"
        if kind == "input" and name:
            variable = re.sub(r"\W", "_", name, flags=re.ASCII).upper()
            variable = variable if variable[:1].isalpha() else f"INPUT_{variable}"
            self._notes.append(f"the client asks for {shorten(name)}: set the variable {variable} where Doorward runs")
            return f"${{{variable}}}"
        if inside in ("userHome", "env:HOME"):
            return "${HOME}"
        if inside in ("workspaceFolder", "workspaceRoot") and self._folder is not None:
            return str(self._folder)
        if inside in ("/", "pathSeparator"):
            return "/"
        if _NAME.fullmatch(inside) and not self._is_own_variable(inside.partition(":-")[0]):
            if inside.startswith("workspace"):
                self._notes.append(f"${{{inside}}} is a folder of the client; set it as a variable, or edit the entry")
            return f"${{{inside}}}"
        return f"$${{{inside}}}"

    def _is_own_variable(self, name: str) -> bool:
        """Whether the entry's own `env` sets this variable, so that the program expands it."""
        env = self._entry.get("env")
        return isinstance(env, dict) and name in env


def _project_folder(file: str) -> Path | None:
    """The project folder of a file such as `.vscode/mcp.json`."""
    path = Path(file)
    if path.name == ".mcp.json":
        return path.parent
    if path.parent.name not in (".vscode", ".cursor", ".gemini", ".codex", ".zed"):
        return None
    return path.parent.parent if path.parent.parent != Path.home() else None
