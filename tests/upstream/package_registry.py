"""A registry on loopback that speaks three protocols: the MCP registry API, a Python index, and the npm registry.

Its packages are small servers, made as a test needs them. It can be told to hold an answer back, or to change a file.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

SERVER = """
import json, os, sys
MODE = {mode!r}
TOOLS = [
    {{"name": "look", "inputSchema": {{"type": "object", "required": ["depth"], "properties":
      {{"depth": {{"type": "integer", "minimum": 3}}}}}}, "annotations": {{"readOnlyHint": True}}}},
    {{"name": "change", "inputSchema": {{"type": "object"}}}},
]

def call(name, arguments):
    if MODE == "dies when called":
        print("Error: out of order", file=sys.stderr)
        os._exit(3)
    if name == "change":
        try:
            with open(os.path.join(os.path.dirname(__file__), "own.txt"), "w") as file:
                file.write("changed")
        except OSError as error:
            return error.strerror
    return json.dumps(arguments)

def main():
    if MODE == "dies":
        sys.exit("Error: no such luck")
    for line in sys.stdin:
        asked = json.loads(line)
        if MODE == "silent" or "id" not in asked:
            continue
        method, params, result = asked.get("method"), asked.get("params", {{}}), None
        if method == "initialize":
            result = {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}},
                       "serverInfo": {{"name": "small", "version": "1"}}}}
        elif method == "tools/list":
            result = {{"tools": [] if MODE == "no tools" else TOOLS}}
        elif method == "tools/call":
            text = call(params["name"], params.get("arguments", {{}}))
            result = {{"content": [{{"type": "text", "text": text}}]}}
        elif method == "ping":
            result = {{}}
        answer = {{"result": result}} if result is not None else {{"error": {{"code": -32601, "message": "unknown"}}}}
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], **answer}}), flush=True)
"""
SCRIPT = """#!/usr/bin/env node
const lines = require('node:readline').createInterface({input: process.stdin})
lines.on('line', (line) => {
  const {id, method} = JSON.parse(line)
  const results = {
    initialize: {protocolVersion: '2025-06-18', capabilities: {tools: {}}, serverInfo: {name: 'small', version: '1'}},
    'tools/list': {tools: [{name: 'look', inputSchema: {type: 'object'}}]},
    ping: {},
  }
  const answer = results[method] ? {result: results[method]} : {error: {code: -32601, message: 'unknown'}}
  if (id !== undefined) console.log(JSON.stringify({jsonrpc: '2.0', id, ...answer}))
})
"""


def make_wheel(name: str, mode: str = "", padding: int = 0) -> bytes:
    """A wheel with a server that has a program of the package's name. `padding` adds a file of so many bytes."""
    module, info = name.replace("-", "_"), f"{name.replace('-', '_')}-1.0.dist-info"
    files = {
        f"{module}.py": SERVER.format(mode=mode),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {module}:main\n",
    }
    if padding:
        files[f"{module}_data.txt"] = "x" * padding
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return packed.getvalue()


def make_tarball(name: str, **about: Any) -> bytes:
    """An npm package with a server that has a program of the package's name."""
    package = {"name": name, "version": "1.0.0", "bin": {name: "server.js"}, **about}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in {"package.json": json.dumps(package), "server.js": SCRIPT}.items():
            member = tarfile.TarInfo(f"package/{path}")
            member.size, member.mode = len(text), 0o755
            archive.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


class PackageRegistry:
    def __init__(self) -> None:
        self.url = ""
        self.wheels: dict[str, bytes] = {}
        self.tarballs: dict[str, bytes] = {}
        self.about: dict[str, dict[str, Any]] = {}
        """What the npm registry says about a package, besides its file."""
        self.servers: list[dict[str, Any]] = []
        """What the MCP registry lists."""
        self.promised: dict[str, bytes] = {}
        """Files whose hashes are told, if others are sent."""
        self.elsewhere = ""
        """Where the index says that its files are; empty for here."""
        self.held: set[str] = set()
        """Beginnings of paths whose answers are held back until `release`."""
        self.asked: list[str] = []
        self.release = asyncio.Event()
        self._waits: list[asyncio.Event] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls) -> AsyncIterator[PackageRegistry]:
        found = cls()
        server = await asyncio.start_server(found._serve, "127.0.0.1", 0)
        found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield found
        finally:
            found.release.set()
            server.close()
            await server.wait_closed()

    def put_wheel(self, name: str, mode: str = "", padding: int = 0) -> None:
        self.wheels[name] = make_wheel(name, mode, padding)

    def put_tarball(self, name: str, **about: Any) -> None:
        self.tarballs[name] = make_tarball(name, **about)
        self.about[name] = about

    def list_server(self, name: str, description: str, package: str) -> None:
        packages = [{"registryType": "pypi", "identifier": package, "version": "1.0", "transport": {"type": "stdio"}}]
        self.servers.append({"server": {"name": name, "description": description, "packages": packages}})

    async def wait_held(self) -> None:
        """Wait until an answer is held back."""
        waiting = asyncio.Event()
        self._waits.append(waiting)
        await waiting.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            target = head.split(b" ")[1].decode()
            self.asked.append(target)
            if any(target.startswith(one) for one in self.held):
                for waiting in self._waits:
                    waiting.set()
                await self.release.wait()
            status, media, body = self._answer(urlsplit(target))
            fields = f"HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"{fields}Connection: close\r\n\r\n".encode() + body)
            await writer.drain()
        writer.close()

    def _answer(self, asked: Any) -> tuple[str, str, bytes]:
        path = unquote(asked.path)
        match path.strip("/").split("/", 2):
            case ["v0.1", "servers"]:
                word = parse_qs(asked.query).get("search", [""])[0]
                found = [one for one in self.servers if word in json.dumps(one)]
                return _json({"servers": found, "metadata": {"count": len(found)}})
            case ["v0.1", "servers", rest]:
                named = [one for one in self.servers if rest == f"{one['server']['name']}/versions/latest"]
                return _json(named[0]) if named else _NOT_FOUND
            case ["simple", name] if name in self.wheels:
                file = f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
                digest = hashlib.sha256(self.promised.get(name, self.wheels[name])).hexdigest()
                link = f"{self.elsewhere}/files/{file}#sha256={digest}"
                return "200 OK", "text/html", f'<!DOCTYPE html><a href="{link}">{file}</a>'.encode()
            case ["pypi", name, "json"] if name in self.wheels:
                return _json({"info": {"version": "1.0"}})
            case ["files", file]:
                return "200 OK", "application/octet-stream", self.wheels[file.partition("-")[0].replace("_", "-")]
            case ["npm", name] if name in self.tarballs:
                return _json(self._describe_npm(name))
            case ["npm", "files", name]:
                return "200 OK", "application/octet-stream", self.tarballs[name]
        return _NOT_FOUND

    def _describe_npm(self, name: str) -> dict[str, Any]:
        file = self.promised.get(name, self.tarballs[name])
        integrity = f"sha512-{base64.b64encode(hashlib.sha512(file).digest()).decode()}"
        about = self.about.get(name, {})
        version = {
            "name": name,
            "version": "1.0.0",
            "bin": {name: "server.js"},
            "hasInstallScript": "postinstall" in about.get("scripts", {}),
            "dist": {"tarball": f"{self.url}/npm/files/{name}", "integrity": integrity},
            **about,
        }
        return {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}


_NOT_FOUND = ("404 Not Found", "application/json", b"{}")


def _json(value: Any) -> tuple[str, str, bytes]:
    return "200 OK", "application/json", json.dumps(value).encode()
