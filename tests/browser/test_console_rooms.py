"""People and AIs in a room, seen by several browsers at once; and what tries to be more than text."""

from __future__ import annotations

import contextlib
import http.client
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import Console
from playwright.sync_api import Locator, Page, Route, expect

from waiting import PATIENCE

BROWSERS = 50
TRICKS = (
    '<img src=x onerror="document.title=1"><script>document.title=2</script> '
    "[a link](javascript:document.title=3) ![a picture](http://127.0.0.1:1/x.png) "
    "\u202egnp.exe\u202c \x1b[31mred\x07 [good](https://example.org/real)"
)


def composer(page: Page) -> Locator:
    return page.get_by_label("Message", exact=True)


def log(page: Page) -> Locator:
    return page.get_by_role("log", name="Messages")


def say(page: Page, text: str) -> None:
    composer(page).fill(text)
    composer(page).press("Enter")


@pytest.fixture(scope="module", autouse=True)
def _quiet_room(serving: Console) -> None:
    serving.owner.result("room/create", name="hall", recipe="casual-chat")


def test_what_one_browser_says_another_shows_at_once_and_once(console: Console) -> None:
    one, other = console.page("rooms/hall"), console.page("rooms/hall")
    say(one, "Good morning from the first")
    for page in (one, other):
        expect(log(page).get_by_text("Good morning from the first")).to_have_count(1)
    say(other, "And from the second")
    for page in (one, other):
        expect(log(page).get_by_text("And from the second")).to_have_count(1)


def test_an_ai_is_asked_a_suggested_question_runs_a_command_and_answers(console: Console) -> None:
    page = console.page("rooms/general")
    page.get_by_role("button", name="How many rooms do we have?").click()
    card = page.get_by_role("group", name=re.compile("^Call of data.*, done$"))
    expect(card).to_be_visible()
    expect(card.get_by_role("link", name="Record")).to_be_visible()
    expect(log(page).get_by_role("article", name="guide").last).to_contain_text("We have 2 rooms")


def test_text_that_tries_to_be_more_is_shown_and_does_nothing(console: Console) -> None:
    console.owner.result("room/say", name="hall", text=TRICKS)
    page = console.page("rooms/hall")
    said = log(page).locator("article").last
    expect(said).to_contain_text('<img src=x onerror="document.title=1"><script>document.title=2</script>')
    expect(said).to_contain_text("javascript:document.title=3")
    expect(said.locator("img, script, iframe")).to_have_count(0)
    targets = [link.get_attribute("href") for link in said.get_by_role("link").all()]
    assert targets == ["http://127.0.0.1:1/x.png", "https://example.org/real"]
    shown = said.inner_text()
    assert "\u202e" not in shown
    assert "\x1b" not in shown
    assert page.title().endswith("Doorward")


def test_nested_lists_and_tables_are_shown_as_such_and_hold_only_text(console: Console) -> None:
    long = "".join(f" | {'w' * 20}{number}" for number in range(8))
    text = f"1. one\n   - inner <b>x</b>\n   - inner\n2. two\n\nname{long}\n---{'|---' * 8}\n<img src=x>{long}\n"
    console.owner.result("room/say", name="hall", text=text)
    page = console.page("rooms/hall", viewport={"width": 390, "height": 844})
    said = log(page).locator("article").last
    expect(said.locator(".marked > ol[start='1'] > li")).to_contain_text(["one", "two"])
    expect(said.locator("ol > li > ul > li")).to_contain_text(["inner <b>x</b>", "inner"])
    expect(said.get_by_role("cell").first).to_have_text("<img src=x>")
    expect(said.get_by_role("columnheader")).to_have_count(9)
    expect(said.locator("b, img")).to_have_count(0)
    assert said.evaluate(
        "one => one.scrollWidth <= one.clientWidth && document.documentElement.scrollWidth <= innerWidth"
    )


