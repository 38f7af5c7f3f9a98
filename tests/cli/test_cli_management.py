"""init, rooms, recipe, data, token, status and audit, as a person uses them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from doorward_process import Doorward

QUIET = {"recipeId": "quiet", "displayName": "Quiet", "strategy": {}}


class TestInit:
    def test_it_makes_a_home_for_this_account_only_and_says_so(self, doorward: Doorward) -> None:
        ended = doorward("init")
        assert ended.code == 0
        assert ended.out.splitlines()[0] == "Created the home folder:"
        assert [name for name in ("secret.key", "recipes", "workspace", "general") if name not in ended.out] == []
        assert doorward.home.stat().st_mode & 0o777 == 0o700
        key = doorward.home / "secret.key"
        assert (key.stat().st_mode & 0o777, len(key.read_bytes())) == (0o600, 32)
        assert len(list((doorward.home / "recipes").glob("*.json"))) == 9

    def test_it_is_safe_to_repeat(self, doorward: Doorward) -> None:
        doorward("init")
        key = (doorward.home / "secret.key").read_bytes()
        again = doorward("init")
        assert (again.code, again.out) == (
            0,
            f"The home folder {doorward.home} already exists; nothing was changed.\n",
        )
        assert (doorward.home / "secret.key").read_bytes() == key

    def test_it_takes_a_workspace(self, doorward: Doorward, tmp_path: Path) -> None:
        mine = tmp_path / "mine"
        mine.mkdir()
        (mine / "a.txt").write_text("a")
        assert doorward("init", "--workspace", str(mine)).code == 0
        assert doorward("run", "file/read", "--path=a.txt").json["result"]["content"] == "a"

    def test_it_refuses_a_workspace_that_would_open_the_home(self, doorward: Doorward) -> None:
        ended = doorward("init", "--workspace", str(doorward.home.parent))
        assert ended.code != 0
        assert f"contains Doorward's home folder {doorward.home}, which no command may read" in ended.err
        assert not (doorward.home / "doorward.toml").exists()

    def test_a_workspace_given_to_an_existing_home_changes_nothing_and_says_how_to_change_it(
        self, doorward: Doorward, tmp_path: Path
    ) -> None:
        doorward("init")
        there = sorted(doorward.home.iterdir())
        (tmp_path / "other").mkdir()
        ended = doorward("init", "--workspace", "other")
        assert ended.code != 0
        assert "already exists" in ended.err
        assert "nothing was changed" in ended.err
        assert f'set files.workspace to "{tmp_path}/other" in {doorward.home}/doorward.toml' in " ".join(
            ended.err.split()
        )
        assert sorted(doorward.home.iterdir()) == there
        assert doorward("init", "--workspace", str(doorward.home / "workspace")).code == 0
        assert sorted(doorward.home.iterdir()) == there

    def test_a_mistyped_workspace_is_refused_and_not_created(self, doorward: Doorward, tmp_path: Path) -> None:
        ended = doorward("init", "--workspace", "projcet")
        assert (ended.code != 0, f"The workspace {tmp_path}/projcet does not exist." in ended.err) == (True, True)
        assert not doorward.home.exists()
        doorward("init")
        (doorward.home / "doorward.toml").write_text(f'[files]\nworkspace = "{tmp_path}/projcet"\n')
        for words in (("run", "file/list"), ("status",), ("up", "--port", "0")):
            ended = doorward(*words)
            assert (ended.code != 0, f"The workspace {tmp_path}/projcet does not exist." in ended.err) == (
                True,
                True,
            ), words
        assert not (tmp_path / "projcet").exists()

    def test_every_home_has_a_secret_of_its_own(self, tmp_path: Path) -> None:
        homes = [Doorward(tmp_path / name / "home") for name in ("one", "two")]
        for one in homes:
            one.folder.mkdir()
            one("init")
        first, second = ((one.home / "secret.key").read_bytes() for one in homes)
        assert first != second


class TestRoomsAndRecipes:
    def test_a_room_is_made_joined_left_and_closed(self, doorward: Doorward) -> None:
        assert doorward("rooms", "create", "lab", "--recipe=research-chat").json["result"]["recipe"] == "research-chat"
        assert doorward("rooms", "join", "lab", "robbie").code == 1
        assert doorward("rooms", "join", "lab", "robbie", "--agent").json["result"]["members"] == {
            "owner": "owner",
            "robbie": "member",
        }
        assert doorward("rooms", "recipe", "lab", "support").json["result"]["recipe"] == "support"
        assert doorward("rooms", "leave", "lab", "robbie").json["result"]["members"] == {"owner": "owner"}
        assert doorward("rooms", "archive", "lab").json["result"]["archived"] is True
        assert [one["room"] for one in doorward("rooms", "list").json["result"]["items"]] == ["general", "lab"]
        refused = doorward("run", "--room=lab", "help/search", "--query=x")
        assert refused.json["rule"] == "room lab: archived"

    def test_an_unknown_recipe_names_those_there_are(self, shared: Doorward) -> None:
        ended = shared("rooms", "create", "lab", "--recipe=reserch")
        assert ended.code == 1
        assert "There is no recipe 'reserch'. Recipes: admin, assistant, casual-chat, " in ended.json["message"]

    def test_a_recipe_is_checked_put_shown_and_removed(self, doorward: Doorward) -> None:
        file = doorward.folder / "quiet.json"
        file.write_text(json.dumps(QUIET))
        assert doorward("recipe", "check", str(file)).out == "quiet.json is a valid recipe: Quiet.\n"
        assert doorward("recipe", "put", str(file)).json["result"] == {
            "id": "quiet",
            "now": "in force",
            "replaced": False,
            "idle": [],
        }
        assert doorward("recipe", "show", "quiet").json["result"]["recipe"] == QUIET
        assert "quiet" in [one["id"] for one in doorward("recipe", "list").json["result"]["items"]]
        assert doorward("recipe", "remove", "quiet").code == 0
        assert "quiet" not in [one["id"] for one in doorward("recipe", "list").json["result"]["items"]]

    def test_a_recipe_with_a_typing_mistake_is_refused_and_the_place_is_named(self, doorward: Doorward) -> None:
        file = doorward.folder / "quiet.json"
        file.write_text(json.dumps({**QUIET, "strategy": {"aiCommand": {}}}))
        checked = doorward("recipe", "check", str(file))
        assert checked.code == 5
        assert "quiet.json is not valid at strategy.aiCommand: the key 'aiCommand' is unknown" in checked.err
        assert "did you mean 'aiCommands'?" in checked.err
        put = doorward("recipe", "put", str(file))
        assert put.code == 1
        assert not (doorward.home / "recipes" / "quiet.json").exists()

    def test_a_bad_edit_of_a_file_is_told_and_the_last_good_version_stays(self, doorward: Doorward) -> None:
        doorward("init")
        file = doorward.home / "recipes" / "code-collaboration.json"
        file.write_text(file.read_text().replace('"tiers"', '"teirs"'))
        ended = doorward("run", "data/count", "--collection=rooms")
        assert ended.code == 0
        assert "A recipe is not valid; its last valid version stays in force: " in ended.err
        assert "code-collaboration.json" in ended.err

    def test_the_schema_is_published(self, shared: Doorward) -> None:
        assert json.loads(shared("recipe", "schema").out)["$id"] == "urn:doorward:recipe"


class TestDataAndStatus:
    def test_collections_are_described_listed_read_counted_and_queried(self, shared: Doorward) -> None:
        names = [one["collection"] for one in shared("data", "describe").json["result"]["items"]]
        assert {"rooms", "messages", "users", "recipes", "executions", "approvals", "audit"} <= set(names)
        found = shared("data", "list", "recipes", "--order-by=-id", "--limit=1").json["result"]["items"]
        assert found[0]["id"] == "support"
        assert shared("data", "read", "rooms", "general").json["result"]["recipe"] == "code-collaboration"
        assert shared("data", "count", "recipes", '--filter={"id": {"$contains": "chat"}}').json["result"]["count"] == 2
        ended = shared("data", "query", "SELECT count(*) AS n FROM recipes")
        assert ended.json["result"]["items"] == [{"n": 9}]

    def test_a_filter_that_is_no_json_is_a_wrong_command_line(self, shared: Doorward) -> None:
        ended = shared("data", "list", "rooms", "--filter={name: gen}")
        assert ended.code == 2
        assert "given '{name: gen}'" in ended.err

    def test_a_query_that_writes_is_refused(self, shared: Doorward) -> None:
        ended = shared("data", "query", "DELETE FROM recipes")
        assert ended.code in (1, 3)
        assert shared("data", "count", "recipes").json["result"]["count"] == 9

    def test_status_tells_how_the_house_is(self, shared: Doorward) -> None:
        told = shared("status").json["result"]
        assert (told["state"], told["problems"], told["recipes"]) == ("well", [], 9)


class TestTokens:
    def test_a_token_acts_in_its_room_until_it_is_revoked(self, doorward: Doorward) -> None:
        made = doorward("token", "create", "robbie", "--room=general").json["result"]
        ran = doorward("run", f"--token={made['token']}", "data/count", "--collection=rooms")
        assert ran.code == 0
        (record,) = [json.loads(line) for line in doorward("audit", "show", ran.json["call"]).out.splitlines()]
        assert (record["caller"], record["kind"], record["behalf"]) == ("robbie", "ai", "owner")
        (listed,) = doorward("token", "list").json["result"]["items"]
        assert (listed["id"], listed["name"], listed["revoked"]) == (made["id"], "robbie", False)
        assert made["token"] not in doorward("token", "list").out

        assert doorward("token", "revoke", made["id"]).code == 0
        again = doorward("run", f"--token={made['token']}", "data/count", "--collection=users")
        assert (again.code, again.json["code"]) == (3, "not_authenticated")

    def test_a_password_is_read_so_that_no_argument_or_record_shows_it(self, doorward: Doorward) -> None:
        ended = doorward("token", "password", "--stdin", stdin="four words make one\n")
        assert (ended.code, ended.json["result"]["user"]) == (0, "owner")
        assert "four words" not in doorward("audit", "show", ended.json["call"]).out
        short = doorward("token", "password", "--stdin", stdin="short\n")
        assert (short.code, "12" in short.err) == (1, True)

    def test_an_invitation_shows_its_passcode_once(self, doorward: Doorward) -> None:
        invited = doorward("token", "invite", "--tenant=acme", "--hours=2").json
        assert invited["result"]["tenant"] == "acme"
        assert invited["result"]["passcode"] not in doorward("audit", "show", invited["call"]).out

    def test_a_token_that_is_none_is_refused_and_does_not_become_the_owner(self, doorward: Doorward) -> None:
        doorward.env["DOORWARD_TOKEN"] = "nonsense"
        ended = doorward("run", "data/count", "--collection=rooms")
        assert (ended.code, ended.json["code"]) == (3, "not_authenticated")


class TestAudit:
    @pytest.fixture
    def used(self, doorward: Doorward) -> Doorward:
        for name in ("rooms", "users", "recipes"):
            assert doorward("run", "data/count", f"--collection={name}").code == 0
        return doorward

    def test_tail_show_and_export_agree(self, used: Doorward) -> None:
        exported = [json.loads(line) for line in used("audit", "export").out.splitlines()]
        newest = [json.loads(line) for line in used("audit", "tail", "-n", "2").out.splitlines()]
        assert [one["seq"] for one in newest] == [2, 3]
        assert [one["hash"] for one in newest] == [one["hash"] for one in exported[1:]]
        assert used("audit", "show", "3").json["call"] == exported[2]["call"]
        assert used("audit", "show", exported[0]["call"]).json["seq"] == 1

    def test_a_record_that_is_not_there_is_said(self, used: Doorward) -> None:
        ended = used("audit", "show", "99")
        assert ended.code == 3
        assert "There is no record '99'; give an execution's id or a record's number." in ended.err

    def test_verify_is_content_with_what_was_written(self, used: Doorward) -> None:
        ended = used("audit", "verify")
        assert ended.code == 0
        assert (ended.json["records"], ended.json["broken"]) == (3, "")

    def test_verify_finds_one_changed_letter(self, used: Doorward) -> None:
        with sqlite3.connect(used.home / "doorward.db") as db:
            db.execute("DROP TRIGGER ledger_is_never_changed")
            db.execute("UPDATE ledger SET caller = 'terminaL' WHERE seq = 2")
        db.close()
        ended = used("audit", "verify")
        assert ended.code == 1
        assert ended.json["broken"] == "record 2 was changed after it was written"
        assert "failed (tampered) The ledger does not verify: record 2 was changed" in ended.err

    def test_old_records_move_out_and_still_verify(self, used: Doorward) -> None:
        assert used("audit", "rotate", "--keep", "1").out.startswith("Moved to ")
        assert used("audit", "verify").json["segments"] == 1
        assert [json.loads(line)["seq"] for line in used("audit", "export").out.splitlines()] == [1, 2, 3]
        assert used("audit", "rotate", "--keep", "1").out == "Nothing to move.\n"

    def test_an_export_can_go_to_a_file(self, used: Doorward) -> None:
        file = used.folder / "records.jsonl"
        assert used("audit", "export", "-o", str(file)).code == 0
        assert len(file.read_text().splitlines()) == 3

    def test_without_a_home_it_says_how_to_make_one(self, doorward: Doorward) -> None:
        for what in (["tail"], ["show", "1"], ["export"], ["verify"]):
            ended = doorward("audit", *what)
            assert ended.code == 5
            assert ended.err.endswith("  Create one with: doorward init\n")
        assert not doorward.home.exists()
