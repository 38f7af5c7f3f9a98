"""Passwords over REST: registering, logging in, staying in, leaving; and what is never written down."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from rest_door import PASSWORD

from doorward.config.settings import LimitSettings, RestSettings, Settings
from doorward.doors.terminal import messages
from doorward.rooms.accounts.attempt_limits import ACCOUNT_LIMIT

LOGIN = {"tenant": "acme", "user": "anna", "password": PASSWORD}


async def login(rest: Any, **more: str) -> Any:
    return await rest.open.post("/api/auth/login", json={**LOGIN, **more})


async def refresh(rest: Any, token: str) -> Any:
    return await rest.open.post("/api/auth/refresh", json={"refreshToken": token})


async def code_of(rest: Any, token: str) -> Any:
    answer = await rest.client(token).get("/api/me")
    return answer.status_code


async def test_a_new_tenant_comes_in_by_invitation_and_may_do_everything_in_it(rest: Any) -> None:
    anna = await rest.tenant()
    me = (await anna.get("/api/me")).json()
    made = await anna.post("/api/rooms", json={"name": "general", "recipe": "admin"})
    assert (me["tenant"], me["id"], me["kind"], me["access"]) == ("acme", "anna", "human", "root")
    assert made.status_code == 201
    assert [item["id"] for item in (await anna.get("/api/users")).json()["items"]] == ["anna"]
    assert (await anna.post("/api/invitations")).status_code == 403


async def test_an_invitation_works_once_for_its_tenant_and_not_for_ever(rest: Any, clock: Any) -> None:
    async def register(passcode: str, tenant: str, password: str = PASSWORD) -> int:
        body = {"tenant": tenant, "user": "anna", "password": password, "passcode": passcode}
        return (await rest.open.post("/api/auth/register", json=body)).status_code

    bound = (await rest.driver.owner("user/invite", tenant="acme")).result["passcode"]
    late = (await rest.driver.owner("user/invite", hours=1)).result["passcode"]
    assert await register("", "acme") == 401
    assert await register(bound, "other") == 401
    assert await register(bound, "acme", "too short") == 400
    assert await register(bound.upper(), "acme") == 201
    assert await register(bound, "acme2") == 401
    clock.advance(3_601)
    assert await register(late, "late") == 401


async def test_one_invitation_makes_one_tenant_however_many_try_at_once(rest: Any) -> None:
    passcode = (await rest.driver.owner("user/invite")).result["passcode"]
    bodies = [{"tenant": f"t{n}", "user": "anna", "password": PASSWORD, "passcode": passcode} for n in range(4)]
    answers = await asyncio.gather(*(rest.open.post("/api/auth/register", json=body) for body in bodies))
    assert sorted(answer.status_code for answer in answers) == [201, 401, 401, 401]


@pytest.mark.parametrize(
    ("word", "body", "status"),
    [
        ("closed", {"tenant": "acme"}, 403),
        ("open", {"tenant": "acme"}, 201),
        ("open", {"tenant": "local"}, 409),
        ("open", {"tenant": "Not A Name"}, 400),
        ("open", {"tenant": "acme", "user": "owner"}, 400),
        ("open", {"tenant": "acme", "user": "annaannaanna", "password": "AnnaAnnaAnna"}, 400),
        ("open", {"tenant": "acme", "password": "aaaaaaaaaaaaaaaa"}, 400),
    ],
)
async def test_the_setting_says_who_may_register(
    opened: Callable[..., Any], rest_of: Callable[..., Any], word: Any, body: dict[str, str], status: int
) -> None:
    async with opened(changes=Settings(rest=RestSettings(registration=word))) as driver, rest_of(driver) as rest:
        answer = await rest.open.post("/api/auth/register", json={**LOGIN, **body})
        assert answer.status_code == status, answer.text


async def test_a_tenant_that_exists_is_not_registered_again(rest: Any) -> None:
    await rest.tenant()
    passcode = (await rest.driver.owner("user/invite")).result["passcode"]
    answer = await rest.open.post("/api/auth/register", json={**LOGIN, "user": "mallory", "passcode": passcode})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


async def test_a_wrong_password_and_a_wrong_user_are_told_the_same(rest: Any) -> None:
    await rest.tenant()
    good = await login(rest)
    bad = [await login(rest, **wrong) for wrong in ({"password": "wrong words"}, {"user": "x"}, {"tenant": "y"})]
    assert good.status_code == 200
    assert {answer.status_code for answer in bad} == {401}
    assert len({answer.text for answer in bad}) == 1


async def test_somebody_without_a_password_or_who_may_not_act_cannot_log_in(rest: Any) -> None:
    anna = await rest.tenant()
    await anna.post("/api/users", json={"id": "bert", "access": "read"})
    none = await login(rest, user="bert", password="")
    await anna.post("/api/users/bert/password", json={"password": "another four words"})
    bert = await login(rest, user="bert", password="another four words")
    await anna.patch("/api/users/bert", json={"active": False})
    stopped = await login(rest, user="bert", password="another four words")
    assert [none.status_code, bert.status_code, stopped.status_code] == [401, 200, 401]
    assert await code_of(rest, bert.json()["accessToken"]) == 401
    assert (await refresh(rest, bert.json()["refreshToken"])).status_code == 401


async def test_an_access_token_lasts_minutes_and_a_refresh_token_days(rest: Any, clock: Any) -> None:
    await rest.tenant()
    first = (await login(rest)).json()
    assert (first["expiresIn"], first["refreshExpiresIn"], first["tokenType"]) == (900, 30 * 86_400, "Bearer")
    clock.advance(899)
    assert await code_of(rest, first["accessToken"]) == 200
    clock.advance(2)
    assert await code_of(rest, first["accessToken"]) == 401
    second = (await refresh(rest, first["refreshToken"])).json()
    assert await code_of(rest, second["accessToken"]) == 200
    clock.advance(30 * 86_400 + 1)
    assert (await refresh(rest, second["refreshToken"])).status_code == 401


async def test_a_refresh_token_that_comes_twice_ends_the_session(rest: Any) -> None:
    await rest.tenant()
    first = (await login(rest)).json()
    other = (await login(rest)).json()
    second = (await refresh(rest, first["refreshToken"])).json()
    stolen = await refresh(rest, first["refreshToken"])
    row = (await rest.driver.ledger())[-1]
    assert stolen.status_code == 401
    assert (row["tenant"], row["command"], row["status"]) == ("acme", "auth/refresh", "refused")
    assert await code_of(rest, second["accessToken"]) == 401
    assert (await refresh(rest, second["refreshToken"])).status_code == 401
    assert await code_of(rest, other["accessToken"]) == 200


async def test_of_two_who_refresh_at_once_one_wins_and_the_session_ends(rest: Any) -> None:
    await rest.tenant()
    first = (await login(rest)).json()
    both = await asyncio.gather(*(refresh(rest, first["refreshToken"]) for _ in range(2)))
    assert sorted(answer.status_code for answer in both) == [200, 401]
    assert await code_of(rest, first["accessToken"]) == 401


async def test_logging_out_ends_this_session_and_no_other(rest: Any) -> None:
    await rest.tenant()
    one, other = (await login(rest)).json(), (await login(rest)).json()
    left = await rest.open.post("/api/auth/logout", json={"refreshToken": one["refreshToken"]})
    again = await rest.open.post("/api/auth/logout", json={"refreshToken": one["refreshToken"]})
    assert (left.json(), again.status_code) == ({"loggedOut": True}, 401)
    assert [await code_of(rest, token["accessToken"]) for token in (one, other)] == [401, 200]


async def test_a_new_password_needs_the_old_one_and_ends_every_session(rest: Any) -> None:
    anna = await rest.tenant()
    path, new = "/api/users/me/password", "quite another phrase"
    without = await anna.post(path, json={"password": new})
    wrong = await anna.post(path, json={"password": new, "current": "guessed it, surely"})
    changed = await anna.post(path, json={"password": new, "current": PASSWORD})
    assert [without.status_code, wrong.status_code, changed.status_code] == [400, 400, 200]
    assert changed.json() == {"user": "anna", "sessionsEnded": 1}
    assert (await anna.get("/api/me")).status_code == 401
    assert [(await login(rest)).status_code, (await login(rest, password=new)).status_code] == [401, 200]


async def test_a_token_that_reaches_less_far_than_its_user_cannot_set_the_password(rest: Any) -> None:
    narrow = await rest.person("read")
    of_rooms = await rest.person("root", rooms=["general"])
    agent = await rest.agent(access="root")
    for client, query in ((narrow, ""), (of_rooms, "?room=general"), (agent, "?room=general")):
        answer = await client.post(f"/api/users/me/password{query}", json={"password": PASSWORD})
        assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")


async def test_the_owner_at_the_terminal_needs_no_old_password(driver: Any) -> None:
    await driver.owner("user/password", password=PASSWORD)
    again = await driver.ask("user/password", by="", room="", params={"password": "quite another phrase"})
    request = {"command": "user/password", "params": {"password": "quite another phrase"}}
    assert again.code == "bad_params"
    outcome = await driver.house.gate.handle(_at_the_terminal(request))
    assert outcome.status == "done"


async def test_attempts_are_limited_by_account_and_address_and_never_for_good(rest: Any, clock: Any) -> None:
    await rest.tenant()
    elsewhere = rest.client(address="10.0.0.9")
    bad = [await login(rest, password="wrong") for _ in range(6)]
    good = await login(rest)
    other = await elsewhere.post("/api/auth/login", json=LOGIN)
    assert [answer.status_code for answer in bad] == [401] * 5 + [429]
    assert good.status_code == 429
    assert 1 <= int(good.headers["retry-after"]) <= 60
    assert other.status_code == 200
    clock.advance(61)
    assert (await login(rest)).status_code == 200


async def test_failures_from_other_addresses_do_not_lock_an_account(rest: Any) -> None:
    await rest.tenant()
    for _ in range(ACCOUNT_LIMIT.most):
        rest.driver.house.services.accounts._limiter.add("account\0acme\0anna")
    elsewhere = rest.client(address="10.0.0.9")
    bad = [await elsewhere.post("/api/auth/login", json=LOGIN | {"password": "wrong"}) for _ in range(2)]
    assert [answer.status_code for answer in bad] == [401, 429], "an address has one attempt while others attack"
    assert (await login(rest)).status_code == 200


async def test_every_attempt_leaves_a_record_and_no_secret_is_kept_anywhere(rest: Any) -> None:
    anna = await rest.tenant()
    grant = (await login(rest)).json()
    await login(rest, password="wrong but secret")
    await refresh(rest, grant["refreshToken"])
    await anna.post("/api/users/me/password", json={"password": "new and secret", "current": PASSWORD})
    rows = [row for row in await rest.driver.ledger() if row["command"].startswith("auth/")]
    assert [(row["command"], row["status"], row["caller"], row["tenant"]) for row in rows] == [
        ("auth/register", "done", "anna", "acme"),
        ("auth/login", "done", "anna", "acme"),
        ("auth/login", "refused", "anonymous", "acme"),
        ("auth/refresh", "done", "anna", "acme"),
    ]
    assert all(json.loads(row["params"]) == {"user": "anna", "address": "127.0.0.1"} for row in rows[:3])
    home = rest.driver.house.home.path
    kept = b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())
    secrets = [
        PASSWORD,
        "wrong but secret",
        "new and secret",
        *(text.rpartition(".")[2] for text in grant.values() if isinstance(text, str) and "." in text),
    ]
    assert [secret for secret in secrets if secret.encode() in kept] == []


async def test_a_user_who_is_undone_and_made_again_has_no_password_and_no_session(rest: Any) -> None:
    made = await rest.driver.owner("user/create", id="bert", access="edit")
    await rest.driver.owner("user/password", user="bert", password=PASSWORD)
    bert = {"tenant": "local", "user": "bert"}
    before = await login(rest, **bert)
    await rest.driver.owner("undo", execution=made.call)
    await rest.driver.owner("user/create", id="bert", access="root")
    assert before.status_code == 200
    assert await code_of(rest, before.json()["accessToken"]) == 401
    assert (await login(rest, **bert)).status_code == 401


async def test_sessions_and_passwords_outlive_the_process(
    opened: Callable[..., Any], rest_of: Callable[..., Any]
) -> None:
    async with opened() as driver, rest_of(driver) as rest:
        await rest.tenant()
        grant = (await login(rest)).json()
    async with opened() as driver, rest_of(driver) as rest:
        assert await code_of(rest, grant["accessToken"]) == 200
        assert (await refresh(rest, grant["refreshToken"])).status_code == 200
        assert (await login(rest)).status_code == 200


async def test_one_user_has_a_bounded_number_of_sessions(rest: Any) -> None:
    await rest.tenant()
    sessions = rest.driver.house.services.tokens.sessions
    user = rest.driver.house.services.people.get("acme", "anna")
    openings = []
    for _ in range(52):
        opening = sessions.create(user, access_seconds=60, refresh_seconds=60)
        await rest.driver.house.services.store.write(*opening.statements)
        sessions.activate(opening)
        openings.append(opening.grant.access_token)
    assert [await code_of(rest, token) for token in (openings[0], openings[1], openings[2], openings[-1])] == [
        401,
        401,
        200,
        200,
    ]


async def test_forged_and_misused_tokens_are_refused(rest: Any, home: Any, clock: Any) -> None:
    await rest.tenant()
    grant = (await login(rest)).json()
    access, key = grant["accessToken"], home.load_key()
    claims = jwt.decode(access, options={"verify_signature": False})
    lasting = await rest.driver.token("laptop", kind="human")

    def signed(with_key: bytes = key, header: dict[str, Any] | None = None, **more: Any) -> str:
        body = {name: value for name, value in {**claims, **more}.items() if value is not None}
        return jwt.encode(body, with_key, algorithm="HS256", headers=header)

    none = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    bad = {
        "alg none": f"{none}.{access.split('.')[1]}.",
        "another key": signed(b"x" * 32),
        "refresh as access": grant["refreshToken"],
        "unknown use": signed(use="admin"),
        "a session as a lasting token": signed(use="token"),
        "a session without a use": signed(use=None),
        "crit": signed(header={"crit": ["exp"]}),
        "another audience": signed(aud="elsewhere"),
        "another issuer": signed(iss="elsewhere"),
        "no session": signed(jti="0" * 16),
        "expired": signed(exp=int(clock.now()) - 1),
        "an expiry that is none": signed(exp="soon"),
    }
    assert {name: await code_of(rest, text) for name, text in bad.items()} == dict.fromkeys(bad, 401)
    other_tenant = signed(tenant="local", sub="owner")
    assert (await rest.client(other_tenant).get("/api/me")).json()["tenant"] == "acme"
    for wrong in (access, lasting, signed(use="refresh")):
        assert (await refresh(rest, wrong)).status_code == 401
    assert await code_of(rest, access) == 401, "a refresh token that was never given ends the session"


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b'{"user":"a","user":"b","password":"c"}', b'{"user":"a","password":NaN}', b'{"user":"a"}'],
)
async def test_a_login_that_is_none_is_refused(rest: Any, body: bytes) -> None:
    answer = await rest.open.post("/api/auth/login", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_params")


def _at_the_terminal(request: dict[str, Any]) -> Any:
    return messages.parse_request(request).to_gate_request(None, None)


async def test_strangers_who_ask_too_often_are_told_to_wait_at_every_http_door(opened, rest_of):
    few = Settings(limits=LimitSettings(anonymous_per_minute=4))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "room_list", "arguments": {}}}
    about = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    call["params"]["_meta"] = about
    stateless = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "room_list",
        "Authorization": "Bearer nonsense",
    }
    async with opened(changes=few) as driver, rest_of(driver) as rest:
        over = [await rest.open.get("/api/rooms") for _ in range(5)]
        mcp = [await rest.open.post("/mcp/general", json=call, headers=stateless) for _ in range(5)]
        refreshed = [await rest.open.post("/api/auth/refresh", json={"refreshToken": "nonsense"}) for _ in range(5)]
        elsewhere = await rest.client(address="203.0.113.9").get("/api/rooms")
    for answers in (over, mcp, refreshed):
        assert [one.status_code for one in answers] == [401] * 4 + [429]
        assert 0 < int(answers[-1].headers["retry-after"]) <= 60
        assert "without valid credentials" in answers[-1].text
    assert elsewhere.status_code == 401
