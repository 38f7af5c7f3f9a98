"""Whoever knows the ids of another tenant learns nothing by them: each is simply not there."""

from __future__ import annotations

from typing import Any


async def test_what_belongs_to_another_tenant_is_not_found_anywhere(rest: Any) -> None:
    driver = rest.driver
    owner = await rest.person()
    await driver.owner("user/create", id="bert")
    await driver.owner("room/create", name="secret-lab", recipe="admin")
    await driver.owner("room/say", name="secret-lab", text="whisper")
    await driver.owner("collection/define", name="notes", schema={"type": "object"})
    record = await driver.owner("data/create", collection="notes", id="n1", data={"text": "whisper"})
    parked = await driver.ask("file/write", params={"path": "a.txt", "content": "whisper"})
    token = (await owner.get("/api/tokens")).json()["items"][0]["id"]
    anna = await rest.tenant()
    asked = [
        ("GET", f"/api/executions/{record.call}", None),
        ("GET", f"/api/executions/{record.call}/output", None),
        ("GET", f"/api/executions/{record.call}/stream", None),
        ("POST", f"/api/executions/{record.call}/cancel", {}),
        ("GET", f"/api/approvals/{parked.ticket}", None),
        ("POST", f"/api/approvals/{parked.ticket}/approve", {}),
        ("POST", f"/api/approvals/{parked.ticket}/deny", {}),
        ("POST", "/api/run", {"ticket": parked.ticket}),
        ("GET", "/api/rooms/secret-lab", None),
        ("GET", "/api/rooms/secret-lab/messages", None),
        ("POST", "/api/rooms/secret-lab/messages", {"text": "hello"}),
        ("POST", "/api/rooms/secret-lab/archive", {}),
        ("PUT", "/api/rooms/secret-lab/recipe", {"recipe": "admin"}),
        ("PUT", "/api/rooms/secret-lab/members/anna", {"role": "owner"}),
        ("DELETE", "/api/rooms/secret-lab/members/owner", None),
        ("GET", "/api/audit/1", None),
        ("GET", "/api/data/notes", None),
        ("GET", "/api/data/notes/n1", None),
        ("DELETE", f"/api/tokens/{token}", None),
        ("PATCH", "/api/users/bert", {"access": "read"}),
        ("POST", "/api/users/bert/password", {"password": "four words make one"}),
    ]
    answers = {}
    for method, path, body in asked:
        headers = {"Accept": "text/event-stream"} if path.endswith("/stream") else {}
        answer = await anna.request(method, path, json=body, headers=headers)
        answers[f"{method} {path}"] = answer.status_code
        assert "whisper" not in answer.text
    assert answers == dict.fromkeys(answers, 404)
    assert (await owner.get(f"/api/approvals/{parked.ticket}")).json()["state"] == "pending"
    assert (await owner.get("/api/me")).status_code == 200


async def test_lists_show_only_ones_own_tenant(rest: Any) -> None:
    driver, anna = rest.driver, await rest.tenant()
    await driver.owner("room/say", name="general", text="whisper")
    await driver.ask("file/write", params={"path": "a.txt", "content": "whisper"})
    for path in ("executions", "approvals", "rooms", "tokens", "data/rooms", "data/messages", "data/executions"):
        items = (await anna.get(f"/api/{path}")).json()["items"]
        assert {item.get("caller") for item in items} <= {"anna"}, path
    audit = (await anna.get("/api/audit")).json()["items"]
    events = (await anna.post("/api/run", json={"command": "event/list"})).json()["result"]["items"]
    assert {row["caller"] for row in audit} <= {"anna", "anonymous"}
    assert {item["data"]["caller"] for item in events if "caller" in item["data"]} <= {"anna"}
    assert (await anna.get("/api/audit/verify")).status_code == 403
