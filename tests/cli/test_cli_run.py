"""`doorward run`: parameters as people type them, output as programs read it, exit codes by outcome."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doorward_process import Doorward

GEN = '{"name": {"$contains": "gen"}}'


def items(ended: Any) -> list[dict[str, Any]]:
    assert ended.code == 0, ended.err
    found: list[dict[str, Any]] = ended.json["result"]["items"]
    return found


class TestParameters:
    def test_json_with_spaces_is_one_value(self, shared: Doorward) -> None:
        found = items(shared("run", "data/list", "--collection=rooms", f"--filter={GEN}"))
        assert [one["name"] for one in found] == ["general"]

    def test_the_line_of_the_specification_works_as_typed_into_a_shell(self, shared: Doorward) -> None:
        seen = shared.on_terminal(
            """doorward run data/list --collection=rooms --filter='{"name":{"$contains":"gen"}}' | cat"""
        )
        assert json.loads(seen.out)["result"]["items"][0]["name"] == "general"

    def test_quoted_values_keep_their_blanks(self, shared: Doorward) -> None:
        ended = shared("run", "--dry-run", "file/write", "--path=a b.txt", "--content=  two  words = 1 ")
        assert ended.code == 0, ended.err
        assert ended.json["result"]["effect"]["path"] == "a b.txt"
        assert "+  two  words = 1 " in ended.json["result"]["effect"]["diff"]

    def test_booleans_are_words_or_bare_flags(self, shared: Doorward) -> None:
        for given in ("--includeErrorsOnly", "--includeErrorsOnly=true"):
            assert items(shared("run", "debug/logs", given)) == []
        ended = shared("run", "debug/logs", "--includeErrorsOnly=yes")
        assert (ended.code, ended.json["code"]) == (3, "bad_params")
        assert "must be of type boolean" in ended.json["message"]

    def test_numbers_are_numbers(self, shared: Doorward) -> None:
        assert len(items(shared("run", "data/list", "--collection=recipes", "--limit=2"))) == 2
        for wrong in ("--limit=2.5", "--limit=two", "--limit=NaN", "--limit=0x2", "--limit=1e400"):
            ended = shared("run", "data/list", "--collection=recipes", wrong)
            assert (ended.code, ended.json["code"]) == (3, "bad_params"), wrong

    def test_null_is_nothing_where_nothing_is_allowed(self, shared: Doorward) -> None:
        assert items(shared("run", "data/list", "--collection=rooms", "--filter=null", "--orderBy=null"))
        ended = shared("run", "data/list", "--collection=rooms", "--limit=null")
        assert ended.json["code"] == "bad_params"

    @pytest.mark.parametrize("text", ["42", "true", "null", '{"a": 1}', ""])
    def test_a_text_parameter_takes_what_looks_like_something_else_as_text(self, text: str, shared: Doorward) -> None:
        ended = shared("run", "--dry-run", "file/write", "--path=n.txt", f"--content={text}")
        assert ended.code == 0, ended.err
        assert ended.json["result"]["effect"]["bytesAfter"] == len(text)

    def test_a_parameter_given_twice_is_refused(self, shared: Doorward) -> None:
        ended = shared("run", "data/list", "--collection=rooms", "--collection=users")
        assert ended.code == 3
        assert ended.json["message"] == "data/list: parameter 'collection' is given twice."

    @pytest.mark.parametrize("word", ["collection=rooms", "rooms", "-c"])
    def test_a_parameter_without_dashes_says_how_it_is_written(self, word: str, shared: Doorward) -> None:
        ended = shared("run", "data/list", word)
        assert ended.code == 3
        assert f"Write parameters as --key=value; given: '{word}'." in ended.err

    def test_an_unknown_parameter_names_the_valid_ones(self, shared: Doorward) -> None:
        ended = shared("run", "file/read", "--pth=a.txt")
        valid = "file/read takes path, offset, limit, encoding, numbered."
        assert ended.json["message"] == f"Unknown parameter 'pth'. {valid}"

    def test_options_of_run_may_stand_behind_the_command(self, shared: Doorward) -> None:
        ended = shared("run", "system/status", "--as=me", "--room=", "--json")
        assert ended.code == 0, ended.err

    def test_json_a_thousand_levels_deep_is_refused(self, shared: Doorward) -> None:
        deep = '{"$not":' * 1_000 + "{}" + "}" * 1_000
        ended = shared("run", "data/list", "--collection=rooms", f"--filter={deep}")
        assert (ended.code, ended.json["code"]) == (3, "bad_params")
        assert "Traceback" not in ended.err

    def test_bytes_that_are_no_text_are_refused(self, shared: Doorward) -> None:
        ended = shared("run", "file/read", b"--path=\xff\xfe.txt")
        assert ended.code == 3
        assert "Traceback" not in ended.err
        assert "UTF-8" in ended.err


class TestOutput:
    def test_a_pipe_gets_the_whole_outcome_as_json(self, shared: Doorward) -> None:
        ended = shared("run", "data/count", "--collection=rooms")
        assert ended.json["status"] == "done"
        assert ended.json["code"] == "ok"
        assert ended.json["result"] == {"count": 1}
        assert ended.json["text"].startswith("Result: ")

    def test_json_can_be_asked_for_on_a_terminal(self, shared: Doorward) -> None:
        seen = shared.on_terminal("doorward run --json data/count --collection=users")
        assert json.loads(seen.out)["result"] == {"count": 1}

    def test_what_went_wrong_is_said_on_the_error_stream_too(self, shared: Doorward) -> None:
        ended = shared("run", "system/status")
        assert ended.json["code"] == "not_permitted"
        assert ended.err.splitlines()[:2] == [
            f"refused (not_permitted) {ended.json['message']}",
            "  rule: recipe code-collaboration: nothing allows it",
        ]

    def test_the_first_use_says_what_it_made_and_only_then(self, doorward: Doorward) -> None:
        first, second = (doorward("run", "data/count", f"--collection={name}") for name in ("rooms", "users"))
        assert first.err.startswith(f"Created the home folder:\n  home folder   {doorward.home}\n")
        assert second.err == ""
        assert first.json["result"] == {"count": 1}


class TestExitCodes:
    def test_0_when_done(self, shared: Doorward) -> None:
        assert shared("run", "help/search", "--query=read a file").code == 0

    def test_1_when_failed(self, shared: Doorward) -> None:
        ended = shared("run", "undo", "--execution=none")
        assert (ended.code, ended.json["status"], ended.json["code"]) == (1, "failed", "not_found")

    def test_3_when_refused(self, shared: Doorward) -> None:
        ended = shared("run", "no/such")
        assert (ended.code, ended.json["status"], ended.json["code"]) == (3, "refused", "unknown_command")
        assert "The nearest commands you may run: " in ended.json["message"]

    def test_4_when_parked(self, shared: Doorward) -> None:
        ended = shared("run", "file/write", "--path=a.txt", "--content=a")
        assert (ended.code, ended.json["status"], ended.json["code"]) == (4, "parked", "approval_needed")
        assert f"doorward approvals approve {ended.json['ticket']}" in ended.err

    def test_5_when_the_home_folder_cannot_be_used(self, doorward: Doorward) -> None:
        doorward.home.write_text("a file is in the way")
        ended = doorward("run", "data/list", "--collection=rooms")
        assert ended.code == 5
        assert ended.err.startswith(f"unusable: The home folder {doorward.home} cannot be created: ")

    def test_5_when_a_setting_is_unknown(self, doorward: Doorward) -> None:
        doorward.home.mkdir(mode=0o700)
        (doorward.home / "doorward.toml").write_text("[limits]\nrunnign = 5\n")
        ended = doorward("run", "data/list", "--collection=rooms")
        assert ended.code == 5
        assert "runnign" in ended.err
        assert "Traceback" not in ended.err


class TestExplain:
    def test_allowed_names_the_rule(self, shared: Doorward) -> None:
        ended = shared("explain", "--room", "general", "data/list")
        assert ended.code == 0
        assert ended.json["decision"] == "allowed"
        assert ended.json["rule"] == 'recipe code-collaboration: tier "information"'
        assert ended.json["approval"] is None

    def test_denied_names_the_rule_and_what_would_be_valid(self, shared: Doorward) -> None:
        ended = shared("explain", "system/status")
        assert ended.code == 3
        assert ended.json["decision"] == "refused"
        assert ended.json["rule"] == "recipe code-collaboration: nothing allows it"
        assert "valid: room/say; commands of the tiers information, visual, code." in ended.json["reason"]

    def test_a_command_for_people_is_allowed_to_the_person_and_denied_to_the_agent(self, shared: Doorward) -> None:
        assert (
            shared("explain", "--room=", "--as=me", "recipe/put").json["rule"] == "built-in: a person with root access"
        )
        assert shared("explain", "recipe/put").json["rule"] == "built-in: only people"

    def test_the_approval_it_would_need_is_told(self, shared: Doorward) -> None:
        assert shared("explain", "file/write").json["approval"]["quorum"] == 1

    def test_it_writes_nothing(self, shared: Doorward) -> None:
        before = shared("audit", "export").out
        shared("explain", "data/list")
        assert shared("audit", "export").out == before

    def test_a_room_that_is_not_there_is_denied(self, shared: Doorward) -> None:
        ended = shared("explain", "--room", "attic", "data/list")
        assert (ended.code, ended.json["rule"]) == (3, "built-in: no such room")


def test_text_in_a_pipe_is_what_a_person_reads(shared: Doorward) -> None:
    shared("run", "--as=me", "--room=", "file/write", "--path=poem.txt", "--content=one\ntwo\n")
    read = shared.on_terminal("doorward run file/read --path=poem.txt --text | cat")
    assert read.out == "one\ntwo\n"
    ran = shared.on_terminal("doorward run --text --as=me --room= bash --command='echo out; exit 3' 2>/dev/null | cat")
    assert ran.out == "out\n"
    listed = shared.on_terminal("doorward run file/list --text | cat").out
    assert "poem.txt" in listed
    assert "\x1b" not in listed
    both = shared("run", "--text", "--json", "file/list")
    assert (both.code, "--json and --text exclude each other" in both.err) == (2, True)
