"""`doorward recipe diff`: what a changed recipe would have decided, as a person and as a script see it (R2.7)."""

from __future__ import annotations

import json
import re

from doorward_process import Doorward

OTHER = {"recipeId": "code-collaboration", "displayName": "Other", "strategy": {"aiCommands": {"enabled": True}}}


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", text)


def test_it_lists_what_would_flip_and_tells_a_script_by_its_exit_code(doorward: Doorward) -> None:
    assert doorward("run", "room/list").code == 0
    new = doorward.home.parent / "new.json"
    new.write_text(json.dumps(OTHER))
    shown = doorward.on_terminal(f"doorward recipe diff {new}")
    assert shown.code == 6
    assert "room/list  allowed -> refused  once, by terminal" in plain(shown.out)
    assert "recipe code-collaboration: nothing allows it" in plain(shown.out)
    assert "1 of 1 decisions would change." in plain(shown.out)
    same = doorward("recipe", "diff", str(doorward.home / "recipes" / "code-collaboration.json"))
    assert (same.code, json.loads(same.out)["result"]["flipped"]) == (0, 0)
    new.write_text("{")
    wrong = doorward("recipe", "diff", str(new))
    assert (wrong.code, "The recipe that was given is not valid" in wrong.err) == (1, True)
