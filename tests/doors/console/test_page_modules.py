"""What the console's pages work out without a browser: forms from schemas, differences, output, and calls in words."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from doorward.core.argtext import parse_line

TEXT = {"type": "string"}
SHAPES = {
    "type": "object",
    "required": ["name", "size"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "share": {"type": "number", "exclusiveMinimum": 0, "default": 0.5},
        "live": {"type": "boolean", "default": False},
        "active": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None},
        "tier": {"enum": ["low", "high"], "default": "low"},
        "tags": {"type": "array", "items": TEXT, "maxItems": 2},
        "labels": {"type": "object", "additionalProperties": TEXT},
        "filter": {"anyOf": [{"type": "object"}, {"type": "null"}], "default": None},
        "order": {"anyOf": [{"type": "array", "items": TEXT}, TEXT, {"type": "null"}], "default": None},
        "place": {"$ref": "#/$defs/Place"},
    },
    "$defs": {"Place": {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}, "note": TEXT}}},
}


@pytest.fixture
def form(ask):
    """A form filled with values, read again."""

    def filled(values: dict[str, Any], schema: dict[str, Any] = SHAPES) -> tuple[Any, Any]:
        draft = ask("lib/schema.js", "createDraft", schema, schema, "", [], values)
        found = ask("lib/form-values.js", "readForm", schema, draft, schema)
        return found["value"], found["problems"]

    return filled


def test_a_form_gives_back_what_it_was_filled_with(form):
    values = {
        "name": 'a"<b',
        "size": 3,
        "share": 0.25,
        "live": True,
        "active": False,
        "tier": "high",
        "tags": ["x", "y"],
        "labels": {"k": "v", "__proto__": "odd"},
        "filter": {"age": {"$gte": 18}},
        "order": ["-id"],
        "place": {"x": 1},
    }
    values = json.loads(json.dumps(values))
    assert form(values) == (values, {})
    assert form({**values, "order": "id"})[0]["order"] == "id"


def test_what_nobody_touched_is_left_out_so_that_defaults_hold(form):
    assert form({"name": "a", "size": 1}) == ({"name": "a", "size": 1}, {})


def test_what_is_needed_and_blank_is_said_beside_its_field(form):
    value, problems = form({})
    assert problems == {"name": "Required.", "size": "Required."}
    assert value == {}


@pytest.mark.parametrize(
    ("values", "field", "says"),
    [
        ({"size": 10}, "size", "At most 9; given 10."),
        ({"size": 0}, "size", "At least 1; given 0."),
        ({"size": "1.5"}, "size", "Enter a whole number; given 1.5."),
        ({"size": "0x10"}, "size", "Enter a number, such as 10; given 0x10."),
        ({"size": "9007199254740993"}, "size", "Too large for a browser to hold exactly. "),
        ({"share": 0}, "share", "More than 0; given 0."),
        ({"name": "longer"}, "name", "At most 5 characters; given 6."),
        ({"tags": ["a", "b", "c"]}, "tags", "At most 2 items; given 3."),
        ({"place": {"note": "n"}}, "place.x", "Required."),
    ],
)
def test_what_does_not_fit_is_said_beside_its_field(form, values, field, says):
    _, problems = form({"name": "a", "size": 1, **values})
    assert list(problems) == [field]
    assert problems[field].startswith(says)


def test_a_text_of_many_lines_may_be_empty_and_a_name_may_not(form):
    schema = {"type": "object", "required": ["content", "who"], "properties": {"content": TEXT, "who": TEXT}}
    assert form({"content": "", "who": ""}, schema) == ({"content": ""}, {"who": "Required."})


def test_broken_json_is_said_and_not_sent(ask):
    draft = ask("lib/schema.js", "createDraft", SHAPES, SHAPES, "", [], {"name": "a", "size": 1})
    draft["fields"]["filter"] = '{"a": '
    found = ask("lib/form-values.js", "readForm", SHAPES, draft, SHAPES)
    assert list(found["problems"]) == ["filter"]
    draft["fields"]["filter"] = "[1]"
    found = ask("lib/form-values.js", "readForm", SHAPES, draft, SHAPES)
    assert found["problems"] == {"filter": 'Enter an object, such as {"name": "value"}.'}


@pytest.mark.parametrize(
    ("name", "schema", "kind"),
    [
        ("path", TEXT, "text"),
        ("content", TEXT, "lines"),
        ("sql", {"type": "string", "maxLength": 100_000}, "lines"),
        ("password", TEXT, "secret"),
        ("pin", TEXT, "secret"),
        ("code", {"type": "string", "format": "password"}, "secret"),
        ("size", {"type": ["integer", "null"]}, "integer"),
        ("mode", {"const": "fast"}, "const"),
        ("args", {"type": "array", "items": TEXT}, "list"),
        ("pair", {"type": "array", "prefixItems": [TEXT, TEXT]}, "json"),
        ("any", {}, "json"),
        ("either", {"oneOf": [TEXT, {"type": "number"}]}, "either"),
        ("elsewhere", {"$ref": "https://example.com/schema"}, "json"),
    ],
)
def test_each_kind_of_field_has_its_way_to_be_shown(ask, name, schema, kind):
    assert ask("lib/schema.js", "fieldKind", schema, schema, name, ["pin"]) == kind


def test_a_schema_that_points_at_itself_ends(ask):
    node = {"type": "object", "properties": {"next": {"$ref": "#"}, "name": TEXT}}
    draft = ask("lib/schema.js", "createDraft", node, node, "", [], {"name": "a", "next": {"name": "b"}})
    assert ask("lib/form-values.js", "readForm", node, draft, node)["value"] == {"name": "a", "next": {"name": "b"}}


def test_a_difference_tells_lines_that_come_from_lines_that_go(ask):
    text = "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n same\n--- gone\n-old\n+new\n\\ No newline at end of file\n"
    lines = ask("lib/diff.js", "parseDiff", text)
    assert [(line["kind"], line["text"]) for line in lines] == [
        ("file", "--- a/x"),
        ("file", "+++ b/x"),
        ("place", "@@ -1,3 +1,2 @@"),
        ("same", "same"),
        ("removed", "-- gone"),
        ("removed", "old"),
        ("added", "new"),
        ("note", "No newline at end of file"),
    ]
    assert ask("lib/diff.js", "summarizeDiff", lines) == "1 line added, 2 lines removed"


def test_sentences_around_a_difference_are_no_lines_of_it(ask):
    text = "This cannot be undone: it is large.\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+- item\nand 3 more paths."
    kinds = [line["kind"] for line in ask("lib/diff.js", "parseDiff", text)]
    assert kinds == ["note", "file", "file", "place", "added", "note"]


def test_a_difference_in_which_nothing_changes_has_no_line_that_comes_or_goes(ask):
    lines = ask("lib/diff.js", "parseDiff", "--- a/notes/today.md\n+++ b/notes/today.md\n")
    assert [line["kind"] for line in lines] == ["file", "file"]
    assert ask("lib/diff.js", "summarizeDiff", lines) == "No lines added or removed"


def test_what_could_not_be_foreseen_is_not_called_a_change_of_nothing(ask):
    def summary(text):
        return ask("lib/diff.js", "summarizeDiff", ask("lib/diff.js", "parseDiff", text))

    assert summary("What it would change could not be worked out: the file is too large.") == "Unknown"
    assert summary("Tried on a copy, it ended with exit code 0.\nIt changes nothing.") == "No changes"


def test_a_difference_without_blocks_goes_by_its_signs(ask):
    lines = ask("lib/diff.js", "parseDiff", "-description: a\n+description: b\n title: c")
    assert [line["kind"] for line in lines] == ["removed", "added", "same"]


@pytest.mark.parametrize(
    "params",
    [
        {"path": "a b.txt", "content": 'it\'s "here"\n$HOME `id` \\ end'},
        {"filter": {"name": "a b"}, "limit": 10, "all": True, "none": None},
        {"text": "", "word": "plain-1"},
    ],
)
def test_a_call_in_the_words_of_an_ai_is_read_as_the_same_call(ask, params):
    name, pairs = parse_line(ask("lib/call-text.js", "formatExecute", "file/write", params))
    read = {key: value if isinstance(params[key], str) else json.loads(value) for key, value in pairs}
    assert (name, read) == ("file/write", params)


def test_a_call_in_the_words_of_a_shell_stays_one_call_whatever_is_in_it(ask):
    params = {"path": "a b'; rm -rf $HOME #", "n": 1}
    line = ask("lib/call-text.js", "formatCli", "file/read", params, "my room")
    words = subprocess.run(
        ["/bin/sh", "-c", line.replace("doorward run", "printf '%s\\n'", 1)], capture_output=True, text=True, check=True
    )
    assert words.stdout.splitlines() == ["--as=me", "--room=my room", "file/read", f"--path={params['path']}", "--n=1"]


def test_a_schema_that_cannot_end_is_left_to_json(ask):
    node = {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}}
    draft = ask("lib/schema.js", "createDraft", node, node, "", [])
    problems = ask("lib/form-values.js", "readForm", node, draft, node)["problems"]
    assert list(problems) == ["next.next.next.next.next.next.next"]


def test_output_is_kept_whole_up_to_a_limit_and_then_its_end(ask):
    written = ask(
        "lib/output-buffer.js",
        "appendOutput",
        {"blocks": [], "streams": {}, "dropped": 0, "length": 0, "next": 0},
        "stdout",
        "ab",
        10_000,
    )
    for number in range(10):
        written = ask(
            "lib/output-buffer.js",
            "appendOutput",
            written,
            "stderr" if number % 2 else "stdout",
            "x" * 2_999 + "😀",
            10_000,
        )
    shown = "".join(block["text"] for block in written["blocks"])
    assert written["dropped"] + len(shown.encode("utf-16-le")) // 2 == written["length"] == 2 + 10 * 3_001
    assert len(shown) <= 10_000
    assert shown.endswith("😀")
    assert "�" not in shown


def test_streams_are_not_mixed_up(ask):
    written = ask(
        "lib/output-buffer.js",
        "appendOutput",
        {"blocks": [], "streams": {}, "dropped": 0, "length": 0, "next": 0},
        "stdout",
        "a",
    )
    written = ask("lib/output-buffer.js", "appendOutput", written, "stderr", "b")
    written = ask("lib/output-buffer.js", "appendOutput", written, "stderr", "c")
    assert [(block["stream"], block["text"]) for block in written["blocks"]] == [("stdout", "a"), ("stderr", "bc")]


def test_colours_go_on_over_blocks_and_pieces_and_other_escapes_vanish(ask):
    written = {"blocks": [], "streams": {}, "dropped": 0, "length": 0, "next": 0}
    pieces = [
        "\x1b[1;3",
        "1mred" + "x" * 8_000,
        "\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\x1b[2J\x1b[9;9H",
        "\x1b[0mend\r",
        "\n",
    ]
    for piece in pieces:
        written = ask("lib/output-buffer.js", "appendOutput", written, "stdout", piece)
    assert sum(len(block["text"]) for block in written["blocks"]) == written["length"] == sum(map(len, pieces))
    shown = [ask("lib/ansi.js", "parseAnsi", one["text"], one["style"]) for one in written["blocks"]]
    whole = [(piece["classes"], piece["text"]) for block in shown for piece in block]
    red = "".join(text for classes, text in whole if classes == "ansi-red ansi-bold")
    assert red == "red" + "x" * 8_000 + "link"
    assert whole[-1] == ("", "end\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[38;5;196ma\x1b[39mb\x1b[48;2;0;0;0mc", [("ansi-red", "a"), ("", "b"), ("", "c")]),
        ("\x1b[30;40m\x1b[8mhidden", [("ansi-black", "hidden")]),
        ("10%\r20%\r\n", [("", "10%\n20%\n")]),
        ("\x1b]0;never ended\nnext", [("", "\x1b]0;never ended\nnext")]),
        ("\x1b[7m<b>", [("ansi-inverse", "<b>")]),
    ],
)
def test_no_escape_hides_text(ask, text, shown):
    assert [(one["classes"], one["text"]) for one in ask("lib/ansi.js", "parseAnsi", text)] == shown


FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
EDGE = (
    "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0"
)


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox 140 on Linux"),
        (EDGE, "Edge 141 on Windows"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", "Unknown browser"),
    ],
)
def test_a_browser_is_named_as_people_name_it(ask, agent, name):
    assert ask("lib/sessions.js", "describeBrowser", agent) == name


def test_the_session_one_is_in_stands_first(ask):
    sessions = [{"id": id, "createdAt": at} for id, at in (("a", "2026-01"), ("b", "2026-02"), ("c", "2026-03"))]
    assert [one["id"] for one in ask("lib/sessions.js", "sortSessions", sessions, "a")] == ["a", "c", "b"]


def test_what_a_command_says_of_itself_has_no_line_breaks_of_its_source(ask):
    text = "Write a file,\n    and `mkdir` its folder.\n\nWith `live` it ``stays."
    first, second = ask("lib/markup.js", "parseParagraphs", text)
    assert first == ["Write a file, and ", {"code": "mkdir"}, " its folder."]
    assert second == ["With ", {"code": "live"}, " it ``stays."]


@pytest.mark.parametrize(
    ("password", "says"),
    [("", ""), ("twelve chars", ""), ("short", "At least 12 characters; given 5.")],
)
def test_a_password_that_is_too_short_is_said_before_anybody_is_added_with_it(ask, password, says):
    assert ask("parts/users.js", "validatePassword", password) == says


def test_a_token_is_made_for_no_room_of_two_and_for_none_that_is_closed(ask):
    rooms = [{"room": "pair", "direct": True}, {"room": "old", "archived": True}, {"room": "general", "direct": False}]
    assert ask("parts/tokens.js", "selectTokenRooms", rooms) == [rooms[2]]
