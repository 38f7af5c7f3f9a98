"""Approvals decided from the terminal: yes, no, too late, again."""

from __future__ import annotations

import json
import re
from typing import Any

from doorward.cli.approvals import describe_field
from doorward_process import Doorward, Ended
from waiting import PATIENCE

WRITE = ("file/write", "--path=note.txt", "--content=hello")


def parked(doorward: Doorward, *command: str) -> str:
    ended = doorward("run", *(command or WRITE))
    assert (ended.code, ended.json["status"]) == (4, "parked"), ended
    ticket: str = ended.json["ticket"]
    return ticket


def note(doorward: Doorward) -> str | None:
    file = doorward.home / "workspace" / "note.txt"
    return file.read_text() if file.exists() else None


def refusal(ended: Ended) -> Any:
    assert ended.code in (1, 3), ended
    return ended.json["code"], ended.json["message"]


def test_an_approved_command_runs_once(doorward: Doorward) -> None:
    ticket = parked(doorward)
    assert note(doorward) is None
    assert doorward("approvals", "approve", ticket).json["result"]["state"] == "approved"
    assert note(doorward) is None
    resumed = doorward("run", f"--ticket={ticket}")
    assert (resumed.code, note(doorward)) == (0, "hello")

    (doorward.home / "workspace" / "note.txt").write_text("mine")
    execution = resumed.json["call"]
    again = refusal(doorward("run", f"--ticket={ticket}"))
    assert again == ("not_approved", f"Approval {ticket} is already used, by execution {execution}.")
    assert note(doorward) == "mine"


def test_a_denied_command_does_not_run(doorward: Doorward) -> None:
    ticket = parked(doorward)
    assert doorward("approvals", "deny", ticket).json["result"]["state"] == "denied"
    assert refusal(doorward("run", f"--ticket={ticket}")) == ("not_approved", f"Approval {ticket} is denied.")
    code, message = refusal(doorward("approvals", "approve", ticket))
    assert code == "conflict"
    assert message == f"Approval {ticket} is denied. Nothing was decided."
    assert note(doorward) is None


def test_an_expired_request_can_neither_be_approved_nor_resumed(doorward: Doorward) -> None:
    """Its time is shorter than any process takes to start."""
    recipe = {
        "recipeId": "hasty",
        "displayName": "Hasty",
        "strategy": {
            "aiCommands": {
                "enabled": True,
                "tiers": ["code"],
                "requireApproval": {"file/*": {"timeoutSeconds": 0.001}},
            }
        },
    }
    file = doorward.folder / "hasty.json"
    file.write_text(json.dumps(recipe))
    assert doorward("recipe", "put", str(file)).code == 0
    assert doorward("rooms", "create", "quick", "--recipe=hasty").code == 0
    ticket = parked(doorward, "--room=quick", *WRITE)
    assert doorward("approvals", "show", ticket).json["result"]["state"] == "expired"
    late = "is expired without a decision."
    assert late in refusal(doorward("approvals", "approve", ticket))[1]
    assert refusal(doorward("run", f"--ticket={ticket}"))[1].endswith(late)
    assert note(doorward) is None


def test_a_ticket_is_good_for_nothing_but_what_was_shown(doorward: Doorward) -> None:
    ticket = parked(doorward)
    assert doorward("approvals", "approve", ticket).code == 0
    other = doorward("run", f"--ticket={ticket}", "file/write", "--path=note.txt", "--content=goodbye")
    assert refusal(other)[0] == "not_approved"
    assert refusal(doorward("run", "--as=somebody", f"--ticket={ticket}"))[0] == "not_approved"
    assert note(doorward) is None
    assert doorward("run", f"--ticket={ticket}", *WRITE).code == 0
    assert note(doorward) == "hello"


def test_a_ticket_that_nobody_decided_about_does_not_run(doorward: Doorward) -> None:
    ticket = parked(doorward)
    ended = doorward("run", f"--ticket={ticket}")
    assert refusal(ended) == ("not_approved", f"Approval {ticket} is still waiting for a decision.")
    assert note(doorward) is None


def test_an_unknown_ticket_is_refused(doorward: Doorward) -> None:
    assert refusal(doorward("run", "--ticket=nothing"))[0] == "not_found"
    assert refusal(doorward("approvals", "approve", "nothing"))[0] == "not_found"


