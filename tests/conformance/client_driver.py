"""The client that the official suite judges: one server of Doorward's own kind, told by a scenario what to do with it.

The suite starts it once for each scenario. Everything it does goes through the parts that a house stands on; here are
only a person who follows every link at once, and which tools to call.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from doorward.core.clock import Clock
from doorward.upstream.calls import CallHooks, QuestionAnswer, ServerQuestion
from doorward.upstream.config import ServerAuth, ServerConfig
from doorward.upstream.http_connector import HttpConnector
from doorward.upstream.outbound import OutboundPolicy
from doorward.upstream.server import ServerClient

_DOCUMENT = "https://conformance-test.local/client-metadata.json"
_VALUES = {"number": 1.5, "integer": 2, "boolean": True}
_LISTS_ONLY = {"json-schema-ref-no-deref"}
_TWICE = {"auth/authorization-server-migration"}


async def visit(url: str) -> None:
    """A person with a browser that follows every redirect, in the end to the page of ours."""

    def opened() -> None:
        with urllib.request.urlopen(url, timeout=120) as page:
            page.read()

    await asyncio.to_thread(opened)


async def agree(wanted: ServerQuestion) -> QuestionAnswer:
    """A person who accepts what a form proposes."""
    fields = wanted.params["requestedSchema"]["properties"]
    return QuestionAnswer(action="accept", content={name: field.get("default", True) for name, field in fields.items()})


def arguments(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: _VALUES.get(part.get("type"), "x") for name, part in schema.get("properties", {}).items()}


def entry(url: str, scenario: str, context: dict[str, Any]) -> ServerConfig:
    auth = None
    if "client_id" in context:
        kind: Any = "client_credentials" if "client-credentials" in scenario else "oauth"
        auth = ServerAuth(type=kind, client_id=context["client_id"], client_secret=context.get("client_secret", ""))
    return ServerConfig(id="suite", name="suite", transport="http", url=url, auth=auth, timeout_seconds=60)


async def use(server: ServerClient, scenario: str, context: dict[str, Any]) -> None:
    """Call what there is to call, once, and read what there is to read."""
    calls = context.get("toolCalls") or [
        {"name": tool.name, "arguments": arguments(tool.input_schema)} for tool in server.definitions
    ]
    if scenario == "json-schema-2020-12-preservation":
        (focal,) = [tool for tool in server.definitions if tool.name != "json_schema_echo"]
        calls = [{"name": "json_schema_echo", "arguments": {"schema": focal.input_schema}}]
    if scenario in _LISTS_ONLY:
        calls = []
    for call in calls * (2 if scenario in _TWICE else 1):
        result = await server.call(call["name"], call["arguments"], CallHooks(ask=agree), 10)
        print(f"{call['name']}: {result.content}")
    for resource in server.resources:
        await server.read(resource["uri"])
    for prompt in server.prompts:
        await server.prompt(prompt["name"], {})


async def main(url: str) -> None:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with tempfile.TemporaryDirectory(prefix="doorward-conformance-client-") as home:
        remote = HttpConnector(
            home=Path(home),
            outbound=OutboundPolicy(["127.0.0.0/8", "::1"]),
            clock=Clock(),
            document=_DOCUMENT if scenario == "auth/basic-cimd" else "",
            person=visit,
        )
        settled = asyncio.Event()
        server = ServerClient(entry(url, scenario, context), remote.connect, Clock(), lambda _: settled.set())
        server.start()
        try:
            while server.state == "starting":
                settled.clear()
                await settled.wait()
            print("\n".join(server.log), file=sys.stderr)
            if server.state != "ready":
                sys.exit(server.problem)
            print(server.info.protocol, server.problem)
            await use(server, scenario, context)
        finally:
            await server.stop()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
