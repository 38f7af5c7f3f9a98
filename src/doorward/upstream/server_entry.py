"""One entry of `mcp-servers.json`: reading it with variables and defaults, and editing its text."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn
from urllib.parse import urlsplit

from doorward.config import jsonc
from doorward.config.jsonc import JsonNode, parse_jsonc
from doorward.config.published_schema import SchemaFault
from doorward.core.classification import Tier
from doorward.core.command import shorten
from doorward.core.errors import Conflict, NotFound
from doorward.core.redact import is_secret_name
from doorward.upstream.config import ServerAuth, ServerConfig, ServerSandbox, ToolTerms
from doorward.upstream.variables import (
    MalformedVariable,
    Variables,
    find_passwords,
    find_secrets_in_url,
    find_secrets_in_words,
)

FieldPath = tuple[str | int, ...]

_PROCESS_FIELDS = ("args", "env", "cwd", "sandbox")
_URL_FIELDS = ("headers", "auth")
_PROTOCOL_HEADERS = frozenset(
    (
        "accept",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
"""Headers of the protocol, which an operator cannot set."""
_INVALID_IN_URL = re.compile(r"[\x00-\x20\x7f\\]")
_AUTH_FIELDS = {
    "bearer": ({"token"}, {"token"}),
    "client_credentials": ({"clientId", "clientSecret"}, {"clientId", "clientSecret", "tokenUrl", "scope"}),
    "oauth": (set[str](), {"clientId", "clientSecret", "scope"}),
}
"""For each type, the required and the valid fields."""
_DEFAULTS = ServerSandbox()
_MEGABYTE = 1024 * 1024


class BadEntry(ValueError):
    def __init__(self, fault: SchemaFault) -> None:
        super().__init__(fault.reason)
        self.fault = fault


def make_id(name: str) -> str:
    """Make an id from a name: lower-case letters, digits, hyphens and underscores, starting with a letter."""
    plain = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-_") or "server"
    if not plain[0].isalpha():
        plain = f"s-{plain}"
    return plain[:31].rstrip("-_")


def read_server(raw: Mapping[str, Any], id: str, path: FieldPath, environment: Mapping[str, str]) -> ServerConfig:
    """Read an entry that matches the schema; raises BadEntry for other errors."""
    fault = next(_find_faults(raw, path), None)
    if fault is not None:
        raise BadEntry(fault)
    return _EntryReader(raw, path, environment).server(id)


def _find_faults(raw: Mapping[str, Any], path: FieldPath) -> Iterator[SchemaFault]:
    """Check rules that the schema cannot express."""
    if "command" in raw and "url" in raw:
        yield SchemaFault(
            (*path, "url"), "it has a command and a url; valid: a command to start it, or a url to connect to"
        )
    if "command" not in raw and "url" not in raw:
        yield SchemaFault(path, "it has neither a command nor a url; valid: one of them")
    kind = "http" if "url" in raw else "stdio"
    for key in ("transport", "type"):
        said = "http" if str(raw.get(key)).startswith("streamable") else raw.get(key, kind)
        if said != kind:
            has = "a url, which is http" if kind == "http" else "a command, which is stdio"
            yield SchemaFault((*path, key), f"{shorten(raw[key])} does not match the rest: it has {has}")
    for key in _PROCESS_FIELDS if kind == "http" else _URL_FIELDS:
        if key in raw:
            yield SchemaFault((*path, key), f"it is valid only with a {'command' if kind == 'http' else 'url'}")
    if "enabled" in raw and "disabled" in raw:
        yield SchemaFault((*path, "disabled"), "it has enabled and disabled; valid: one of them")
    yield from _find_auth_faults(raw, path)


def _find_auth_faults(raw: Mapping[str, Any], path: FieldPath) -> Iterator[SchemaFault]:
    for name in raw.get("headers", {}):
        if name.lower() in _PROTOCOL_HEADERS:
            yield SchemaFault((*path, "headers", name), "Doorward sets this protocol header itself; leave it out")
        if name.lower() == "authorization" and "auth" in raw:
            yield SchemaFault((*path, "headers", name), "it has auth as well; valid: one of them")
    auth = raw.get("auth")
    if auth is None:
        return
    needed, taken = _AUTH_FIELDS[auth["type"]]
    for key in sorted(needed - auth.keys()):
        yield SchemaFault((*path, "auth", key), f"it is missing; auth of type {auth['type']} requires it")
    for key in auth.keys() - taken - {"type"}:
        yield SchemaFault(
            (*path, "auth", key), f"auth of type {auth['type']} does not take it; valid: {', '.join(sorted(taken))}"
        )


class _EntryReader:
    def __init__(self, raw: Mapping[str, Any], path: FieldPath, environment: Mapping[str, str]) -> None:
        self._raw = raw
        self._path = path
        self._home = environment.get("HOME") or os.path.expanduser("~")
        self._variables = Variables(environment)

    def server(self, id: str) -> ServerConfig:
        raw, variables = self._raw, self._variables
        allow, terms = self._tools()
        args = tuple(self._text(one, "args", place) for place, one in enumerate(raw.get("args", ())))
        command, url, auth = self._command(), self._url(raw["url"], "url") if "url" in raw else "", self._auth()
        env, headers, sandbox = self._texts("env"), self._texts("headers"), self._sandbox()
        folder = self._absolute(raw["cwd"], "cwd") if "cwd" in raw else ""
        for value in (
            *find_secrets_in_words(args),
            *(one for text in (*args, *env.values()) for one in find_passwords(text)),
        ):
            variables.add_secret(value)
        lacks = self._missing_variables(id)
        wanted = raw.get("enabled", not raw.get("disabled", False))
        approve = raw.get("autoApprove", False)
        return ServerConfig(
            id=id,
            name=raw.get("name", id),
            enabled=wanted and not lacks,
            transport="http" if "url" in raw else "stdio",
            command=command,
            args=args,
            env=env,
            folder=folder,
            url=url,
            headers=headers,
            auth=auth,
            sandbox=sandbox,
            tier=Tier(raw.get("tier", "system")),
            cost=float(raw.get("cost", 5)),
            allow=allow,
            deny=tuple(raw.get("denyTools", ())),
            auto_approve=approve if isinstance(approve, bool) else tuple(approve),
            tools=terms,
            sampling=raw.get("sampling", False),
            timeout_seconds=float(raw.get("timeoutSeconds", 60)),
            start_seconds=float(raw.get("startSeconds", 30)),
            ping_seconds=float(raw.get("pingSeconds", 30)),
            secrets=variables.secrets,
            lacks=lacks,
            problem=lacks if wanted else "",
        )

    def _missing_variables(self, id: str) -> str:
        names = self._variables.missing
        if not names:
            return ""
        which = (
            f"the variable {names[0]}, which is" if len(names) == 1 else f"the variables {', '.join(names)}, which are"
        )
        return (
            f"The server {id} needs {which} not set where Doorward runs; set {'it' if len(names) == 1 else 'them'},"
            f" or write ${{{names[0]}:-default}} in the file."
        )

    def _text(self, text: str, *where: str | int, secret: bool = True) -> str:
        try:
            return self._variables.expand(text, secret=secret)
        except MalformedVariable:
            self._fail("write a variable as ${NAME} or ${NAME:-default}, and a plain dollar sign as $$", *where)

    def _texts(self, key: str) -> dict[str, str]:
        found = {}
        for name, text in self._raw.get(key, {}).items():
            found[name] = self._text(text, key, name)
            if is_secret_name(name):
                self._variables.add_secret(found[name])
            if key == "headers" and ("\n" in found[name] or "\r" in found[name]):
                self._fail("its value contains a line break, which is not valid in a header", key, name)
        return found

    def _command(self) -> str:
        if "command" not in self._raw:
            return ""
        text = self._expand_home(self._text(self._raw["command"], "command", secret=False))
        if "/" in text and not text.startswith("/") and not text.startswith("${"):
            self._fail(f"valid: a program's name or its absolute path; given {shorten(text)}", "command")
        if "/" not in text and any(char.isspace() for char in text):
            first, *rest = text.split()
            as_words = f'"command": {shorten(first)}, "args": [{", ".join(map(shorten, rest))}]'.replace("'", '"')
            self._fail(
                f"valid: one program, with its arguments in args, such as {as_words}; given {shorten(text)}",
                "command",
            )
        return text

    def _expand_home(self, text: str) -> str:
        return self._home + text[1:] if text == "~" or text.startswith("~/") else text

    def _absolute(self, text: str, *where: str | int) -> str:
        path = self._expand_home(self._text(text, *where, secret=False))
        if not path.startswith("/") and not path.startswith("${"):
            self._fail(f"valid: an absolute path, or one that begins with ~/; given {shorten(path)}", *where)
        return os.path.normpath(path)

    def _sandbox(self) -> ServerSandbox:
        raw = self._raw.get("sandbox", {})

        def paths(key: str) -> tuple[str, ...]:
            return tuple(self._absolute(one, "sandbox", key, place) for place, one in enumerate(raw.get(key, ())))

        return ServerSandbox(
            read=paths("read"),
            write=paths("write"),
            network=raw.get("network", False),
            memory_bytes=int(raw["memoryMb"]) * _MEGABYTE if "memoryMb" in raw else _DEFAULTS.memory_bytes,
            processes=int(raw.get("processes", _DEFAULTS.processes)),
        )

    def _url(self, text: str, *where: str | int) -> str:
        """Read a URL. Error messages do not quote it, because it may contain a secret."""
        url = self._text(text, *where)
        if url.startswith("${"):
            return url
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or _INVALID_IN_URL.search(url):
            self._fail("it is not a URL; valid: https:// or http://, a host, and a path", *where)
        if parts.username is not None or parts.password is not None:
            self._fail("it contains a user or password; put them in headers or auth", *where)
        if parts.fragment:
            self._fail("it contains a fragment (#), which is never sent to a server; leave it out", *where)
        for value in find_secrets_in_url(url):
            self._variables.add_secret(value)
        return url

    def _auth(self) -> ServerAuth | None:
        raw = self._raw.get("auth")
        if raw is None:
            return None
        given = {key: self._text(raw.get(key, ""), "auth", key) for key in ("token", "clientId", "clientSecret")}
        for key in ("token", "clientSecret"):
            if given[key]:
                self._variables.add_secret(given[key])
        return ServerAuth(
            type=raw["type"],
            token=given["token"],
            token_url=self._url(raw["tokenUrl"], "auth", "tokenUrl") if "tokenUrl" in raw else "",
            client_id=given["clientId"],
            client_secret=given["clientSecret"],
            scope=self._text(raw.get("scope", ""), "auth", "scope", secret=False),
        )

    def _tools(self) -> tuple[tuple[str, ...] | None, dict[str, ToolTerms]]:
        raw = self._raw.get("tools")
        if not isinstance(raw, dict):
            return (tuple(raw) if raw is not None else None), {}
        return tuple(raw), {
            name: ToolTerms(
                tier=Tier(one["tier"]) if "tier" in one else None,
                cost=float(one["cost"]) if "cost" in one else None,
                timeout_seconds=float(one["timeoutSeconds"]) if "timeoutSeconds" in one else None,
                auto_approve=one.get("autoApprove"),
            )
            for name, one in raw.items()
        }

    def _fail(self, reason: str, *where: str | int) -> NoReturn:
        raise BadEntry(SchemaFault((*self._path, *where), reason))


_LIST, _MAP = "servers", "mcpServers"


def add_server(text: str | None, id: str, entry: Mapping[str, Any]) -> str:
    """Add a server in the file's own format; raises Conflict when the id is taken."""
    if text is None:
        return json.dumps({_LIST: [{"id": id, **entry}]}, indent=2, ensure_ascii=False) + "\n"
    if id in list_ids(text):
        raise Conflict(f"The server {id!r} exists already; choose another id, or remove that server first.")
    root = parse_jsonc(text)
    held = root.find_member(_MAP)
    if held is not None:
        return jsonc.insert_member(text, held.node, id, entry, 1)
    held = root.find_member(_LIST)
    whole = {"id": id, **entry}
    if held is None:
        return jsonc.insert_member(text, root, _LIST, [whole], 0)
    return jsonc.append_element(text, held.node, whole, 1)


