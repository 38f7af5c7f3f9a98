"""What a cookie is good for: requests of the console's own page, and nothing else."""

from __future__ import annotations

import itertools
import re
from collections.abc import AsyncIterator

import httpx2
import pytest
from console_door import ADDRESS, COOKIE, Console
from starlette.applications import Starlette

from doorward.doors.console.static_files import CONTENT_SECURITY_POLICY, STATIC, ConsoleFiles


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the console's files alone, behind which there is no house."""
    transport = httpx2.ASGITransport(app=Starlette(routes=ConsoleFiles().routes))
    async with httpx2.AsyncClient(transport=transport, base_url=ADDRESS) as client:
        yield client


async def test_the_cookie_alone_lets_nobody_act_or_read_and_that_is_recorded(console: Console) -> None:
    """Browsers send a cookie to every port of a machine, so whatever listens on another one is shown it."""
    browser = await console.owner()
    proof = browser.csrf
    for shown in ("", "guessed", browser.secret):
        browser.csrf = shown
        session = (await browser.http.get("/api/console/session")).json()
        assert (session["loggedIn"], session["csrf"], session["user"]) == (False, "", "")
        assert "does not include the session's proof" in session["note"]
        answers = [
            await browser.run("room/create", name="lab", recipe="code-collaboration"),
            await browser.http.get("/api/rooms"),
            await browser.http.get("/api/console/stream", headers={"Accept": "text/event-stream"}),
            await browser.change("POST", "/api/console/logout"),
        ]
        assert [(one.status_code, one.json()["code"]) for one in answers] == [(401, "not_authenticated")] * 4
    last = (await console.driver.ledger())[-1]
    assert (last["status"], last["caller"]) == ("refused", "anonymous")
    browser.csrf = proof
    session = (await browser.http.get("/api/console/session")).json()
    assert (session["user"], session["csrf"]) == ("owner", "")
    assert (await browser.run("room/create", name="lab", recipe="code-collaboration")).status_code == 200


async def test_the_proof_of_one_session_does_not_serve_another(console: Console) -> None:
    one, other = await console.owner(), await console.owner()
    one.csrf = other.csrf
    assert (await one.run("room/list")).json()["code"] == "not_authenticated"


async def test_a_page_of_another_site_gets_nothing_by_the_cookie(console: Console) -> None:
    browser = await console.owner()
    for path, site in itertools.product(("/api/me", "/api/console/session", "/api/rooms"), ("cross-site", "same-site")):
        answer = await browser.http.get(path, headers={"Sec-Fetch-Site": site})
        assert (answer.status_code, answer.json()["code"]) == (403, "not_our_page"), (path, site)
    foreign = await browser.http.get("/api/me", headers={"Origin": "http://evil.example"})
    assert foreign.json()["code"] == "other_origin"


async def test_a_token_counts_alone_where_both_are_given(console: Console) -> None:
    browser = await console.owner()
    token = await console.driver.token("helper")
    answer = await browser.http.get("/api/me", headers={"Authorization": f"Bearer {token}"})
    assert answer.json()["id"] == "helper"
    broken = await browser.http.get("/api/me", headers={"Authorization": "Bearer nonsense"})
    assert broken.status_code == 401


async def test_a_second_cookie_of_the_name_takes_nobodys_place(console: Console) -> None:
    """Whoever else has a session here, or none, can put a cookie with a narrower path before the right one."""
    browser, other = await console.owner(), await console.owner()
    secret = browser.secret
    browser.http.cookies.clear()
    for tossed in ("tossed", other.secret, ""):
        for pair in (f"{COOKIE}={tossed}; {COOKIE}={secret}", f"{COOKIE}={secret}; {COOKIE}={tossed}"):
            answer = await browser.http.get("/api/me", headers={"Cookie": pair})
            assert answer.status_code == 200, pair


async def test_two_houses_on_one_host_do_not_log_each_other_out(console: Console) -> None:
    browsers, names = console.driver.house.services.browsers, set()
    for host in ("127.0.0.1:7777", "127.0.0.1:7778"):
        code = {"code": browsers.create_link("local", "owner")}
        answer = await console.browser().http.post("/api/console/login", json=code, headers={"Host": host})
        names |= set(answer.cookies.keys())
    assert names == {f"{COOKIE}_7777", f"{COOKIE}_7778"}


async def test_no_other_door_looks_at_the_cookie_and_it_is_no_token(console: Console) -> None:
    browser = await console.owner()
    headers = {"Accept": "application/json, text/event-stream"}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert (await browser.http.post("/mcp", json=hello, headers=headers)).status_code == 401
    as_token = {"Authorization": f"Bearer {browser.secret}"}
    assert (await browser.http.get("/api/me", headers=as_token)).status_code == 401


async def test_the_page_is_served_with_a_strict_policy_for_every_address(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/")).headers["location"] == "/console/"
    page = await http.get("/console/rooms/general?at=1")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script>|<style|\son\w+=|https?:", page.text)


async def test_files_are_kept_for_good_and_small_on_the_way(http: httpx2.AsyncClient) -> None:
    page = await http.get("/console/")
    named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(named) > 4
    for address in named:
        file = await http.get(address, headers={"Accept-Encoding": "gzip"})
        assert file.status_code == 200, address
        assert "immutable" in file.headers["cache-control"]
        assert int(file.headers["content-length"]) < len(file.content) or len(file.content) < 400
    again = await http.get("/console/", headers={"If-None-Match": page.headers["etag"]})
    assert again.status_code == 304
    base = named[0].rpartition("/")[0]
    missing = await http.get(f"{base}/nothing.js")
    assert (missing.status_code, missing.json()["code"]) == (404, "no_such_path")
    assert (await http.get(f"{ADDRESS}/console/static/old/app.js")).status_code == 404


def test_no_file_of_the_console_leads_elsewhere_or_makes_markup_of_text() -> None:
    own = [path for path in STATIC.rglob("*") if path.suffix in (".js", ".css", ".html") and "vendor" not in path.parts]
    assert len(own) > 15
    for path in own:
        text = path.read_text()
        found = re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function", text
        )
        assert found is None, (path, found)
        assert not re.search(
            r"(?m:^(?:import|export)\b[^;]*?from\s+[\"'](?!\.))|@import|url\([\"']?(?:https?:)?//", text
        ), path


async def test_the_first_page_is_small(http: httpx2.AsyncClient) -> None:
    """Everything that is loaded before a room is shown, as it goes over the wire."""
    page = await http.get("/console/")
    named = set(re.findall(r'(?:src|href)="([^"]+)"', page.text))
    assert {one.rpartition("/")[2] for one in named} >= {"app.js", "style.css", "preact.js", "message-list.js", "ui.js"}
    sizes = [int((await http.get(one)).headers["content-length"]) for one in sorted(named)]
    assert sum(sizes) < 85_000
