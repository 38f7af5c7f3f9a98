"""A browser comes in by a link, which works once, or by a password, and goes on with a cookie (R13.1)."""

from __future__ import annotations

from typing import Any

from console_door import Console

from doorward.config.settings import ConsoleSettings as ConsoleSettings
from doorward.rooms.people import LOCAL, OWNER

PASSWORD = "four words make one"


async def test_a_link_lets_one_browser_in_and_no_second(console: Console) -> None:
    code = (await console.driver.owner("user/link")).result["token"]
    first, second = console.browser(), console.browser()
    answer = await first.login(code=code)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["user"], answer.json()["access"]) == ("owner", "root")
    again = await second.login(code=code)
    assert (again.status_code, again.json()["code"]) == (401, "not_authenticated")
    assert not (await second.session())["loggedIn"]
    assert (await first.http.get("/api/me")).json()["id"] == "owner"


async def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(console: Console) -> None:
    browser = console.browser()
    answer = await browser.login(code=console.driver.house.services.browsers.create_link(LOCAL, OWNER))
    words = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= words
    assert browser.secret not in answer.text


async def test_a_link_expires(console: Console) -> None:
    code = console.driver.house.services.browsers.create_link(LOCAL, OWNER)
    console.driver.clock.advance(ConsoleSettings().link_minutes * 60)
    assert (await console.browser().login(code=code)).status_code == 401


async def test_neither_code_nor_cookie_is_written_down(console: Console) -> None:
    browser = await console.owner()
    await browser.run("room/list")
    made = await browser.run("user/link")
    store = console.driver.house.services.store
    everything = str([await console.driver.ledger(), await store.read("SELECT * FROM browsers")])
    assert browser.secret not in everything
    assert browser.csrf not in everything
    assert made.json()["result"]["token"] not in everything
    assert "auth/link" in everything


async def test_a_session_lasts_over_a_restart_and_ends_in_time(opened: Any, console_of: Any) -> None:
    async with opened() as driver, console_of(driver) as console:
        known = await console.owner()
    async with opened() as driver, console_of(driver) as console:
        browser = console.browser()
        browser.http.cookies.set("doorward_session", known.secret)
        browser.csrf = known.csrf
        assert (await browser.session())["user"] == "owner"
        driver.clock.advance(ConsoleSettings().session_days * 86_400)
        assert not (await browser.session())["loggedIn"]
        assert (await browser.http.get("/api/rooms")).status_code == 401


async def test_a_password_lets_in_and_a_new_one_ends_every_session(console: Console) -> None:
    browser, wrong = console.browser(), console.browser()
    await console.driver.owner("user/create", id="anna", access="edit")
    await console.driver.owner("user/password", user="anna", password=PASSWORD)
    assert (await wrong.login(user="anna", password="another four words")).status_code == 401
    assert (await browser.login(user="anna", password=PASSWORD)).json()["access"] == "edit"
    unused = console.driver.house.services.browsers.create_link(LOCAL, "anna")
    changed = await browser.run("user/password", password="these are quite new", current=PASSWORD)
    assert changed.json()["result"]["sessionsEnded"] == 1
    assert (await browser.http.get("/api/me")).status_code == 401
    assert (await wrong.login(code=unused)).status_code == 401


async def test_whoever_may_not_act_any_more_is_out_at_once(console: Console) -> None:
    await console.driver.owner("user/create", id="anna", access="full")
    browser = console.browser()
    await browser.login(code=console.driver.house.services.browsers.create_link(LOCAL, "anna"))
    await console.driver.owner("user/change", id="anna", access="read")
    assert (await browser.http.get("/api/me")).json()["access"] == "read"
    await console.driver.owner("user/change", id="anna", active=False)
    assert (await browser.http.get("/api/me")).status_code == 401


async def test_logging_out_ends_the_session_and_others_can_be_ended_from_afar(console: Console) -> None:
    here, there = await console.owner(), await console.owner()
    listed = (await here.run("user/sessions")).json()["result"]["items"]
    assert [one["browser"] for one in listed] == ["Test browser"] * 2
    other = (await there.session())["id"]
    assert (await here.run("user/logout", id=other)).json()["status"] == "done"
    assert not (await there.session())["loggedIn"]
    secret = here.secret
    assert (await here.change("POST", "/api/console/logout")).json() == {"loggedOut": True}
    here.http.cookies.set("doorward_session", secret)
    assert (await here.http.get("/api/me")).status_code == 401


async def test_a_token_that_reaches_less_far_makes_no_link(console: Console) -> None:
    token = await console.driver.token("phone", kind="human", access="read")
    headers = {"Authorization": f"Bearer {token}"}
    answer = await console.browser().http.post("/api/run", json={"command": "user/link"}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    agent = await console.driver.ask("user/link")
    assert agent.code == "not_permitted"


async def test_a_link_of_somebody_else_does_not_take_the_place_of_whoever_is_logged_in(console: Console) -> None:
    await console.driver.owner("user/create", id="anna", name="Anna", access="read")
    browser = await console.owner()
    before = browser.secret
    code = console.driver.house.services.browsers.create_link(LOCAL, "anna")
    refused = await browser.login(code=code)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "logged in as 'owner', but the link is for 'anna'" in refused.json()["detail"]
    assert (await browser.session())["user"] == "owner"
    assert (await browser.login(code=code, instead=True)).json()["user"] == "anna"
    assert (await browser.session())["user"] == "anna"
    assert before != browser.secret
    assert console.driver.house.services.browsers.of_user(LOCAL, OWNER) == []


async def test_a_way_in_that_is_none_is_said(console: Console) -> None:
    for given in ({}, {"code": "x", "user": "owner"}, {"user": "owner"}, {"cod": "x"}):
        answer = await console.browser().login(**given)
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_params"), given
