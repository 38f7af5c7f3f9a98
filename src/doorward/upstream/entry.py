"""Reads one entry of `mcp-servers.json`: expands variables, makes paths absolute, fills in defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn
from urllib.parse import urlsplit

from doorward.command import shortened
from doorward.edited.published import Fault
from doorward.facts import Tier
from doorward.redact import tells_of_a_secret
from doorward.upstream.config import Auth, ServerConfig, Surroundings, ToolTerms
from doorward.upstream.plain import passwords
from doorward.upstream.variables import Malformed, Variables, secrets_in_address, secrets_in_words

Path = tuple[str | int, ...]

_OF_PROCESSES = ("args", "env", "cwd", "sandbox")
_OF_ADDRESSES = ("headers", "auth")
_OUR_HEADERS = frozenset(
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
_NOT_IN_ADDRESS = re.compile(r"[\x00-\x20\x7f\\]")
_AUTH_FIELDS = {
    "bearer": ({"token"}, {"token"}),
    "client_credentials": ({"clientId", "clientSecret"}, {"clientId", "clientSecret", "tokenUrl", "scope"}),
    "oauth": (set[str](), {"clientId", "clientSecret", "scope"}),
}
"""For each type, the required and the valid fields."""
_DEFAULTS = Surroundings()
_MEGABYTE = 1024 * 1024


class BadEntry(ValueError):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason)
        self.fault = fault


def as_id(name: str) -> str:
    """Make an id from a name: lower-case letters, digits, hyphens and underscores, starting with a letter."""
    plain = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-_") or "server"
    if not plain[0].isalpha():
        plain = f"s-{plain}"
    return plain[:31].rstrip("-_")


def server(raw: Mapping[str, Any], id: str, path: Path, environment: Mapping[str, str]) -> ServerConfig:
    """Read an entry that matches the schema; raises BadEntry for other errors."""
    fault = next(_faults(raw, path), None)
    if fault is not None:
        raise BadEntry(fault)
    return _Reader(raw, path, environment).server(id)


def _faults(raw: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    """Check rules that the schema cannot express."""
    if "command" in raw and "url" in raw:
        yield Fault((*path, "url"), "it has a command and a url; valid: a command to start it, or a url to connect to")
    if "command" not in raw and "url" not in raw:
        yield Fault(path, "it has neither a command nor a url; valid: one of them")
    kind = "http" if "url" in raw else "stdio"
    for key in ("transport", "type"):
        said = "http" if str(raw.get(key)).startswith("streamable") else raw.get(key, kind)
        if said != kind:
            has = "a url, which is http" if kind == "http" else "a command, which is stdio"
            yield Fault((*path, key), f"{shortened(raw[key])} does not match the rest: it has {has}")
    for key in _OF_PROCESSES if kind == "http" else _OF_ADDRESSES:
        if key in raw:
            yield Fault((*path, key), f"it is valid only with a {'command' if kind == 'http' else 'url'}")
    if "enabled" in raw and "disabled" in raw:
        yield Fault((*path, "disabled"), "it has enabled and disabled; valid: one of them")
    yield from _auth_faults(raw, path)


def _auth_faults(raw: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    for name in raw.get("headers", {}):
        if name.lower() in _OUR_HEADERS:
            yield Fault((*path, "headers", name), "Doorward sets this protocol header itself; leave it out")
        if name.lower() == "authorization" and "auth" in raw:
            yield Fault((*path, "headers", name), "it has auth as well; valid: one of them")
    auth = raw.get("auth")
    if auth is None:
        return
    needed, taken = _AUTH_FIELDS[auth["type"]]
    for key in sorted(needed - auth.keys()):
        yield Fault((*path, "auth", key), f"it is missing; auth of type {auth['type']} requires it")
    for key in auth.keys() - taken - {"type"}:
        yield Fault(
            (*path, "auth", key), f"auth of type {auth['type']} does not take it; valid: {', '.join(sorted(taken))}"
        )


class _Reader:
    def __init__(self, raw: Mapping[str, Any], path: Path, environment: Mapping[str, str]) -> None:
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
        for value in (*secrets_in_words(args), *(one for text in (*args, *env.values()) for one in passwords(text))):
            variables.hide(value)
        lacks = self._missing(id)
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

    def _missing(self, id: str) -> str:
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
            return self._variables.expanded(text, secret=secret)
        except Malformed:
            self._fail("write a variable as ${NAME} or ${NAME:-default}, and a plain dollar sign as $$", *where)

    def _texts(self, key: str) -> dict[str, str]:
        found = {}
        for name, text in self._raw.get(key, {}).items():
            found[name] = self._text(text, key, name)
            if tells_of_a_secret(name):
                self._variables.hide(found[name])
            if key == "headers" and ("\n" in found[name] or "\r" in found[name]):
                self._fail("its value contains a line break, which is not valid in a header", key, name)
        return found

    def _command(self) -> str:
        if "command" not in self._raw:
            return ""
        text = self._home_in(self._text(self._raw["command"], "command", secret=False))
        if "/" in text and not text.startswith("/") and not text.startswith("${"):
            self._fail(f"valid: a program's name or its absolute path; given {shortened(text)}", "command")
        if "/" not in text and any(char.isspace() for char in text):
            first, *rest = text.split()
            as_words = f'"command": {shortened(first)}, "args": [{", ".join(map(shortened, rest))}]'.replace("'", '"')
            self._fail(
                f"valid: one program, with its arguments in args, such as {as_words}; given {shortened(text)}",
                "command",
            )
        return text

    def _home_in(self, text: str) -> str:
        return self._home + text[1:] if text == "~" or text.startswith("~/") else text

    def _absolute(self, text: str, *where: str | int) -> str:
        path = self._home_in(self._text(text, *where, secret=False))
        if not path.startswith("/") and not path.startswith("${"):
            self._fail(f"valid: an absolute path, or one that begins with ~/; given {shortened(path)}", *where)
        return os.path.normpath(path)

    def _sandbox(self) -> Surroundings:
        raw = self._raw.get("sandbox", {})

        def paths(key: str) -> tuple[str, ...]:
            return tuple(self._absolute(one, "sandbox", key, place) for place, one in enumerate(raw.get(key, ())))

        return Surroundings(
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
        if not usable or _NOT_IN_ADDRESS.search(url):
            self._fail("it is not a URL; valid: https:// or http://, a host, and a path", *where)
        if parts.username is not None or parts.password is not None:
            self._fail("it contains a user or password; put them in headers or auth", *where)
        if parts.fragment:
            self._fail("it contains a fragment (#), which is never sent to a server; leave it out", *where)
        for value in secrets_in_address(url):
            self._variables.hide(value)
        return url

    def _auth(self) -> Auth | None:
        raw = self._raw.get("auth")
        if raw is None:
            return None
        given = {key: self._text(raw.get(key, ""), "auth", key) for key in ("token", "clientId", "clientSecret")}
        for key in ("token", "clientSecret"):
            if given[key]:
                self._variables.hide(given[key])
        return Auth(
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
        raise BadEntry(Fault((*self._path, *where), reason))
