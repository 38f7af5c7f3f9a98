"""`/workspace/x` and `x` are one path for everything that decides about it."""

from __future__ import annotations

import json


async def test_a_path_in_the_workspace_has_one_spelling_for_recipes_approvals_records_and_undo(house):
    rules = {"file/*": {"path": {"glob": "docs/**"}}}
    asks = {"file/edit": True}
    async with house(whitelist=["file/*"], parameterRules=rules, requireApproval=asks) as driver:
        made = await driver.ask("file/write", room="lab", params={"path": "/workspace/docs/a.md", "content": "a\n"})
        assert (made.status, made.result["path"]) == ("done", "docs/a.md"), made
        for command, path in (("file/read", "docs/a.md"), ("file/stat", "/docs//a.md"), ("file/search", "docs/./a.md")):
            more = {"pattern": "a"} if command == "file/search" else {}
            read = await driver.ask(command, room="lab", params={"path": f"/workspace/{path}", **more})
            assert read.status == "done", read
        for inside in ("/secret.md", "//secret.md", "/docs/../secret.md", "", "/docs/../../etc/passwd", "s/docs/a.md"):
            path = f"/workspace{inside}"
            denied = await driver.ask("file/write", room="lab", params={"path": path, "content": "x"})
            assert (denied.status, denied.code) == ("refused", "not_permitted"), denied
        waiting = await driver.ask(
            "file/edit", room="lab", params={"path": "/workspace/docs/a.md", "oldString": "a", "newString": "b"}
        )
        shown = (await driver.owner("approval/show", id=waiting.ticket)).result
        assert shown["params"]["path"] == "docs/a.md"
        await driver.owner("approval/approve", id=waiting.ticket)
        same = {"path": "docs/a.md", "oldString": "a", "newString": "b"}
        assert (await driver.ask("file/edit", room="lab", params=same, ticket=waiting.ticket)).status == "done"
        history = await driver.owner("file/history", path="/workspace/docs/a.md")
        assert [one["command"] for one in history.result["items"]] == ["file/edit", "file/write"]
        rows = [row for row in await driver.ledger() if row["command"] == "file/edit" and row["params"]]
        assert {json.loads(row["params"])["path"] for row in rows} == {"docs/a.md"}
        await driver.owner("undo", execution=history.result["items"][0]["execution"])
        assert (await driver.owner("file/read", path="/workspace/docs/a.md")).result["content"] == "a\n"
