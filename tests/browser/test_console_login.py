"""Coming into the console: the link that works once, the password, and leaving."""

from __future__ import annotations

from browsing import Console
from playwright.sync_api import expect


def test_the_first_thing_that_up_prints_is_a_link_which_opens_the_console_once(console: Console) -> None:
    (line,) = [line for line in console.server.said if "#login=" in line]
    assert line.startswith("Open this link to log in: ")
    link = line.split()[-1]
    page = console.stranger()
    page.goto(link)
    expect(page.get_by_role("log", name="Messages")).to_contain_text("This is the beginning of")
    assert page.url == f"{console.url}/console/rooms/general"
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert page.evaluate("document.cookie") == ""

    console.expected = ("401",)
    other = console.stranger()
    other.goto(link)
    expect(other.get_by_role("alert")).to_contain_text("it was used, has expired")
    expect(other.get_by_role("navigation", name="Console")).to_have_count(0)


def test_the_link_of_somebody_else_asks_first_and_a_page_without_its_proof_logs_in_again(console: Console) -> None:
    console.owner.result("user/create", id="anna", name="Anna", access="read")
    console.owner.result("user/password", user="anna", password="four words make one")
    console.expected = ("409",)
    anna = console.stranger()
    anna.goto(f"{console.url}/console/")
    anna.get_by_label("User").fill("anna")
    anna.get_by_role("textbox", name="Password").fill("four words make one")
    anna.get_by_role("button", name="Log in").click()
    anna.get_by_role("navigation", name="Console").wait_for()
    anna.goto(console.link)
    question = anna.get_by_role("dialog", name="Switch user?")
    expect(question).to_contain_text("logged in as 'anna', but the link is for 'owner'")
    question.get_by_role("button", name="Cancel").click()
    expect(anna.get_by_text("Anna", exact=True)).to_be_visible()
    anna.evaluate("localStorage.clear()")
    anna.reload()
    expect(anna.get_by_text("does not include the session's proof. Log in again.")).to_be_visible()
    expect(anna.get_by_role("navigation", name="Console")).to_have_count(0)


def test_whoever_has_no_link_sees_how_to_get_one_and_nothing_else(console: Console) -> None:
    page = console.stranger()
    page.goto(f"{console.url}/")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    expect(page.get_by_text("doorward login", exact=True)).to_be_visible()
    expect(page.get_by_role("navigation", name="Console")).to_have_count(0)


def test_a_password_lets_in_and_logging_out_ends_the_session(console: Console) -> None:
    console.owner.result("user/password", password="a long enough secret")
    page = console.stranger()
    page.goto(f"{console.url}/console/")
    page.get_by_label("User").fill("owner")
    page.get_by_role("textbox", name="Password").fill("wrong")
    console.expected = ("401",)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("is wrong")
    page.get_by_role("textbox", name="Password").fill("a long enough secret")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("navigation", name="Console")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
