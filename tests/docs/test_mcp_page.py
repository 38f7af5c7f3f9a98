"""docs/MCP.md says what the door does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from doorward.config.settings import McpSettings
from doorward.core.wire import codes
from doorward.doors.http.applications import HttpApplications
from doorward.doors.mcp import prompts, resource_uris, tools
from doorward.doors.mcp.dispatcher import McpDispatcher
from doorward.doors.mcp.versions import Era

PAGE = (Path(__file__).parents[2] / "docs" / "MCP.md").read_text()


def _rows(heading: str) -> list[list[str]]:
    """The rows of the tables below a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]


def _names(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


async def test_the_request_on_the_page_is_answered(driver: Any) -> None:
    block = PAGE.partition("```http\n")[2].partition("```")[0]
    head, _, body = block.partition("\n\n")
    first, *lines = head.splitlines()
    headers = dict(line.split(": ", 1) for line in lines)
    headers["Authorization"] = f"Bearer {await driver.token('claude')}"
    transport = httpx2.ASGITransport(HttpApplications(driver.house.gate, driver.house.services).public)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        answer = await client.post(first.split()[1], content=body.strip().encode())
    assert answer.status_code == 200, answer.text
    assert answer.json()["result"]["structuredContent"]["items"][0]["id"] == "general"


async def test_the_page_names_every_method_of_each_era(driver: Any) -> None:
    handlers = McpDispatcher(driver.house.gate, driver.house.services)._handlers
    rows = [row for row in _rows("Versions") if row[0].startswith("`")]
    for column, era in ((1, Era.STATELESS), (2, Era.SESSIONS)):
        said = {name for row in rows if row[column] == "yes" for name in _names(row[0])}
        assert said == set(handlers[era])


def test_the_page_names_every_version_error_and_setting() -> None:
    assert all(version in PAGE for version in codes.SUPPORTED)
    told = " ".join(row[0] for row in _rows("Errors"))
    numbers = [value for name, value in vars(codes).items() if isinstance(value, int)]
    assert [number for number in numbers if str(number) not in told] == []
    settings = set(re.findall(r"`mcp\.(\w+)", PAGE))
    assert settings <= {field.name for field in msgspec.structs.fields(McpSettings)}


def test_the_page_names_every_tool_prompt_and_resource_of_the_door() -> None:
    own = {tools.RUN, tools.RESUME_TOOL.name, *tools.ALIASES}
    templates = {
        resource_uris.FILE_TEMPLATE,
        resource_uris.ROOM_TEMPLATE,
        resource_uris.FILES_URI,
        resource_uris.LEDGER_URI,
    }
    wanted = own | templates | {prompts.WORK_HERE, prompts.USE, prompts.TASK}
    assert [name for name in sorted(wanted) if f"`{name}" not in PAGE] == []
    for row in _rows("Resources and prompts")[2:]:
        (uri,) = _names(row[0])
        command = resource_uris.command_for(uri.replace("{room}", "general").replace("{+path}", "a"))
        assert command in _names(row[2]), json.dumps(row)