def test_an_agent_cannot_approve(doorward: Doorward) -> None:
    ticket = parked(doorward)
    ended = doorward("run", "approval/approve", f"--id={ticket}")
    assert refusal(ended)[1] == "Only a person may run approval/approve. You are an agent."


def test_what_waits_is_listed_until_it_is_decided(doorward: Doorward) -> None:
    ticket = parked(doorward)
    (waiting,) = doorward("approvals", "list").json["result"]["items"]
    assert (waiting["id"], waiting["state"], waiting["command"]) == (ticket, "pending", "file/write")
    shown = doorward("approvals", "show", ticket).json["result"]["shown"]
    assert shown == 'file/write {"content": "hello", "path": "note.txt"}'
    doorward("approvals", "deny", ticket)
    assert doorward("approvals", "list").json["result"]["items"] == []
    assert [one["state"] for one in doorward("approvals", "list", "--all").json["result"]["items"]] == ["denied"]


def test_what_is_cut_says_how_to_see_the_rest(doorward: Doorward) -> None:
    lines = "".join(f"{number:05}\n" for number in range(5000))
    ticket = parked(doorward, "file/write", "--path=note.txt", f"--content={lines}")
    rest = f"more characters. To see all changes: doorward approvals show {ticket} --full"
    assert rest in doorward("approvals", "show", ticket).err
    full = doorward("approvals", "show", ticket, "--full")
    assert full.json["result"]["difference"].endswith("+04998\n+04999\n")
    assert (full.json["result"]["linesAdded"], full.json["result"]["differenceNext"], full.err) == (5000, None, "")


def test_a_program_can_wait_for_the_decision(doorward: Doorward) -> None:
    with doorward.started("run", "--wait", *WRITE) as waiting:
        assert waiting.stderr is not None
        lines = iter(waiting.stderr.readline, "")
        found = next(
            filter(None, (re.match(r"Waiting for approval: doorward approvals approve (\w+)", s) for s in lines))
        )
        assert note(doorward) is None
        assert doorward("approvals", "approve", found[1]).code == 0
        out, _ = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 0
    assert json.loads(out)["status"] == "done"
    assert note(doorward) == "hello"


class TestOnATerminal:
    LINE = "doorward run file/write --path=note.txt --content=hello"

    def test_yes_lets_it_run(self, doorward: Doorward) -> None:
        seen = doorward.on_terminal(self.LINE, "y")
        assert (seen.code, note(doorward)) == (0, "hello")
        assert '  file/write {"content": "hello", "path": "note.txt"}\nIt would change:\n' in seen.out
        assert "  +hello\n" in seen.out
        assert "Approve, as yourself? [y/N]: y\n" in seen.out

    def test_a_long_change_says_how_to_see_the_rest(self, doorward: Doorward) -> None:
        seen = doorward.on_terminal('doorward run file/write --path=note.txt --content="$(seq 9999)"', "n")
        assert re.search(r"  … \d+ more characters. To see all changes: doorward approvals show \w+ --full\n", seen.out)

    def test_no_and_silence_do_not(self, doorward: Doorward) -> None:
        for answer in ("n", " "):
            seen = doorward.on_terminal(self.LINE, answer)
            assert (seen.code, note(doorward)) == (3, None)
            assert re.search(r"refused \(not_approved\) Approval \w+ is denied\.", seen.out)

    def test_hidden_characters_are_written_out(self, doorward: Doorward) -> None:
        """What would turn the line around on the screen, or move the cursor, is shown as what it is."""
        seen = doorward.on_terminal("doorward run file/write --path=note.txt --content=$'a\\u202eb\\e[2Kc\\n'", "n")
        assert r'{"content": "a\u202eb\u001b[2Kc\n", "path": "note.txt"}' in seen.out
        assert "\x1b[2K" not in seen.out


def test_a_field_to_fill_in_says_what_goes_into_it() -> None:
    size = {"title": "Size", "type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}]}
    assert describe_field(size, True) == "Size; one of s (Small), l; required"
    plain = {"description": "Your\u202e age", "type": "integer", "default": 7}
    assert describe_field(plain, False) == "Your\\u202e age; integer; optional; default 7"
    many = {"type": "array", "items": {"enum": ["a", "b"]}}
    assert describe_field(many, False) == "a list of a, b, as JSON; optional"
