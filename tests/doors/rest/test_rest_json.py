"""The REST door reads strict JSON and nothing that merely looks like it."""

from __future__ import annotations

from typing import Any

from json_texts import FORBIDDEN, OURS_REFUSED

REFUSED = (*FORBIDDEN, *(text for text, _ in OURS_REFUSED))
JSON = {"Content-Type": "application/json"}


async def test_no_body_that_json_forbids_is_taken(rest: Any) -> None:
    person = await rest.person()
    wrapped = [
        ("/api/run", lambda text: b'{"command":"data/list","params":' + text + b"}"),
        ("/api/commands/data_list/run", lambda text: b'{"collection":' + text + b"}"),
        ("/api/explain", lambda text: text),
        ("/api/query", lambda text: b'{"sql":' + text + b"}"),
        ("/api/auth/login", lambda text: b'{"user":"a","password":' + text + b"}"),
    ]
    before = len(await rest.driver.ledger())
    for number, text in enumerate(REFUSED):
        path, wrap = wrapped[number % len(wrapped)]
        answer = await person.post(path, content=wrap(text), headers=JSON)
        assert answer.status_code in (400, 413), (path, text, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
    assert len(await rest.driver.ledger()) == before


async def test_no_recipe_that_json_forbids_is_put(rest: Any) -> None:
    person = await rest.person()
    for text in REFUSED[:: len(REFUSED) // 20]:
        answer = await person.put("/api/recipes/mine", content=text or b" ", headers=JSON)
        assert answer.status_code == 400, (text, answer.text)
    assert (await person.get("/api/recipes/mine")).status_code == 404
