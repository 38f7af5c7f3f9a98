"""An entry of an MCP client's file, written as an entry of Doorward's own."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from doorward.command import shortened
from doorward.upstream.entry import as_id
from doorward.upstream.ourselves import is_ours
from doorward.upstream.plain import in_plain

DOORWARD = "doorward"
"""As the client: the file is one of Doorward's own, whose variables need no other spelling."""

_VARIABLE = re.compile(r"\$\$|\$\{([^}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)|\$")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?")
_OLD_TRANSPORTS = {
    "sse": "the HTTP transport with SSE that the protocol gave up",
    "ws": "WebSocket",
    "websocket": "WebSocket",
}
_TRUST = ("autoApprove", "alwaysAllow", "trust", "always_allow", "default_tools_approval_mode")
_SAME = ("name", "timeoutSeconds", "startSeconds", "pingSeconds", "denyTools", "auth")
"""Fields of Doorward's own file that give a server nothing that its address or program has not."""
_STARTS = ("command", "url", "httpUrl", "serverUrl")
"""Where an entry says which server it is."""
_TERMS = ("tier", "cost", "sampling")
"""Fields that say what a server may do. Whoever wrote the file to be imported has no say in that."""
_WITHOUT_MEANING = (
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


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an entry."""

    id: str
    entry: dict[str, Any] = {}
    notes: tuple[str, ...] = ()
    """What a person should know before saying yes."""
    skipped: str = ""
    """Why there is nothing to import, as a clause."""
    is_doorward: bool = False


def as_ours(name: str, entry: Mapping[str, Any], *, client: str = "", file: str = "") -> Converted:
    """The entry of a client called `client`, from this file, in our form. What it may reach is decided elsewhere."""
    id = as_id(name)
    if is_ours(entry):
        return Converted(id=id, skipped="it is Doorward itself", is_doorward=True)
    said = str(entry.get("type", entry.get("transport", ""))).lower()
    if said in _OLD_TRANSPORTS:
        return Converted(id=id, skipped=f"it speaks {_OLD_TRANSPORTS[said]}; Doorward speaks stdio and Streamable HTTP")
    return _Writer(name, entry, client, file).written(id)


class _Writer:
    def __init__(self, name: str, entry: Mapping[str, Any], client: str, file: str) -> None:
        self._name = name
        self._entry = dict(entry)
        self._client = client
        self._folder = _project_of(file)
        self._notes: list[str] = []
        self._left: set[str] = set(entry)

    def written(self, id: str) -> Converted:
        self._unfold()
        command, url = self._take("command"), self._take("httpUrl") or self._take("serverUrl")
        if (
            url is None
            and (url := self._take("url")) is not None
            and self._client == "gemini"
            and "type" not in self._entry
        ):
            self._notes.append("Gemini CLI means an SSE address by url; it works if it speaks Streamable HTTP as well")
        if isinstance(command, str) and command and url is None:
            found = self._process(command)
        elif isinstance(url, str) and url and command is None:
            found = self._address(url)
        elif command is None and url is None:
            return Converted(id=id, skipped=self._nothing())
        else:
            return Converted(id=id, skipped="its command or its address is not a plain text, or it has both")
        if self._name != id:
            found = {"name": self._name[:100], **found}
        found |= self._common()
        unknown = sorted(self._left - {*_WITHOUT_MEANING})
        if unknown:
            self._notes.append(f"left out, since Doorward has no such field: {', '.join(map(shortened, unknown))}")
        return Converted(id=id, entry=found, notes=(*self._notes, *in_plain(found)))

    def _nothing(self) -> str:
        """Why an entry without a command and an address is none, be it that a key is misspelt."""
        keys = sorted(self._left - {*_WITHOUT_MEANING})
        if not keys:
            return "it has neither a command nor an address here, so an extension brings it"
        near = [one for key in keys for one in difflib.get_close_matches(key[:40], _STARTS, n=1, cutoff=0.5)]
        meant = f"; did you mean {near[0]!r}?" if near else ""
        given = ", ".join(map(shortened, keys))
        return f"it has neither a command nor an address: valid is one of {', '.join(_STARTS)}; given {given}{meant}"

    def _take(self, key: str) -> Any:
        self._left.discard(key)
        return self._entry.get(key)

    def _unfold(self) -> None:
        """A command written as an object or as a list, as some clients have it."""
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
            self._notes.append(f"its variables are in {shortened(self._entry['envFile'])}, which is not read: set them")
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
            self._notes.append(f"its folder {shortened(cwd)} is not absolute, and was left out")

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
        for key in _SAME:
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
        self._leave_terms(found, tools)
        never = [*self._names("excludeTools"), *self._names("disabled_tools"), *self._names("disabledTools")]
        if never:
            found["denyTools"] = [*found.get("denyTools", ()), *never]
        self._times(found)
        if any(self._take(key) for key in _TRUST):
            self._notes.append("what the client approves by itself was not taken over: each call needs your approval")
        if self._entry.get("disabled") is True or self._entry.get("enabled") is False:
            found["enabled"] = False
            self._notes.append("it is switched off there, and stays so here")
        return found

    def _leave_terms(self, found: dict[str, Any], tools: Any) -> None:
        """What it may reach is taken over from Doorward's own form alone, where the plan shows it."""
        left = [key for key in _TERMS if (value := self._take(key)) is not None and value is not False]
        sandbox = self._take("sandbox")
        if sandbox is not None and self._client == DOORWARD:
            found["sandbox"] = sandbox
            self._notes.append("what it may reach was taken over as the file has it")
        elif sandbox:
            left.append("sandbox")
        if isinstance(tools, dict) and any(tools.values()):
            left.append("what it says of single tools")
        if left:
            self._notes.append(f"not taken over, since that is for you to say: {', '.join(left)}")

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
        return text if self._client == DOORWARD else _VARIABLE.sub(self._variable, text)

    def _variable(self, found: re.Match[str]) -> str:
        """Each client writes variables in its own way; what none of them means is kept as it is, written `$$`."""
        whole, inside, bare = found[0], found[1], found[2]
        if whole == "$$":
            return "$$$$"
        if bare is not None:
            return f"${{{bare}}}" if self._client == "gemini" and not self._own(bare) else whole
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
            self._notes.append(
                f"the client asks for {shortened(name)}: set the variable {variable} where Doorward runs"
            )
            return f"${{{variable}}}"
        if inside in ("userHome", "env:HOME"):
            return "${HOME}"
        if inside in ("workspaceFolder", "workspaceRoot") and self._folder is not None:
            return str(self._folder)
        if inside in ("/", "pathSeparator"):
            return "/"
        if _NAME.fullmatch(inside) and not self._own(inside.partition(":-")[0]):
            if inside.startswith("workspace"):
                self._notes.append(
                    f"${{{inside}}} means a folder of the client; set it as a variable, or edit the entry"
                )
            return f"${{{inside}}}"
        return f"$${{{inside}}}"

    def _own(self, name: str) -> bool:
        """Whether the program finds this variable in the very entry, and so replaces it itself."""
        env = self._entry.get("env")
        return isinstance(env, dict) and name in env


def _project_of(file: str) -> Path | None:
    """The folder of the project that a file such as `.vscode/mcp.json` belongs to."""
    path = Path(file)
    if path.name == ".mcp.json":
        return path.parent
    if path.parent.name not in (".vscode", ".cursor", ".gemini", ".codex", ".zed"):
        return None
    return path.parent.parent if path.parent.parent != Path.home() else None