def remove_server(text: str | None, id: str) -> str:
    """Remove a server."""
    whole = text or "{}"
    holder, place = _find_server(whole, id)
    return jsonc.remove_entry(whole, holder, place)


def set_enabled(text: str | None, id: str, enabled: bool) -> str:
    """Enable or disable a server; returns the same text when nothing changes."""
    whole = text or "{}"
    holder, place = _find_server(whole, id)
    node = holder.elements[place] if holder.elements is not None else (holder.members or [])[place].node
    opposite = node.find_member("disabled")
    if opposite is not None:
        wanted = not enabled
        same = opposite.node.value is wanted
        return whole if same else jsonc.replace_value(whole, opposite.node, wanted, 0)
    said = node.find_member("enabled")
    if said is None:
        return whole if enabled else jsonc.insert_member(whole, node, "enabled", enabled, 2)
    return whole if said.node.value is enabled else jsonc.replace_value(whole, said.node, enabled, 0)


def list_ids(text: str | None) -> list[str]:
    """The ids of all servers, in file order."""
    if text is None:
        return []
    whole = parse_jsonc(text).value
    return [*(one["id"] for one in whole.get(_LIST, ())), *map(make_id, whole.get(_MAP, {}))]


def get_entry(text: str | None, id: str) -> dict[str, Any]:
    """The fields of one server as they are in the file."""
    whole = text or "{}"
    holder, place = _find_server(whole, id)
    node = holder.elements[place] if holder.elements is not None else (holder.members or [])[place].node
    return {key: value for key, value in node.value.items() if key != "id"}


def _find_server(text: str, id: str) -> tuple[JsonNode, int]:
    """Find the list or map that contains the server, and its index; raises NotFound with the known ids."""
    known = list_ids(text)
    if id not in known:
        there = f"known servers: {', '.join(known)}" if known else "there are no servers"
        raise NotFound(f"There is no server {id!r}; {there}.", hint="doorward servers list shows them.")
    root = parse_jsonc(text)
    held = root.find_member(_MAP) or root.find_member(_LIST)
    assert held is not None  # noqa: S101 - one of them holds the id that was just found
    return held.node, known.index(id)