def test_a_message_that_is_too_long_is_refused_in_words_and_kept(console: Console) -> None:
    page = console.page("rooms/hall")
    composer(page).wait_for()
    text = "x" * 1_000_000
    page.evaluate(
        """(text) => {
          const area = document.querySelector("[data-composer]");
          area.value = text;
          area.dispatchEvent(new Event("input", { bubbles: true }));
        }""",
        text,
    )
    composer(page).press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("at most 100,000 characters; this one has 1,000,000")
    assert composer(page).input_value() == text


def test_a_draft_survives_a_reload_until_it_is_sent_or_the_user_logs_out(console: Console) -> None:
    console.expected = ("401",)  # the stream of a page that logs out
    page = console.stranger()
    for text in ("half a sentence", "left behind"):
        page.goto(console.link)
        page.get_by_role("navigation", name="Console").wait_for()
        page.goto(f"{console.url}/console/rooms/hall")
        expect(composer(page)).to_have_value("")
        composer(page).fill(text)
        page.reload()
        expect(composer(page)).to_have_value(text)
        page.locator("nav a[href='/console/rooms/general']").click()
        expect(composer(page)).to_have_value("")
        page.goto(f"{console.url}/console/rooms/hall")
        if text == "half a sentence":
            composer(page).press("Enter")
            expect(log(page).locator("article:not(.sending)").last).to_contain_text(text)
        else:
            page.get_by_role("button", name="Log out").click()
            page.get_by_role("heading", name="Log in").wait_for()
    page.goto(console.link)
    page.get_by_role("navigation", name="Console").wait_for()
    page.goto(f"{console.url}/console/rooms/hall")
    expect(composer(page)).to_have_value("")


def test_each_file_that_is_not_attached_says_why(console: Console) -> None:
    console.expected = ("413",)
    page = console.page("rooms/hall")
    composer(page).wait_for()
    page.locator("input[type=file]").set_input_files(
        [
            {"name": "picture.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n"},
            {"name": "big.bin", "mimeType": "application/octet-stream", "buffer": bytes(6_000_000)},
            {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""},
            {"name": "note.txt", "mimeType": "text/plain", "buffer": b"A note."},
        ]
    )
    expect(page.locator(".brought li")).to_have_count(2)
    refused = page.get_by_role("alert")
    expect(refused).to_contain_text("big.bin is larger than 5 MB and was not attached.")
    expect(refused).to_contain_text("empty.txt is empty and was not attached.")
    say(page, "With two of four files")
    expect(log(page).locator("article:not(.sending)").last).to_contain_text("note.txt")
    expect(refused).to_have_count(0)


def test_what_is_read_on_one_page_is_read_on_the_others(console: Console) -> None:
    console.owner.result("room/create", name="news", recipe="code-collaboration")
    away, reading = console.page("rooms/hall"), console.page("rooms/general")
    composer(away).wait_for()
    composer(reading).wait_for()
    assert (
        console.owner.ask("room/say", by="helper", room="news", name="news", text="Something new")["status"] == "done"
    )
    entry = away.locator("nav a[href='/console/rooms/news']")
    expect(entry).to_contain_text("1 unread")
    reading.bring_to_front()
    reading.locator("nav a[href='/console/rooms/news']").click()
    expect(log(reading)).to_contain_text("Something new")
    expect(entry).not_to_contain_text("unread")


def test_what_is_found_shows_where_the_words_are_and_leads_there_and_back_to_the_newest(console: Console) -> None:
    console.owner.result("room/create", name="long", recipe="casual-chat")
    needle = "before\n" * 100 + "the pump\nis warm\n" + "after\n" * 5
    for text in ("the first", needle, *(f"word {number}" for number in range(70))):
        console.owner.result("room/say", name="long", text=text)
    page = console.page("rooms/long")
    expect(log(page).get_by_text("word 69")).to_be_in_viewport()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("pump")
    page.keyboard.press("Enter")
    found = page.get_by_role("complementary", name="Search").get_by_role("listitem")
    expect(found.locator("mark")).to_have_text("pump")
    assert "the pump\nis warm\nafter" in found.inner_text()
    found.get_by_role("link").click()
    there = log(page).locator("article").filter(has_text="before")
    expect(there).to_be_focused()
    expect(there).to_be_in_viewport()
    console.owner.result("room/say", name="long", text="word 70")
    expect(log(page).get_by_text("word 70")).to_have_count(0)
    page.get_by_role("button", name="Jump to newest").click()
    expect(log(page).get_by_text("word 70")).to_be_in_viewport()


