"""What a cookie is good for: requests of the console's own page, and nothing else."""

from __future__ import annotations

import itertools
import re
from collections.abc import AsyncIterator

import httpx2
import pytest
from console_door import ADDRESS, COOKIE, Console
from starlette.applications import Starlette

from doorward.doors.console.files import POLICY, STATIC, Files


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the console's files alone, behind which there is no house."""
    transport = httpx2.ASGITransport(app=Starlette(routes=Files().routes))
    async with httpx2.AsyncClient(transport=transport, base_url=ADDRESS) as client:
        yield client


async def test_a_change_needs_the_proof_and_its_refusal_is_recorded(console: Console) -> None:
    browser = await console.owner()
    body = {"command": "room/create", "params": {"name": "lab", "recipe": "code-collaboration"}}
    for headers in ({}, {"Doorward-CSRF": "guessed"}, {"Doorward-CSRF": ""}):
        answer = await browser.http.post("/api/run", json=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_our_page")
    last = (await console.driver.ledger())[-1]
    assert (last["status"], last["caller"]) == ("refused", "anonymous")
    assert (await browser.run("room/create", **body["params"])).status_code == 200  # type: ignore[arg-type]


async def test_the_proof_of_one_session_does_not_serve_another(console: Console) -> None:
    one, other = await console.owner(), await console.owner()
    one.csrf = other.csrf
    assert (await one.run("room/list")).json()["code"] == "not_our_page"


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


async def test_two_cookies_of_the_name_are_none(console: Console) -> None:
    browser = await console.owner()
    secret = browser.secret
    browser.http.cookies.clear()
    answer = await browser.http.get("/api/me", headers={"Cookie": f"{COOKIE}=tossed; {COOKIE}={secret}"})
    assert answer.status_code == 401


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
    assert page.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
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
    assert {one.rpartition("/")[2] for one in named} >= {"app.js", "style.css", "preact.js", "history.js", "ui.js"}
    sizes = [int((await http.get(one)).headers["content-length"]) for one in sorted(named)]
    assert sum(sizes) < 85_000
