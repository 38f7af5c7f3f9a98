"""A client of Doorward's line door, with nothing but the standard library.

Start Doorward with its line door open, and run this file beside it:

    USHELL_MCP_ENABLED=1 doorward up
    python examples/line_client.py

The protocol is one JSON object a line. A request is {"id", "method", "params"}; its answer has the same id and the type
"response" or "error". In between, notifications (id null) may tell of calls that take a while.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Any


class LineError(Exception):
    """An answer of the type "error": `code` says what kind, and the message is a full sentence."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error
        self.code: str = error["code"]


class LineClient:
    """One connection. Use it in a `with`, so that it is closed whatever happens."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 9000,
        *,
        token: str = "",
        on_notification: Callable[[dict[str, Any]], None] = lambda notification: None,
    ) -> None:
        self._socket = socket.create_connection((host, port), timeout=120)
        # A line can be longer than any single recv, so lines are read through a file and never with recv(4096).
        self._lines = self._socket.makefile("rb")
        self._ids = itertools.count(1)
        self._on_notification = on_notification
        try:
            self.server = self.request("initialize", {"token": token} if token else {})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> LineClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Send one request and wait for its answer; notifications that come before it are handed over."""
        # A client is known by its token or its address, so two programs side by side must not use the same ids.
        id = f"{os.getpid()}-{next(self._ids)}"
        line = json.dumps({"id": id, "method": method, "params": params or {}})
        self._socket.sendall(line.encode() + b"\n")
        for text in self._lines:
            try:
                message = json.loads(text)
            except ValueError:
                raise ConnectionError(f"This is no line door; it answered {text[:60]!r}.") from None
            if message["type"] == "notification":
                self._on_notification(message)
            elif message["type"] == "error" and message["id"] in (id, None):
                raise LineError(message["error"])
            elif message["id"] == id:
                return message["result"]
        raise ConnectionError("The server closed the connection before it answered.")

    def tools(self) -> list[dict[str, Any]]:
        """Everything that this client may call here, each with a schema and hints."""
        found: list[dict[str, Any]] = self.request("list_tools")["tools"]
        return found

    def call(self, tool: str, *, attempts: int = 3, **args: Any) -> dict[str, Any]:
        """Call a tool. When the answer says that it helps to wait, wait that long and try again."""
        return self._patiently({"tool": tool, "args": args}, attempts)

    def resume(self, ticket: str) -> dict[str, Any]:
        """Run what waited for a person's approval, once that is given."""
        return self._patiently({"ticket": ticket}, 1)

    def _patiently(self, params: dict[str, Any], attempts: int) -> dict[str, Any]:
        for attempt in itertools.count(1):
            try:
                result: dict[str, Any] = self.request("call_tool", params)
                return result
            except LineError as error:
                wait = error.error.get("retry_after")
                if error.code not in ("too_fast", "overloaded") or wait is None or attempt >= attempts:
                    raise
                time.sleep(wait)
        raise AssertionError("the loop above always returns or raises")


def tour(client: LineClient) -> None:
    """Every operation once, with what it is good for."""
    who = client.server["client"]
    print(f"Connected to {client.server['server']} {client.server['version']} as {who['id']} in room {who['room']}.")

    tools = client.tools()
    print(f"\nThere are {len(tools)} tools here. The popular ones:")
    for tool in tools:
        if tool["metadata"]["popular"]:
            print(f"  {tool['name']:<14} {tool['description'].partition(chr(10))[0]}")

    print("\nA simple call:")
    print(f"  pwd gives {client.call('pwd')['output']}")

    print("\nA call with arguments; no shell reads them, so signs mean nothing:")
    print(f"  echo gives {client.call('echo', text='test; rm -rf /')['output']}")

    print("\nA chain: what one call gives goes into the next.")
    listing = client.call("ls", oneColumn=True)["output"]
    counted = client.call("wc", lines=True, input=f"{listing}\n" if listing else "")["output"]
    print(f"  ls and wc: {counted.strip()} entries in the workspace")

    print("\nA call that takes a while tells how it goes:")
    client.call("sleep", seconds=2)

    print("\nFrom words to a command:")
    suggestion = client.call("suggest_command", query="show all text files in current directory")["data"]
    print(f"  {suggestion['suggestion']}")
    found = client.call(suggestion["tool"], **suggestion["args"])["output"]
    print(f"  which gives: {found or 'nothing yet'}")

    print("\nErrors are sentences, with a code to act on:")
    for tool, args in (("ls", {"path": "../../etc"}), ("sudo", {}), ("bash", {"command": "echo hello > greeting.txt"})):
        try:
            client.call(tool, **args)
        except LineError as error:
            print(f"  {tool}: {error.code}: {error}")
            if error.code == "approval_needed":
                ticket = error.error["ticket"]
                print(f"    A person says yes with `doorward approvals approve {ticket}`; once it is approved,")
                print("    calling with the ticket alone runs it.")


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=os.environ.get("USHELL_MCP_PORT", "9000"))
    parser.add_argument("--token", default=os.environ.get("DOORWARD_TOKEN", ""), help="a token, for other accounts")
    return parser


def show(notification: dict[str, Any]) -> None:
    print(f"  [{notification['event']}] {notification['message']}")


def main() -> int:
    given = arguments("Try every operation of the line door once.").parse_args()
    try:
        with LineClient(given.host, given.port, token=given.token, on_notification=show) as client:
            tour(client)
    except ConnectionRefusedError:
        print(f"Nobody listens on {given.host}:{given.port}. Start: USHELL_MCP_ENABLED=1 doorward up", file=sys.stderr)
        return 1
    except (OSError, LineError) as error:
        print(f"The line door on {given.host}:{given.port} did not serve this: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
