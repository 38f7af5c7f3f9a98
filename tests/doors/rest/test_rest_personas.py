"""Personas by REST: seen, checked, changed, stopped and removed."""

from __future__ import annotations

import json
from typing import Any

JSON = {"Content-Type": "application/json"}


async def test_personas_are_seen_changed_stopped_and_removed(rest: Any) -> None:
    person = await rest.person()
    (guide,) = (await person.get("/api/personas")).json()["items"]
    assert (guide["id"], guide["rooms"], len(guide["suggestions"])) == ("guide", ["general"], 3)
    body = json.dumps({"personaId": "ada", "displayName": "Ada", "rooms": ["general", "later"]})
    checked = await person.post("/api/personas/ada/check", content=body, headers=JSON)
    assert checked.json()["effect"]["before"] is None
    assert (await person.get("/api/personas/ada")).status_code == 404
    put = await person.put("/api/personas/ada", content=body, headers=JSON)
    assert put.json()["awaited"] == ["later"]
    assert (await person.get("/api/personas/ada")).json()["file"] == json.loads(body)
    stopped = await person.post("/api/rooms/general/personas/ada/stop", json={})
    assert stopped.json() == {"id": "ada", "room": "general", "stopped": False}
    assert (await person.delete("/api/personas/ada")).status_code == 200
    bad = await person.put("/api/personas/ada", content='{"personaId": "ada"}', headers=JSON)
    assert bad.status_code == 400
    assert "displayName" in bad.json()["detail"]


async def test_an_agent_cannot_change_personas_and_another_tenant_sees_none(rest: Any) -> None:
    agent = await rest.agent()
    assert (await agent.delete("/api/personas/guide?room=general")).status_code == 403
    other = await rest.tenant()
    assert (await other.get("/api/personas")).json()["items"] == []
    assert (await other.post("/api/rooms/general/personas/guide/stop", json={})).status_code in (403, 404)
