"""An MCP client, with the official SDK, that talks to Doorward over either transport.

Over stdio the client starts Doorward itself, as Claude Code and its like do. Nothing has to run before:

    .venv/bin/python examples/mcp_client.py

Over HTTP it talks to a running server (`doorward up`) and shows a token (`doorward token create demo --room=general`):

    DOORWARD_TOKEN=… .venv/bin/python examples/mcp_client.py --url http://127.0.0.1:8642/mcp/general

It lists the tools that its room offers, calls some, is refused one, and asks for something that a person must approve.
The SDK is not part of Doorward: in an environment of your own, `pip install mcp`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult


async def main() -> int:
    options = read_options()
    async with connected(options) as client:
        server = client.server_info
        print(
            f"Connected to {server.name} {server.version}, MCP {client.protocol_version}." if server else "Connected."
        )
        await look_around(client)
        await call(client, "shell_pwd")
        await call(client, "file_list", path=".")
        await call(client, "system_status")  # which the recipe of this room does not allow
        written = await call(client, "file_write", path="hello-mcp.txt", content="Hello from an MCP client.\n")
        await wait_for_a_person(client, written, options.wait)
    return 0


@contextlib.asynccontextmanager
async def connected(options: argparse.Namespace) -> AsyncIterator[Client]:
    """A client that has said hello, over the transport that was chosen."""
    answer = answers_as(options.yes)
    if not options.url:
        command = StdioServerParameters(
            command=doorward(), args=["mcp", "--room", options.room, "--as", "example"], env=dict(os.environ)
        )
        async with Client(command, elicitation_callback=answer) as client:
            yield client
        return
    token = os.environ.get("DOORWARD_TOKEN", "")
    if not token:
        sys.exit("Set DOORWARD_TOKEN; doorward token create demo --room=general makes one.")
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
        transport = streamable_http_client(options.url, http_client=http)
        async with Client(transport, elicitation_callback=answer) as client:
            yield client


async def look_around(client: Client) -> None:
    """What this room offers. Each tool says whether it only reads, and whether it can destroy something."""
    tools = []
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    reading = [tool for tool in tools if tool.annotations and tool.annotations.read_only_hint]
    print(f"{len(tools)} tools, {len(reading)} of which only read. The first of them:")
    for tool in tools[:5]:
        print(f"  {tool.name:24} {(tool.description or '').splitlines()[0]}")


async def call(client: Client, tool: str, **arguments: Any) -> CallToolResult:
    """Call a tool, and show what a model would read."""

    async def show(progress: float, total: float | None, message: str | None) -> None:
        print(f"  … {message or ''}".rstrip())

    print(f"\n{tool} {arguments or ''}".rstrip())
    result = await client.call_tool(tool, arguments, progress_callback=show)
    text = "\n".join(part.text for part in result.content if part.type == "text")
    print(("  refused or failed: " if result.is_error else "  ") + text.strip().replace("\n", "\n  "))
    return result


async def wait_for_a_person(client: Client, result: CallToolResult, seconds: int) -> None:
    """Come back with the ticket of a call that waits, until somebody has decided elsewhere or the time is up."""
    ticket = (result.meta or {}).get("doorward/ticket")
    if not ticket or not seconds:
        return
    print(f"\nWaiting up to {seconds} s for: doorward approvals approve {ticket}")
    for _ in range(seconds):
        await asyncio.sleep(1)
        resumed = await client.call_tool("resume_approved", {"ticket": ticket})
        text = "\n".join(part.text for part in resumed.content if part.type == "text")
        if "still waiting" not in text:
            print(f"  {text.strip()}".replace("\n", "\n  "))
            return
    print("  Nobody decided.")


def answers_as(yes: bool) -> Any:
    """What is done when the server asks the person at this client something: they read it, and decide."""

    async def answer(context: Any, question: ElicitRequestParams) -> ElicitResult:
        print("\nDoorward asks the person at this client:\n  " + question.message.replace("\n", "\n  "))
        if yes:
            said = "y"
        elif sys.stdin.isatty():
            said = await asyncio.to_thread(input, "Approve? [y/N]: ")
        else:
            said = "n"
        print("Answered: " + ("yes" if said == "y" else "no"))
        return ElicitResult(action="accept", content={}) if said == "y" else ElicitResult(action="decline")

    return answer


def doorward() -> str:
    """The program beside this Python, or else the one on the path."""
    beside = Path(sys.executable).parent / "doorward"
    return str(beside) if beside.exists() else shutil.which("doorward") or "doorward"


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="the /mcp address of a running server; without it, Doorward is started")
    parser.add_argument("--room", default="general", help="the room to act in over stdio (default: general)")
    parser.add_argument("--wait", type=int, default=0, help="seconds to wait for an approval that is given elsewhere")
    parser.add_argument("--yes", action="store_true", help="approve what the server asks, without reading it")
    return parser.parse_args()


def told(error: BaseException) -> str:
    """What went wrong, in a line: the SDK reports it from the tasks it happened in, as a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main()))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - whatever it is, a person reads one line of it
        sys.exit(told(error))
