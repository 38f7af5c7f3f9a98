"""A registry of MCP servers and an index of Python packages on loopback, with one server: a clock without a network."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

NAME = "example.test/village-clock"
PACKAGE = "village-clock"
_WHEEL = "village_clock-1.0-py3-none-any.whl"
_SERVER = """
import json, sys

TOOL = {
    "name": "chime",
    "description": "Tell what the village clock says.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True},
}
ANSWERS = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "village-clock", "version": "1.0"},
    },
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "It is noon."}]},
    "ping": {},
}


def main():
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked and "method" in asked:
            answer = {"jsonrpc": "2.0", "id": asked["id"]}
            if asked["method"] in ANSWERS:
                answer["result"] = ANSWERS[asked["method"]]
            else:
                answer["error"] = {"code": -32601, "message": "Method not found"}
            print(json.dumps(answer), flush=True)
"""


def make_wheel() -> bytes:
    info = "village_clock-1.0.dist-info"
    files = {
        "village_clock.py": _SERVER,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{PACKAGE} = village_clock:main\n",
    }
    lines = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(text.encode())}")
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


_ENTRY = {
    "server": {
        "name": NAME,
        "description": "Tells what the clock of the village says.",
        "version": "1.0",
        "packages": [{"registryType": "pypi", "identifier": PACKAGE, "version": "1.0", "transport": {"type": "stdio"}}],
    }
}


@contextlib.contextmanager
def serve_registry() -> Iterator[str]:
    """Serve both on a free port, and yield the URL."""
    wheel = make_wheel()
    digest = hashlib.sha256(wheel).hexdigest()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            path = unquote(parts.path)
            if path == "/v0.1/servers":
                word = parse_qs(parts.query).get("search", [""])[0]
                self.respond_json({"servers": [_ENTRY] if word in NAME else [], "metadata": {}})
            elif path == f"/v0.1/servers/{NAME}/versions/latest":
                self.respond_json(_ENTRY)
            elif path == f"/pypi/{PACKAGE}/json":
                self.respond_json({"info": {"version": "1.0"}})
            elif path == f"/simple/{PACKAGE}/":
                page = f'<!DOCTYPE html><a href="/files/{_WHEEL}#sha256={digest}">{_WHEEL}</a>'
                self.respond(200, "text/html", page.encode())
            elif path == f"/files/{_WHEEL}":
                self.respond(200, "application/octet-stream", wheel)
            else:
                self.respond(404, "text/plain", b"")

        def respond_json(self, body: Any) -> None:
            self.respond(200, "application/json", json.dumps(body).encode())

        def respond(self, status: int, media: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", media)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
