"""People watch and steer: approvals, executions, and two who decide at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from browsing import Console
from playwright.sync_api import Locator, Page, Route, expect

QUICK = """{
  "recipeId": "quick",
  "displayName": "Quick",
  "strategy": {"aiCommands": {
    "enabled": true,
    "tiers": ["information", "code"],
    "requireApproval": {"file/write": {"timeoutSeconds": 1}}
  }}
}"""


LASTING = QUICK.replace("quick", "lasting").replace('{"timeoutSeconds": 1}', "true")


@pytest.fixture(scope="module", autouse=True)
def _rooms(serving: Console) -> None:
    serving.owner.result("recipe/put", id="quick", text=QUICK)
    serving.owner.result("room/create", name="quick", recipe="quick")
    serving.owner.result("room/create", name="ops", recipe="admin")


def parked(console: Console, path: str, room: str = "general") -> str:
    """The ticket of an agent that wants to write a file."""
    outcome = console.owner.ask("file/write", by="helper", room=room, path=path, content="Call the plumber.\n")
    assert outcome["status"] == "parked", outcome
    return str(outcome["ticket"])


def card(page: Page, id: str) -> Locator:
    return page.locator(f"#approval-{id}")


def approve(page: Page, id: str) -> None:
    card(page, id).get_by_role("button", name="Approve").click()


def test_an_approval_comes_up_is_approved_and_shows_what_came_of_it(console: Console) -> None:
    page = console.page("approvals")
    expect(page.get_by_role("main")).to_contain_text("Nothing is waiting")
    id = parked(console, "approved.txt")
    one = card(page, id)
    expect(one).to_contain_text('{"content": "Call the plumber.\\n", "path": "approved.txt"}')
    expect(one.get_by_role("figure")).to_contain_text("1 line added")
    expect(one.get_by_role("figure")).to_contain_text("Call the plumber.")
    expect(one.get_by_role("timer")).to_contain_text("left")
    expect(page.get_by_role("link", name="Approvals")).to_contain_text("1")
    approve(page, id)
    expect(one).to_contain_text("owner approved")
    assert console.owner.ask("", ticket=id, by="helper", room="general")["status"] == "done"
    expect(one).to_contain_text("Ran as execution")
    expect(one).to_contain_text("done")


def test_a_long_difference_is_shown_to_its_end_with_true_counts(console: Console) -> None:
    old, new = ("".join(f"{word} {number} {'x' * 200}\n" for number in range(100)) for word in ("old", "new"))
    console.owner.result("file/write", path="long.txt", content=old)
    outcome = console.owner.ask("file/write", by="helper", room="general", path="long.txt", content=new)
    page = console.page(f"approvals/{outcome['ticket']}")
    figure = page.get_by_role("figure")
    expect(figure).to_contain_text("100 lines added, 100 lines removed")
    expect(figure).not_to_contain_text("new 99")
    figure.get_by_role("button", name="Show more").click()
    expect(figure).to_contain_text("new 99")
    expect(figure.locator(".diff-added")).to_have_count(100)
    expect(figure.locator(".diff-removed")).to_have_count(100)
    expect(figure.get_by_role("button", name="Show more")).to_have_count(0)
    page.get_by_role("button", name="Deny").click()
    expect(page.get_by_text("owner denied")).to_be_visible()
    expect(page.locator("figure")).to_contain_text("new 90")  # the page remembers it, the server forgot it


def test_a_denied_call_never_runs(console: Console) -> None:
    id = parked(console, "denied.txt")
    page = console.page("approvals")
    card(page, id).get_by_role("button", name="Deny").click()
    expect(card(page, id)).to_contain_text("owner denied")
    outcome = console.owner.ask("", ticket=id, by="helper", room="general")
    assert (outcome["status"], outcome["code"]) == ("refused", "not_approved")


def test_an_answer_can_last_and_a_denial_gives_its_reason(console: Console) -> None:
    """Looking holds the card; the rule is shown before it is taken; the reason reaches the agent."""
    console.owner.result("recipe/put", id="lasting", text=LASTING)
    console.owner.result("room/create", name="lasting", recipe="lasting")
    page = console.page("approvals")
    denied = parked(console, "denied-for-a-reason.txt", "lasting")
    expect(card(page, denied).get_by_role("timer")).to_contain_text("min left")
    assert console.owner.result("approval/show", id=denied)["heldBy"] == "owner"
    card(page, denied).get_by_label("Reason for a denial").fill("Write it to notes/ instead.")
    card(page, denied).get_by_role("button", name="Deny").click()
    expect(card(page, denied)).to_contain_text("Write it to notes/ instead.")
    outcome = console.owner.ask("", ticket=denied, by="helper", room="lasting")
    assert "denied: Write it to notes/ instead." in outcome["message"]

    id = parked(console, "notes/a.txt", "lasting")
    card(page, id).get_by_role("button", name="Always…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text('file/write where path is "notes/a.txt" and content is any text')
    dialog.get_by_label("path is anything in notes/").check()
    expect(dialog).to_contain_text("1 of 2 calls would have run without asking")
    expect(dialog).to_contain_text("This changes the recipe lasting, for everybody in lasting.")
    dialog.get_by_role("button", name="Always approve").click()
    expect(card(page, id)).to_contain_text("owner approved")
    written = console.owner.ask("file/write", by="helper", room="lasting", path="notes/b.txt", content="x")
    assert written["rule"] == 'recipe lasting: allowWithoutApproval "file/write"', written
    assert parked(console, "elsewhere.txt", "lasting")


def test_what_nobody_decides_expires_before_their_eyes(console: Console) -> None:
    page = console.page("approvals")
    id = parked(console, "late.txt", "quick")
    expect(card(page, id)).to_contain_text("Nobody decided in time")
    expect(card(page, id).get_by_role("button", name="Approve")).to_have_count(0)


def test_on_a_phone_every_page_marks_what_waits_until_it_expires(console: Console) -> None:
    id = parked(console, "marked.txt")
    expired: list[str] = []

    def answer(route: Route) -> None:
        """One approval whose time is over, until the test says that the server knows that too."""
        answered = route.fetch()
        items = [{**one, "expiresAt": one["createdAt"]} for one in answered.json()["items"] if one["id"] == id]
        route.fulfill(response=answered, json={"items": [] if expired else items, "next": None})

    page = console.page("settings", viewport={"width": 390, "height": 844})
    page.route("**/api/approvals?pending=true*", answer)
    for path, title in (("ledger", "Ledger"), ("rooms/ops", "ops")):
        page.goto(f"{console.url}/console/{path}")
        expect(page.get_by_role("button", name="Menu, 1 approval waiting for you")).to_contain_text("1")
        expect(page).to_have_title(f"(1) {title} · Doorward")
    expired.append(id)
    expect(page.get_by_role("button", name="Menu", exact=True)).not_to_contain_text("1")
    expect(page).to_have_title("ops · Doorward")
    page.get_by_role("button", name="Menu").click()
    expect(page.get_by_role("link", name="Approvals")).not_to_contain_text("waiting")
    assert console.owner.ask("approval/deny", id=id)["status"] == "done"


def test_of_two_who_decide_at_once_the_second_is_told_so(console: Console) -> None:
    id = parked(console, "twice.txt")
    console.expected = ("409", "ERR_FAILED")
    second = console.stranger(storage_state=console.logged_in)
    second.route("**/api/console/stream*", lambda route: route.abort())
    second.goto(f"{console.url}/console/approvals")
    expect(card(second, id).get_by_role("button", name="Deny")).to_be_visible()
    console.owner.result("approval/approve", id=id)
    card(second, id).get_by_role("button", name="Deny").click()
    expect(card(second, id).get_by_role("alert")).to_have_text("Too late to deny: owner already approved it.")
    expect(card(second, id)).to_contain_text("owner approved")


def test_in_a_room_too_a_decision_that_came_too_late_says_who_was_first(console: Console) -> None:
    console.expected = ("409",)
    page = console.page("rooms/general")
    composer = page.get_by_label("Message", exact=True)
    composer.fill('write late.txt saying "two words"')
    composer.press("Enter")
    question = page.locator(".call .approval")
    expect(question).to_contain_text("wants to run")
    ticket = str(question.get_attribute("id")).removeprefix("approval-")

    def approved_first(route: Route) -> None:
        console.owner.result("approval/approve", id=ticket)
        route.continue_()

    page.route("**/api/approvals/*/deny", approved_first)
    question.get_by_role("button", name="Deny").click()
    expect(page.get_by_role("group", name="Call of file/write, done")).to_be_visible()
    expect(card(page, ticket).get_by_role("alert")).to_have_text("Too late to deny: owner already approved it.")
    expect(card(page, ticket)).to_contain_text("asked to run")
    card(page, ticket).get_by_text("Expected changes").first.click()
    expect(card(page, ticket).get_by_role("figure")).to_contain_text("two words")


@pytest.fixture
def endless(console: Console) -> Iterator[list[dict[str, Any]]]:
    """A script of an agent that writes something and does not end by itself; then its outcome."""
    outcomes: list[dict[str, Any]] = []
    script = "printf 'one\\ntwo \\033[31m<b>red</b>\\n'; sleep 600"

    def work() -> None:
        outcomes.append(console.owner.ask("bash", by="helper", room="ops", command=script))

    thread = threading.Thread(target=work)
    thread.start()
    yield outcomes
    thread.join(30)


def test_output_is_shown_as_it_comes_and_the_program_can_be_stopped(
    console: Console, endless: list[dict[str, Any]]
) -> None:
    page = console.page("executions")
    main = page.get_by_role("main")
    main.get_by_role("button", name="Show output").click()
    expect(main).to_contain_text("two")
    expect(main).to_contain_text("<b>red</b>")
    expect(main.locator("b")).to_have_count(0)
    main.get_by_role("link", name="bash").first.click()
    expect(main.get_by_role("heading", name="Parameters")).to_be_visible()
    expect(main.get_by_role("group", name="command")).to_contain_text("sleep 600")
    page.go_back()
    main.get_by_role("button", name="Cancel…").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel execution").click()
    expect(main).to_contain_text("Nothing is running")
    expect(main.get_by_role("table")).to_contain_text("cancelled")


def test_a_running_process_is_listed_opened_read_and_stopped(console: Console) -> None:
    script = "printf '<title>mine</title>here' > index.html; echo '<b>ready</b>'; exec python3 -u -m http.server 8080"
    console.owner.ask("process/start", by="helper", room="ops", command=script, name="preview")
    page = console.page("executions")
    one = page.get_by_role("article", name="preview, running")
    expect(one).to_contain_text("by helper")
    one.get_by_role("button", name="Show output").click()
    expect(one.get_by_role("log")).to_contain_text("<b>ready</b>")
    expect(one.get_by_role("log")).to_contain_text("Serving HTTP")
    page.reload()  # it may have been listed before it listened
    one.get_by_role("button", name="Open port 8080…").click()
    with page.context.expect_page() as opened:
        one.get_by_role("link", name="Open it in a new tab").click()
    expect(opened.value).to_have_title("mine")
    assert "doorward-open" not in opened.value.url
    opened.value.close()
    one.get_by_role("button", name="Stop…").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop process").click()
    expect(one).to_have_count(0)


def test_output_has_its_colours_and_an_approval_shows_every_hidden_character(console: Console) -> None:
    script = r"printf '\033[31mbad\033[0m and \033]0;title\007\033[2Jgood <i>\r\n'"
    done = console.owner.ask("bash", by="helper", room="ops", command=script)
    page = console.page(f"executions/{done['call']}")
    output = page.get_by_role("log", name="Output")
    expect(output).to_have_text("bad and good <i>")
    expect(output.locator(".ansi-red")).to_have_text("bad")
    ticket = console.owner.ask("file/write", by="helper", room="general", path="c", content="\x1b[31mred\n")["ticket"]
    page.goto(f"{console.url}/console/approvals/{ticket}")
    expect(page.get_by_role("figure")).to_contain_text("\\u001b[31mred")
    assert console.owner.ask("approval/deny", id=ticket)["status"] == "done"


def test_what_one_tries_goes_on_when_one_follows_the_link_to_its_execution(console: Console) -> None:
    page = console.page("commands/room/wait")
    main = page.get_by_role("main")
    main.get_by_label("name").fill("ops")
    main.get_by_role("button", name="Dry run").click()
    expect(main).to_contain_text("nothing was changed")
    main.get_by_role("button", name="Run", exact=True).click()
    expect(main).not_to_contain_text("nothing was changed")
    main.get_by_role("link", name="Open execution").click()
    expect(main.get_by_role("heading", level=1)).to_contain_text("room/wait")
    expect(main).to_contain_text("running")
    main.get_by_role("button", name="Cancel…").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel execution").click()
    expect(main).to_contain_text("cancelled")
