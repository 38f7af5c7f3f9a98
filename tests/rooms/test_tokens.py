"""Tokens: only what this house signed, knows and has not revoked (R8.3, INCIDENTS on JWT)."""

from __future__ import annotations

import base64
import json

import jwt
import pytest


async def caller_of(driver, text):
    return (await driver.ask("room/list", token=text, room="general")).code


def forged(text: str, key: bytes, *, header=None, **claims) -> str:
    """The same token with other claims or another header."""
    body = jwt.decode(text, options={"verify_signature": False})
    body.update(claims)
    body = {name: value for name, value in body.items() if value is not None}
    return jwt.encode(body, key, algorithm="HS256", headers=header)


async def test_a_token_acts_as_the_agent_it_names_for_its_user_and_nobody_else(driver):
    text = await driver.token("cursor", rooms=["general"], access="read")
    outcome = await driver.ask("room/list", token=text, room="general")
    row = (await driver.ledger())[-1]
    assert outcome.status == "done"
    assert (row["caller"], row["kind"], row["behalf"]) == ("cursor", "ai", "owner")


async def test_a_token_reaches_no_further_than_its_access_rooms_and_user(driver):
    text = await driver.token("cursor", rooms=["general"], access="read")
    await driver.owner("room/create", name="lab", recipe="admin")
    write = await driver.ask("file/write", token=text, room="general", params={"path": "a", "content": "b"})
    elsewhere = await driver.ask("room/list", token=text, room="lab")
    several = await driver.token("several", rooms=["general", "lab"], access="read")
    outside = await driver.ask("room/list", token=several, room="")
    await driver.owner("user/create", id="anna", access="read")
    more = await driver.ask("token/create", by="", room="", params={"name": "big", "user": "anna", "access": "full"})
    assert [write.code, elsewhere.code, outside.code] == ["not_permitted"] * 3
    assert (more.status, more.code) == ("failed", "bad_params")


async def test_a_token_loses_its_force_when_revoked_expired_or_its_user_is_stopped(driver, clock):
    await driver.owner("user/create", id="anna", access="edit")
    await driver.owner("room/join", name="general", member="anna")
    revoked, expired, orphan = [
        await driver.token(name, user="anna", access="read", days=days)
        for name, days in (("a", 30), ("b", 1), ("c", 30))
    ]
    ids = {item["name"]: item["id"] for item in (await driver.owner("token/list")).result["items"]}
    assert [await caller_of(driver, text) for text in (revoked, expired, orphan)] == ["ok"] * 3
    await driver.owner("token/revoke", id=ids["a"])
    assert await caller_of(driver, revoked) == "not_authenticated"
    clock.advance(86_401)
    assert await caller_of(driver, expired) == "not_authenticated"
    assert await caller_of(driver, orphan) == "ok"
    await driver.owner("user/change", id="anna", active=False)
    assert await caller_of(driver, orphan) == "not_authenticated"


async def test_lowering_a_users_access_lowers_their_tokens(driver):
    await driver.owner("user/create", id="anna", access="full")
    await driver.owner("room/join", name="general", member="anna")
    text = await driver.token("a", user="anna", access="full")
    before = await driver.ask("file/write", token=text, room="general", params={"path": "a", "content": "a"})
    assert before.code != "not_permitted"
    await driver.owner("user/change", id="anna", access="read")
    outcome = await driver.ask("file/write", token=text, room="general", params={"path": "a", "content": "b"})
    assert outcome.code == "not_permitted"


async def test_forged_tokens_are_refused(driver, home):
    good = await driver.token("cursor", rooms=["general"], access="read")
    key = home.load_key()
    header, body, signature = good.split(".")
    none = base64.urlsafe_b64encode(json.dumps({"alg": "none", "typ": "JWT"}).encode()).rstrip(b"=").decode()
    bad = {
        "other key": forged(good, b"x" * 32),
        "alg none": f"{none}.{body}.",
        "alg none, signed": f"{none}.{body}.{signature}",
        "other issuer": forged(good, key, iss="somebody"),
        "other audience": forged(good, key, aud="somebody"),
        "no audience": forged(good, key, aud=None),
        "unknown id": forged(good, key, jti="0" * 16),
        "no id": forged(good, key, jti=None),
        "no tenant": forged(good, key, tenant=None),
        "crit header": forged(good, key, header={"crit": ["b64"], "b64": False}),
        "key id header": forged(good, key, header={"kid": "../../secret"}),
        "jku header": forged(good, key, header={"jku": "http://127.0.0.1/keys"}),
        "cut signature": good[:-4],
        "empty signature": f"{header}.{body}.",
        "padding": f"{good}==",
        "four parts": f"{good}.x",
        "not ascii": f"{good}é",
        "very long": "a" * 100_000,
        "two tokens": f"{good} {good}",
    }
    codes = {name: await caller_of(driver, text) for name, text in bad.items()}
    assert codes == dict.fromkeys(bad, "not_authenticated")
    assert await caller_of(driver, good) == "ok"


async def test_claims_in_a_token_grant_nothing_by_themselves(driver, home):
    good = await driver.token("cursor", rooms=["general"], access="read")
    wide = forged(good, home.load_key(), access="root", kind="human", sub="owner", tenant="elsewhere")
    outcome = await driver.ask("token/list", token=wide, room="")
    assert outcome.code == "not_authenticated"


async def test_the_token_itself_is_kept_nowhere(driver, home):
    text = await driver.token("cursor")
    listed = await driver.owner("token/list")
    await driver.ask("debug/logs", by="", room="")
    kept = b"".join(file.read_bytes() for file in home.path.rglob("*") if file.is_file())
    signature = text.rpartition(".")[2].encode()
    assert text not in json.dumps(listed.result)
    assert signature not in kept


@pytest.mark.parametrize("name", ["owner", "Big Name", "../x", "", "a" * 70])
async def test_a_token_cannot_carry_a_persons_name_or_a_strange_one(driver, name):
    outcome = await driver.ask("token/create", by="", room="", params={"name": name})
    assert outcome.code == "bad_params"
