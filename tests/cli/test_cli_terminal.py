"""What a person at a terminal sees: tables, words and no traces."""

from __future__ import annotations

import re

from doorward_process import BIN, COLUMNS, Doorward


def lines(doorward: Doorward, command_line: str, code: int = 0) -> list[str]:
    seen = doorward.on_terminal(command_line)
    assert seen.code == code, seen.out
    return [line.rstrip() for line in seen.out.splitlines()]


def test_a_list_is_a_table(shared: Doorward) -> None:
    shared("init")
    shown = lines(shared, """doorward run data/list --collection=recipes --fields='["id"]' --limit=3""")
    assert shown[:5] == ["id", "admin", "assistant", "casual-chat", "3 items"]


def test_columns_stand_under_their_names(shared: Doorward) -> None:
    shown = lines(shared, "doorward rooms list")
    header = next(n for n, line in enumerate(shown) if line.startswith("room "))
    place = shown[header].index("recipe")
    assert shown[header + 1][place:].startswith("code-collaboration")


def test_nothing_found_is_said(shared: Doorward) -> None:
    assert lines(shared, "doorward approvals list") == ["Nothing found."]


def test_a_single_thing_is_name_and_value(shared: Doorward) -> None:
    shown = lines(shared, "doorward data read rooms general")
    assert "recipe     code-collaboration" in shown
    assert "archived   no" in shown


def test_a_value_with_fields_of_its_own_is_a_table_in_its_place(shared: Doorward) -> None:
    shown = lines(shared, "doorward run --dry-run file/write --path=a.txt --content=hello")
    place = next(n for n, line in enumerate(shown) if line.startswith("effect "))
    assert re.fullmatch(r"effect +path +a\.txt", shown[place])
    assert any(re.fullmatch(r" +\+hello", line) for line in shown[place:])


def test_a_dry_run_shows_the_person_what_a_program_changes_and_not_their_agent(shared: Doorward) -> None:
    line = "doorward run --dry-run bash --command='echo made > made.txt; echo said'"
    shown = "\n".join(lines(shared, line))
    assert "In a trial run on a copy it ended with exit code 0." in shown
    assert re.search(r"^ +\+made$", shown, re.MULTILINE)
    assert "| said" not in "\n".join(lines(shared, f"{line} | cat"))
    assert not (shared.home / "workspace" / "made.txt").exists()


def test_a_change_names_its_execution_once(shared: Doorward) -> None:
    shown = lines(shared, "doorward rooms create cellar --recipe=support")
    assert sum(line.startswith("execution ") for line in shown) == 1


def test_a_token_can_be_copied_in_one_piece(shared: Doorward) -> None:
    shown = lines(shared, "doorward token create robbie")
    token = shown[shown.index("token:") + 1]
    assert len(token) > COLUMNS
    assert re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]+", token)


def test_a_refusal_is_a_sentence_with_its_rule(shared: Doorward) -> None:
    shown = lines(shared, "doorward run system/status", code=3)
    assert shown[0].startswith("refused (not_permitted) system/status (tier system) is not allowed")
    assert "  rule: recipe code-collaboration: nothing allows it" in shown


def test_what_a_file_holds_cannot_move_the_cursor(shared: Doorward) -> None:
    (shared.home / "workspace" / "bad.txt").write_text("a\x1b[2Kb\u202ec\x9b1mfine\n")
    shown = "\n".join(lines(shared, "doorward run file/read --path=bad.txt"))
    assert r"a\u001b[2Kb\u202ec\u009b1mfine" in shown


def test_verify_and_tail_are_made_for_reading(shared: Doorward) -> None:
    assert re.fullmatch(
        r"verified  \d+ records, \d+ checkpoints, 0 archived segments", lines(shared, "doorward audit verify")[0]
    )
    (newest,) = lines(shared, "doorward audit tail -n 1")
    assert re.fullmatch(r" +\d+ \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \w+ +\S+ .*", newest)


def test_a_reader_that_goes_away_is_no_error_worth_a_trace(shared: Doorward) -> None:
    seen = shared.on_terminal(f"{BIN}/doorward audit export | head -c 10")
    assert "Traceback" not in seen.out
    assert "Exception" not in seen.out
