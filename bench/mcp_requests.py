"""Requests to an MCP server over HTTP, as bytes, in both eras of the protocol."""

from __future__ import annotations

import http.client
import json
from typing import Any

from bench.scratch import ROOM
from bench.serving import Served
from bench.volley import Shot

NEW = "2026-07-28"
OLD = "2025-11-25"
TOOL = "bench_read"
_NUMBER = 1_000_000
"""Stands in a request wherever each call has a number of its own."""
_META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def path(server: Served) -> str:
    return f"/mcp/{ROOM}" if "token" in server.facts else "/mcp"


def headers(server: Served, version: str, method: str, name: str = "", session: str = "") -> dict[str, str]:
    host, port = server.address
    given = {
        "Host": f"{host}:{port}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": version,
    }
    if "token" in server.facts:
        given["Authorization"] = f"Bearer {server.facts['token']}"
    if version == NEW:
        given |= {"Mcp-Method": method} | ({"Mcp-Name": name} if name else {})
    return given | ({"Mcp-Session-Id": session} if session else {})


def message(version: str, method: str, id: int = _NUMBER, /, **params: Any) -> bytes:
    given = {**params, "_meta": _META} if version == NEW else params
    asked = {"jsonrpc": "2.0", "id": id, "method": method, "params": given}
    return json.dumps(asked, separators=(",", ":")).encode()


def calling(server: Served, version: str, session: str = "", *, tool: str = TOOL, echoed: bool = True) -> Shot:
    """The call of a trivial tool."""
    body = message(version, "tools/call", name=tool, arguments={"number": _NUMBER})
    given = headers(server, version, "tools/call", tool, session) | {"Content-Length": str(len(body))}
    head = "".join(f"{key}: {value}\r\n" for key, value in given.items())
    start = f"POST {path(server)} HTTP/1.1\r\n{head}\r\n".encode()
    parts = (start + body).split(str(_NUMBER).encode())
    return Shot(tuple(parts), echoed=echoed, holds=b'"structuredContent"')


class Client:
    """One client that asks for one thing after the other."""

    def __init__(self, server: Served) -> None:
        self._server = server
        self._connection = http.client.HTTPConnection(*server.address, timeout=30)
        self._connection.connect()

    def ask(self, version: str, method: str, session: str = "", **params: Any) -> tuple[dict[str, str], bytes]:
        """The headers and the text of the answer to one request, which must have a result."""
        answer, text = self._post(version, method, session, message(version, method, **params))
        if answer.status != http.client.OK or b'"result"' not in text:
            raise RuntimeError(f"{method} was to be measured, but the answer was {answer.status}: {text[:500]!r}")
        return {key.lower(): value for key, value in answer.getheaders()}, text

    def session(self) -> str:
        """A session of the older era, begun as its servers want it."""
        client = {"name": "bench", "version": "1"}
        found, _ = self.ask(OLD, "initialize", protocolVersion=OLD, capabilities={}, clientInfo=client)
        session = found.get("mcp-session-id", "")
        begun = "notifications/initialized"
        self._post(OLD, begun, session, json.dumps({"jsonrpc": "2.0", "method": begun}).encode())
        return session

    def _post(self, version: str, method: str, session: str, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        given = headers(self._server, version, method, "", session)
        self._connection.request("POST", path(self._server), body, given)
        answer = self._connection.getresponse()
        return answer, answer.read()

    def close(self) -> None:
        self._connection.close()
