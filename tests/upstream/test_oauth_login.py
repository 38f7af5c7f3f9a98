"""`doorward servers login`: a person is shown a page, comes back, and from then on calls are let in."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from guarded_server import Guarded, visit
from scripted_web import scripted

from doorward.config.home import Home
from doorward.core.model import Credential, Request
from doorward.gate.executions.notices import OutputNotice
from doorward_process import Doorward
from waiting import PATIENCE


def written(home: Path, url: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    entries = [{"id": "far", "name": "Far", "url": url}, {"id": "near", "name": "Near", "command": "true"}]
    (home / "mcp-servers.json").write_text(json.dumps({"servers": entries}))


async def test_a_login_through_the_gate_lets_calls_in_and_leaves_no_token_in_any_record(
    home: Home, opened: Callable[..., Any]
) -> None:
    guarded = Guarded()
    async with scripted(guarded) as server:
        guarded.root = server.root
        written(home.path, f"{server.root}/mcp")
        async with opened() as driver:
            before = await driver.owner("mcp/test", server="far")
            assert "doorward servers login far" in before.result["problem"]
            pages: list[asyncio.Task[int]] = []

            def watch(notice: object) -> None:
                if isinstance(notice, OutputNotice):
                    (page,) = re.findall(r"http://\S+", notice.text)
                    pages.append(asyncio.ensure_future(visit(page)))

            request = Request(
                command="mcp/login", credential=Credential(owner=True), door="test", params={"server": "far"}
            )
            outcome = await driver.house.gate.handle(request, watch)
            assert outcome.status == "done", outcome
            assert outcome.result == {"server": "far", "state": "ready", "problem": ""}
            assert [await page for page in pages] == [200]
            called = await driver.ask("mcp/far/knock", by="", room="")
            assert called.result.content == [{"type": "text", "text": "Come in."}]
            refused = await driver.ask("mcp/login", params={"server": "far"})
            assert (refused.status, refused.code) == ("refused", "not_permitted")
            local = await driver.ask("mcp/login", by="", room="", params={"server": "near"})
            assert "only to servers with a `url`" in local.message
            left = [await driver.ask("mcp/logout", by="", room="", params={"server": "far"}) for _ in range(2)]
            assert [one.result["forgotten"] for one in left] == [True, False]
            after = await driver.ask("mcp/far/knock", by="", room="")
            assert after.code == "unreachable"
            assert "doorward servers login far" in after.message
            records = json.dumps(await driver.ledger(), default=str)
    assert "access-1" not in records
    assert "refresh-1" not in records


async def test_the_terminal_shows_the_page_even_where_its_output_is_read_by_a_program(tmp_path: Path) -> None:
    guarded = Guarded()
    async with scripted(guarded) as server:
        guarded.root = server.root
        home = tmp_path / "home"
        written(home, f"{server.root}/mcp")
        doorward = Doorward(home)
        process = doorward.started("servers", "login", "far", "--json")
        assert process.stderr is not None
        with process:
            while not (page := await asyncio.to_thread(process.stderr.readline)).startswith("http://"):
                assert page, "it ended without showing a page"
            assert await visit(page.strip()) == 200
            out, _ = await asyncio.to_thread(process.communicate, timeout=PATIENCE)
        assert process.returncode == 0
        assert json.loads(out)["result"]["state"] == "ready"
        assert "access-1" not in out
