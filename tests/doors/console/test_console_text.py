"""What somebody wrote is shown and never becomes markup, and a room's page takes in what happens in any order."""

from __future__ import annotations

import json
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doorward.core.escape_invisible import escape_invisible
from doorward.doors.console.static_files import STATIC
from node_peers import NODE
from waiting import PATIENCE

ALLOWED = {"div", "p", "br", "ul", "ol", "li", "pre", "code", "strong", "em", "a", "span", "blockquote"}
RLO = "\u202e"


def asked(*requests: tuple[str, str, Any]) -> list[Any]:
    """What functions of the console's modules give, asked of one Node process."""
    lines = "".join(
        json.dumps({"module": module, "call": name, "given": given}) + "\n" for module, name, given in requests
    )
    script = Path(__file__).with_name("page_modules.mjs")
    done = subprocess.run(
        [NODE, script, STATIC], input=lines, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
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
    return asked(*(("parts/markdown.js", "Markdown", [{"text": text}]) for text in TRICKS))


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
    flat, lines = asked(
        ("lib/escape-invisible.js", "escapeInvisible", [given]),
        ("lib/escape-invisible.js", "escapeInvisible", [given, True]),
    )
    assert flat == "a‹U+202E›b‹U+001B›[31m‹U+200B›c\td‹U+000A›e 👩\u200d🚀"
    assert "d\ne" in lines


def test_the_console_writes_out_every_character_that_the_terminal_does() -> None:
    """Node and Python may know different versions of Unicode: what one of them does not know yet is left out."""
    script = (
        f"const {{ escapeInvisible }} = await import({json.dumps((STATIC / 'lib/escape-invisible.js').as_uri())});"
        "const hidden = [];"
        "for (let code = 0; code < 0xe0200; code += code === 0x1ffff ? 0xc0001 : 1) {"
        "  const one = String.fromCodePoint(code);"
        "  if (escapeInvisible(one, true) !== one && !/^\\p{Cn}/u.test(one)) hidden.push(code);"
        "}"
        "console.log(JSON.stringify(hidden));"
    )
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", script], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    known = [code for code in (*range(0x20000), *range(0xE0000, 0xE0200)) if unicodedata.category(chr(code)) != "Cn"]
    assert {code for code in known if escape_invisible(chr(code)) != chr(code)} == set(json.loads(done.stdout)) & {
        *known
    }
    unassigned, emoji = asked(
        ("lib/escape-invisible.js", "escapeInvisible", ["\u0378"]),
        ("lib/escape-invisible.js", "escapeInvisible", ["\u2764\ufe0f a\ufe0f"]),
    )
    assert (unassigned, emoji) == ("‹U+0378›", "\u2764\ufe0f a‹U+FE0F›")


def test_a_message_of_ticks_does_not_hold_up_the_pages_that_show_it() -> None:
    """Each of these took a page seconds to minutes while its marks were looked for with patterns."""
    ticks = "".join("`" * (length + 1) + "a" for length in range(440))
    lines = [ticks, "**a " * 24_000, "[a" * 48_000, "https://" * 12_000, "*a " * 32_000]
    shown = asked(
        *(("lib/markup.js", "parseInline", [line]) for line in lines),
        *(
            ("parts/markdown.js", "Markdown", [{"text": text}])
            for text in (
                ticks,
                "# a" + " " * 9_000 + "b",
                "\u200b" * 97_000,
                "|a" * 2_000 + "\n" + "|-" * 2_000 + "\n|" * 900,
                "|\n" + "-" * 9_000 + "x",
                "".join(" " * number + "- a\n" for number in range(130)),
            )
        ),
    )
    assert [len(one) for one in shown[:5]] == [1, 1, 1, 48, 1]
    assert words(shown[5]) == ticks
    assert words(shown[6]).startswith("a ")


def test_lists_nest_and_keep_their_numbers() -> None:
    text = "3. three\n   more of it\n   - a\n     1. deep\n   - b\n\n4. four\n- other"
    (found,) = asked(("lib/markup-blocks.js", "parseList", [text.split("\n"), 0]))
    deep = {"ordered": True, "start": 1, "items": [{"lines": ["deep"], "lists": []}]}
    inner = {"ordered": False, "start": 0, "items": [{"lines": ["a"], "lists": [deep]}, {"lines": ["b"], "lists": []}]}
    items = [{"lines": ["three", "more of it"], "lists": [inner]}, {"lines": ["four"], "lists": []}]
    assert found == {"list": {"ordered": True, "start": 3, "items": items}, "next": 7}


def test_a_table_is_one_only_with_a_row_of_dashes_for_its_titles() -> None:
    table = "a | b\n:-- | --:\n1 \\| 2 | `x` | too many\n| only |\nnot a row"
    found, none, fewer = asked(
        *(("lib/markup-blocks.js", "parseTable", [text.split("\n"), 0]) for text in (table, "a | b\nc | d", "a|b\n---"))
    )
    rows = [["1 | 2", "`x`"], ["only"]]
    assert found == {"table": {"align": ["left", "right"], "head": ["a", "b"], "rows": rows}, "next": 4}
    assert none is fewer is None


def test_marks_within_a_line_are_found_where_they_close() -> None:
    text = "a `b` ``c ` d`` **so *it* is** *em* snake_case_word 2*3*4 _low_ (see https://x.example/y). `open"
    (found,) = asked(("lib/markup.js", "parseInline", [text]))
    assert [one for one in found if isinstance(one, dict)] == [
        {"code": "b"},
        {"code": "c ` d"},
        {"bold": "so *it* is"},
        {"italic": "em"},
        {"italic": "low"},
        {"link": "https://x.example/y", "label": ""},
    ]
    assert found[-1] == "). `open"


def test_what_is_sent_is_shown_once_also_when_the_stream_is_faster_than_the_answer() -> None:
    mine = {"id": "m1", "sender": "owner", "position": 8, "text": "yes"}
    older = {**mine, "id": "m0", "position": 7}
    entry = {"key": "k", "text": "yes", "after": 7}
    cases = [
        ([entry], [older]),
        ([entry], [older, mine]),
        ([entry, {**entry, "key": "l"}], [older, mine]),
        ([{**entry, "message": "m1"}], [older]),
        ([{**entry, "message": "m1"}], [mine]),
        ([{**entry, "problem": {}}], [mine]),
    ]
    found = asked(*(("lib/timeline.js", "selectUnsent", [sending, known, "owner"]) for sending, known in cases))
    assert [[one["key"] for one in left] for left in found] == [["k"], [], ["l"], ["k"], [], ["k"]]


def test_whose_keeper_speaks_stands_beside_its_name() -> None:
    messages = [
        {"sender": "keeper", "onBehalfOf": "anna"},
        {"sender": "guide", "onBehalfOf": "anna"},
        {"sender": "bob"},
    ]
    found = asked(*(("lib/names.js", "senderName", [one]) for one in messages))
    assert found == ["keeper for anna", "guide", "bob"]


def test_events_of_a_stream_are_read_wherever_it_is_cut() -> None:
    text = ': hello\n\nevent: a\nid: 1/2\ndata: {"n": 1}\n\nevent: b\r\ndata: x\r\ndata: y\r\n\r\nevent: c\n\n'
    script = (
        f"const {{ createFrameParser }} = await import({json.dumps((STATIC / 'lib/sse.js').as_uri())});"
        "const all = [];"
        f"for (const piece of {json.dumps([list(text), [text], [text[:20], text[20:]]])}) {{"
        "  const found = [];"
        "  const take = createFrameParser((...event) => found.push(event));"
        "  piece.forEach(take);"
        "  all.push(found);"
        "}"
        "console.log(JSON.stringify(all));"
    )
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", script], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert json.loads(done.stdout) == [[["a", '{"n": 1}', "1/2"], ["b", "x\ny", ""]]] * 3


def test_a_room_shows_each_message_once_in_its_newest_form_whatever_comes_first() -> None:
    empty = {"messages": [], "typing": {"anna": 1}, "revision": 0}
    first = {"id": "a", "position": 1, "revision": 5, "text": "edited", "sender": "owner"}
    second = {"id": "b", "position": 2, "revision": 2, "text": "later", "sender": "anna"}
    stale = {**first, "revision": 1, "text": "as it was"}
    (state,) = asked(("lib/timeline.js", "mergeMessages", [empty, [second, first, stale, second]]))
    assert [one["text"] for one in state["messages"]] == ["edited", "later"]
    assert (state["revision"], state["typing"]) == (5, {})


def test_a_draft_goes_when_it_is_done_and_an_at_sign_finds_members() -> None:
    state = {"drafts": [{"id": "d", "text": "I thi"}], "thinking": {"guide": "thinking"}}
    members = {"members": {"anna": "member", "andy": "member", "guide": "member"}}
    done, idle, offered, none = asked(
        ("lib/timeline.js", "applyNotice", [state, "draft", {"id": "d", "done": True}]),
        ("lib/timeline.js", "applyNotice", [state, "thinking", {"persona": "guide", "state": "idle"}]),
        ("parts/composer.js", "completeMention", ["ask @AN", 7, members]),
        ("parts/composer.js", "completeMention", ["mail me@an", 10, members]),
    )
    assert done["drafts"] == []
    assert idle["thinking"] == {}
    assert (offered["ids"], offered["from"]) == (["anna", "andy"], 4)
    assert none is None
