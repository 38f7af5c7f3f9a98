"""What gateways to MCP servers are measured with: the trivial upstream, and the gateways of others."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.upstream_direct import command, measure
from mcp import Client, StdioServerParameters

from bench import upstream_calls, upstream_peers
from waiting import PATIENCE

GATEWAY = """
import http.server, json, sys

class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = asked.get("params", {}).get("arguments", {}).get("number")
        result = {"content": [], "structuredContent": {"number": number}}
        body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass

http.server.ThreadingHTTPServer.request_queue_size = 64
port = int(sys.argv[sys.argv.index("--port") + 1])
http.server.ThreadingHTTPServer(("127.0.0.1", port), Answer).serve_forever()
"""
"""Stands in for a gateway of others: it listens where it is told to, and answers calls by itself."""


def install(folder: Path, code: str) -> None:
    program = folder / "mcp-proxy" / "bin" / "mcp-proxy"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\n{code}")
    program.chmod(0o755)


async def test_the_trivial_upstream_is_a_server_that_the_official_client_understands() -> None:
    program, *words = command(3)
    async with Client(StdioServerParameters(command=program, args=words), mode="legacy") as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("echo2", {"number": 7})
    assert tools == ["echo", "echo1", "echo2"]
    assert result.structured_content == {"number": 7}


def test_the_trivial_upstream_ends_with_its_input() -> None:
    asked = b'{"jsonrpc":"2.0","id":"a","method":"ping"}\n{"jsonrpc":"2.0","method":"notifications/x"}\n'
    done = subprocess.run(command(), input=asked, capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": "a", "result": {}}


def test_without_a_gateway_it_is_asked_ahead_and_one_after_the_other() -> None:
    found = measure(200, 16)
    assert found.calls > 0
    assert found.alone > 0


def test_without_the_gateways_of_others_nothing_of_them_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream_peers, "INSTALLED", tmp_path)
    with upstream_peers.peers(tmp_path) as found:
        assert found == {}


def test_a_gateway_of_others_is_started_asked_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, GATEWAY)
    monkeypatch.setattr(upstream_peers, "INSTALLED", tmp_path)
    with upstream_peers.peers(tmp_path) as found, contextlib.ExitStack() as stack:
        (gateway,) = found.values()
        lane = upstream_calls.Lane(stack, gateway, "echo")
        lane.run(0.05)
        assert len(lane.alone) > 0
        assert lane.rates[0] > 0
        assert lane.cpu[0] > 0
    assert list(found) == ["mcp-proxy"]
    assert not Path(f"/proc/{gateway.process}").exists()


def test_a_gateway_of_others_that_ends_at_once_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "raise SystemExit(3)")
    monkeypatch.setattr(upstream_peers, "INSTALLED", tmp_path)
    with pytest.raises(RuntimeError, match="did not listen"), upstream_peers.peers(tmp_path):
        pass


def test_the_time_of_the_upstream_is_not_that_of_the_gateway() -> None:
    with subprocess.Popen(command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b'{"id":1,"method":"ping"}\n')
        server.stdin.flush()
        server.stdout.readline()  # it runs, and has used time
        assert upstream_calls.spent(server.pid) == 0.0
        assert upstream_calls.spent(os.getpid()) > 0
        server.stdin.close()
    assert upstream_calls.spent(server.pid) == 0.0