def test_people_are_called_by_their_names_and_whose_they_are_stands_beside(console: Console) -> None:
    console.owner.result("user/create", id="anna", name="Ann Berg", access="edit")
    console.owner.result("room/create", name="named", recipe="casual-chat")
    console.owner.result("room/join", name="named", member="anna")
    page = console.page("rooms/named")
    page.get_by_role("button", name="2 members").click()
    expect(page.get_by_role("complementary", name="Members")).to_contain_text("Ann Berg @anna")
    composer(page).press_sequentially("@ber")
    expect(page.get_by_role("listbox", name="Members")).to_contain_text("Ann Berg @anna")
    composer(page).press("Enter")
    assert composer(page).input_value() == "@anna "


def test_what_somebody_writes_changes_and_takes_back_the_others_see(console: Console) -> None:
    one, other = console.page("rooms/hall"), console.page("rooms/hall")
    composer(one).press_sequentially("a word")
    expect(other.get_by_role("status").filter(has_text="typing…")).to_have_count(0)  # it is one's own
    composer(one).press("Enter")
    mine = log(one).get_by_role("article", name="owner").last
    expect(mine).to_contain_text("a word")
    mine.hover()
    mine.get_by_role("button", name="Edit").click()
    mine.get_by_role("textbox").fill("another word")
    mine.get_by_role("textbox").press("Enter")
    theirs = log(other).get_by_role("article", name="owner").last
    expect(theirs).to_contain_text("another word")
    expect(theirs).to_contain_text("edited")
    mine.hover()
    mine.get_by_role("button", name="Delete").click()
    one.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(theirs).to_contain_text("Deleted by owner.")


def test_whoever_reads_further_up_and_says_something_sees_it(console: Console) -> None:
    page = console.page("rooms/hall")
    page.set_viewport_size({"width": 360, "height": 420})
    say(page, "word by word\n\n" * 20)
    say(page, "the end")
    expect(log(page).locator("article:not(.sending)").last).to_contain_text("the end")
    log(page).evaluate("(box) => { box.scrollTop = 0; box.dispatchEvent(new Event('scroll')); }")
    expect(log(page).get_by_text("the end")).not_to_be_in_viewport()
    say(page, "approve")
    expect(log(page).get_by_text("approve", exact=True)).to_be_in_viewport()
    expect(page.get_by_role("alert")).to_contain_text("No approval is pending in this room")
    say(page, "never mind")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_what_did_not_arrive_is_sent_again_before_what_was_written_after_it(console: Console) -> None:
    console.expected = ("ERR_FAILED",)
    console.owner.result("room/create", name="order", recipe="casual-chat")
    page = console.page("rooms/order")
    lost: list[str] = []

    def lose_the_first(route: Route) -> None:
        if route.request.method == "POST" and not lost:
            lost.append(route.request.post_data or "")
            route.abort()
        else:
            route.continue_()

    page.route("**/api/rooms/order/messages*", lose_the_first)
    for text in ("first", "second", "third"):
        say(page, text)
    expect(log(page).get_by_role("article", name="owner")).to_contain_text(["first", "second", "third"])
    assert len(lost) == 1


def test_what_an_agent_from_outside_asks_is_decided_in_the_room(console: Console) -> None:
    page = console.page("rooms/general")
    composer(page).wait_for()
    asked = console.owner.ask("file/write", by="helper", room="general", path="outside.txt", content="a\n")
    card = log(page).locator(f"#approval-{asked['ticket']}")
    expect(card).to_contain_text("outside.txt")
    here = page.locator("nav a[href='/console/rooms/general']")
    expect(here).to_contain_text("1 waiting for your decision")
    card.get_by_role("button", name="Approve").click()
    expect(card).to_contain_text("owner approved")
    assert console.owner.ask("", ticket=asked["ticket"], by="helper", room="general")["status"] == "done"
    expect(card).to_contain_text("Ran as execution")
    expect(here).not_to_contain_text("waiting")


