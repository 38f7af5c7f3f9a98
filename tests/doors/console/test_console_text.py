"""What somebody wrote is shown and never becomes markup, and a room's page takes in what happens in any order."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doorward.doors.console.files import STATIC
from node_peers import NODE

ALLOWED = {"div", "p", "br", "ul", "ol", "li", "pre", "code", "strong", "em", "a", "span", "blockquote"}
RLO = "\u202e"


def asked(*requests: tuple[str, str, Any]) -> list[Any]:
    """What functions of the console's modules give, asked of one Node process."""
    lines = "".join(
        json.dumps({"module": module, "call": name, "given": given}) + "\n" for module, name, given in requests
    )
    script = Path(__file__).with_name("page_modules.mjs")
    done = subprocess.run([NODE, script, STATIC], input=lines, capture_output=True, text=True, timeout=60, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert all("error" not in one for one in answers), answers
    return [one.get("value") for one in answers]


def nodes(vnode: Any) -> Iterator[dict[str, Any]]:
    if isinstance(vnode, list):
        for one in vnode:
            yield from nodes(one)
    elif isinstance(vnode, dict):
        yield vnode
        yield from nodes(vnode.get("props", {}).get("children"))


def tags(vnode: Any) -> set[str]:
    return {one["type"] for one in nodes(vnode) if "type" in one}


def words(vnode: Any) -> str:
    """All text that would be shown."""
    if isinstance(vnode, str):
        return vnode
    if isinstance(vnode, list):
        return "".join(words(one) for one in vnode)
    props = vnode.get("props", {}) if isinstance(vnode, dict) else {}
    return str(props.get("text", "")) + words(props.get("children") or [])


TRICKS = [
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "[click](javascript:alert(1)) [data](data:text/html,x) <a href='javascript:x'>y</a>",
    "![picture](https://evil.example/track.png)",
    "**bold *both** `code <b>` _low_ " + "*" * 500,
    "[https://bank.example](https://evil.example/login)",
    "```html\n<iframe src=//evil.example></iframe>\n",
    "> quote\n- item\n1. first\n# head\n" + "[" * 2_000,
]


@pytest.fixture(scope="module")
def marked() -> list[Any]:
    return asked(*(("markdown.js", "Marked", [{"text": text}]) for text in TRICKS))


def test_nothing_that_somebody_wrote_becomes_a_tag_of_theirs(marked: list[Any]) -> None:
    for text, vnode in zip(TRICKS, marked, strict=True):
        assert tags(vnode) <= ALLOWED, text
        assert "dangerouslySetInnerHTML" not in str(vnode)
    assert words(marked[0]) == TRICKS[0]


def test_a_link_leads_to_the_web_only_and_shows_where(marked: list[Any]) -> None:
    links = [one for vnode in marked for one in nodes(vnode) if one.get("type") == "a"]
    assert {one["props"]["href"] for one in links} == {"https://evil.example/track.png", "https://evil.example/login"}
    for link in links:
        assert link["props"]["href"] in words(link)
        assert link["props"]["rel"] == "noopener noreferrer nofollow"


def test_what_hides_or_turns_text_about_is_written_out() -> None:
    given = f"a{RLO}b\x1b[31m\u200bc\td\ne 👩\u200d🚀"
    flat, lines = asked(("visible.js", "visibleText", [given]), ("visible.js", "visibleText", [given, True]))
    assert flat == "a‹U+202E›b‹U+001B›[31m‹U+200B›c\td‹U+000A›e 👩\u200d🚀"
    assert "d\ne" in lines


def test_a_room_shows_each_message_once_in_its_newest_form_whatever_comes_first() -> None:
    empty = {"messages": [], "sending": [{"key": "k", "message": "b"}], "typing": {"anna": 1}, "revision": 0}
    first = {"id": "a", "position": 1, "revision": 5, "text": "edited", "sender": "owner"}
    second = {"id": "b", "position": 2, "revision": 2, "text": "later", "sender": "anna"}
    stale = {**first, "revision": 1, "text": "as it was"}
    (state,) = asked(("room/timeline.js", "withMessages", [empty, [second, first, stale, second]]))
    assert [one["text"] for one in state["messages"]] == ["edited", "later"]
    assert (state["revision"], state["sending"], state["typing"]) == (5, [], {})


def test_a_draft_goes_when_it_is_done_and_an_at_sign_finds_members() -> None:
    state = {"drafts": [{"id": "d", "text": "I thi"}], "thinking": {"guide": "thinking"}}
    members = {"members": {"anna": "member", "andy": "member", "guide": "member"}}
    done, idle, offered, none = asked(
        ("room/timeline.js", "heard", [state, "draft", {"id": "d", "done": True}]),
        ("room/timeline.js", "heard", [state, "thinking", {"persona": "guide", "state": "idle"}]),
        ("room/composer.js", "completions", ["ask @AN", 7, members]),
        ("room/composer.js", "completions", ["mail me@an", 10, members]),
    )
    assert done["drafts"] == []
    assert idle["thinking"] == {}
    assert (offered["ids"], offered["from"]) == (["anna", "andy"], 4)
    assert none is None