def test_a_decided_request_from_outside_stands_at_its_time_and_only_pending_ones_at_the_end(console: Console) -> None:
    console.owner.result("room/create", name="outside", recipe="code-collaboration")
    page = console.page("rooms/outside")
    say(page, "before it")
    expect(log(page).locator("article:not(.sending)")).to_have_count(1)
    ticket = console.owner.ask("file/write", by="helper", room="outside", path="at.txt", content="a\n" * 40)["ticket"]
    say(page, "after it")
    expect(log(page).locator("article:not(.sending)")).to_have_count(2)
    card = log(page).locator(f".asking:has(#approval-{ticket})")
    rows = log(page).locator("article.said, .asking")
    expect(rows).to_contain_text(["before it", "after it", "wants to run file/write"])
    card.get_by_role("button", name="Deny").click()
    expect(rows).to_contain_text(["before it", "helper asked to run file/write: denied by owner", "after it"])
    expect(card.get_by_role("figure")).not_to_be_visible()
    expect(log(page).get_by_text("before it")).to_be_in_viewport()


def test_on_a_phone_too_an_ai_that_waits_is_seen_and_can_be_stopped(console: Console) -> None:
    page = console.page("rooms/general")
    page.set_viewport_size({"width": 360, "height": 740})
    say(page, 'write phone.txt saying "two words"')
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    page.get_by_role("button", name="Stop guide").click()
    expect(log(page).get_by_role("article", name="guide").last).to_contain_text("owner stopped it.")
    expect(page.get_by_role("button", name="Stop guide")).to_have_count(0)


def test_the_workspace_of_a_room_is_shown_in_the_list_and_in_its_settings_on_a_phone_too(
    console: Console, tmp_path: Path
) -> None:
    folder = tmp_path / ("a-long-name-of-a-project" * 6)
    folder.mkdir()
    console.owner.result("room/create", name="project", recipe="casual-chat", workspace=str(folder))
    page = console.page("rooms")
    page.set_viewport_size({"width": 360, "height": 740})
    expect(page.get_by_role("link").filter(has_text=str(folder))).to_contain_text("project")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("link").filter(has_text=str(folder)).click()
    page.get_by_role("button", name="Room settings").click()
    expect(page.get_by_role("definition").filter(has_text=str(folder))).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_fifty_browsers_in_one_room_all_have_what_is_said(console: Console) -> None:
    """Three of them are drawn, which is what costs; the others listen to the stream that a page has."""
    drawn = [console.page("rooms/hall") for _ in range(3)]
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(listening(console, "hall")) for _ in range(BROWSERS - len(drawn))]
        say(drawn[0], "to all fifty")
        for page in drawn:
            expect(log(page).get_by_text("to all fifty")).to_have_count(1)
        for other in others:
            assert heard(other, "to all fifty")


@contextlib.contextmanager
def listening(console: Console, room: str) -> Iterator[http.client.HTTPResponse]:
    """A browser of the same person, as far as its stream goes."""
    (cookie,) = console.logged_in["cookies"]
    connection = http.client.HTTPConnection(console.server.host, console.server.port, timeout=PATIENCE)
    ((proof,),) = [
        [one["value"] for one in origin["localStorage"] if one["name"] == "doorward-proof"]
        for origin in console.logged_in["origins"]
    ]
    headers = {"Cookie": f"{cookie['name']}={cookie['value']}", "Doorward-CSRF": proof, "Sec-Fetch-Site": "same-origin"}
    connection.request("GET", f"/api/console/stream?room={room}", headers={**headers, "Accept": "text/event-stream"})
    with contextlib.closing(connection), connection.getresponse() as answer:
        assert answer.status == 200
        assert heard(answer, "room-ready")
        yield answer


def heard(answer: http.client.HTTPResponse, text: str) -> bool:
    return any(text in line.decode() for line in answer)
