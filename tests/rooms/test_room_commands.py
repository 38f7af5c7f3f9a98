"""Rooms, their members and recipes, and taking changes of them back (R2.1, R7.6)."""

from __future__ import annotations

import json

import pytest

QUIET = {"recipeId": "quiet", "displayName": "Quiet", "strategy": {}}


async def rooms(driver):
    return {item["room"]: item for item in (await driver.owner("room/list")).result["items"]}


async def test_a_new_house_has_one_room_with_its_owner_and_a_persona(driver):
    assert await rooms(driver) == {
        "general": {
            "room": "general",
            "title": "general",
            "topic": "",
            "recipe": "code-collaboration",
            "members": {"owner": "owner", "guide": "member"},
            "kinds": {"owner": "human", "guide": "ai"},
            "direct": False,
            "workspace": "",
            "archived": False,
            "unread": 0,
            "read": 0,
        }
    }


async def test_each_change_of_a_room_can_be_undone_and_the_undo_too(driver, tmp_path):
    (tmp_path / "project").mkdir()
    await driver.owner("room/create", name="lab", recipe="research-chat")
    before = (await rooms(driver))["lab"]
    for command, params in (
        ("room/recipe", {"name": "lab", "recipe": "support"}),
        ("room/join", {"name": "lab", "member": "helper", "kind": "ai"}),
        ("room/archive", {"name": "lab"}),
        ("room/change", {"name": "lab", "title": "The lab", "topic": "Pumps"}),
        ("room/workspace", {"name": "lab", "workspace": str(tmp_path / "project")}),
    ):
        made = await driver.owner(command, **params)
        changed = (await rooms(driver))["lab"]
        undone = await driver.owner("undo", execution=made.call)
        assert (await rooms(driver))["lab"] == before
        redone = await driver.owner("undo", execution=undone.call)
        assert (await rooms(driver))["lab"] == changed != before
        await driver.owner("undo", execution=redone.call)


async def test_undoing_a_creation_removes_the_room_and_undoing_that_brings_it_back(driver):
    made = await driver.owner("room/create", name="lab", recipe="support")
    undone = await driver.owner("undo", execution=made.call)
    assert "lab" not in await rooms(driver)
    await driver.owner("undo", execution=undone.call)
    assert (await rooms(driver))["lab"]["recipe"] == "support"


async def test_an_undo_is_refused_when_something_changed_since_and_works_once(driver):
    await driver.owner("room/create", name="lab", recipe="support")
    first = await driver.owner("room/recipe", name="lab", recipe="admin")
    second = await driver.owner("room/recipe", name="lab", recipe="research-chat")
    blocked = await driver.ask("undo", by="", room="", params={"execution": first.call})
    await driver.owner("undo", execution=second.call)
    twice = await driver.ask("undo", by="", room="", params={"execution": second.call})
    assert (blocked.code, twice.code) == ("conflict", "conflict")
    assert (await rooms(driver))["lab"]["recipe"] == "admin"


async def test_a_room_under_an_unknown_recipe_or_without_owner_cannot_be_made(driver):
    unknown = await driver.ask("room/create", by="", room="", params={"name": "lab", "recipe": "none-such"})
    empty = await driver.ask("room/leave", by="", room="", params={"name": "general", "member": "owner"})
    again = await driver.ask("room/create", by="", room="", params={"name": "general", "recipe": "support"})
    odd = await driver.ask("room/create", by="", room="", params={"name": "A Room!", "recipe": "support"})
    assert "research-chat" in unknown.message
    assert [one.code for one in (unknown, empty, again, odd)] == ["bad_params", "conflict", "conflict", "bad_params"]


async def test_an_agent_is_never_owner_or_admin_and_makes_no_rooms(driver):
    await driver.owner("room/create", name="lab", recipe="admin")
    office = {"name": "lab", "member": "helper", "kind": "ai", "role": "admin"}
    admin = await driver.ask("room/join", by="", room="", params=office)
    made = await driver.ask("room/create", room="lab", params={"name": "den", "recipe": "admin"})
    assert (admin.code, made.code) == ("bad_params", "not_permitted")


async def test_nothing_runs_in_an_archived_room_or_for_strangers(driver):
    await driver.owner("user/create", id="anna", access="full")
    token = await driver.token("bot", user="anna", access="full")
    stranger = await driver.ask("room/list", token=token, room="general")
    await driver.owner("room/archive", name="general")
    archived = await driver.ask("room/list", room="general")
    assert (stranger.code, archived.code) == ("not_permitted", "not_permitted")
    assert ("members only" in stranger.rule, "archived" in archived.rule) == (True, True)


async def test_what_is_said_is_in_the_messages_and_in_an_event(driver):
    heard = []
    driver.house.services.events.subscribe(lambda event: heard.append(event.name))
    await driver.owner("room/say", text="Good morning", name="general")
    messages = await driver.ask("data/list", params={"collection": "messages"})
    assert [item["text"] for item in messages.result["items"]] == ["Good morning"]
    assert "chat:message-received" in heard


async def test_a_recipe_put_is_in_force_at_once_and_its_undo_too(driver):
    open_ = {**QUIET, "strategy": {"aiCommands": {"enabled": True, "whitelist": ["room/list"]}}}
    await driver.owner("recipe/put", id="quiet", text=json.dumps(QUIET))
    await driver.owner("room/create", name="lab", recipe="quiet")
    closed = await driver.ask("room/list", room="lab")
    put = await driver.owner("recipe/put", id="quiet", text=json.dumps(open_))
    opened = await driver.ask("room/list", room="lab")
    await driver.owner("undo", execution=put.call)
    again = await driver.ask("room/list", room="lab")
    assert [closed.code, opened.code, again.code] == ["not_permitted", "ok", "not_permitted"]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"recipeId": "other", "displayName": "x", "strategy": {}}',
        '{"recipeId": "quiet", "displayName": "x", "strategy": {}, "strategy": {}}',
        '{"recipeId": "quiet", "displayName": "x", "strategy": {"aiCommands": {"whitelst": []}}}',
        '{"recipeId": "quiet", "displayName": "x", "strategy": {"aiCommands": {"whitelist": ["data*"]}}}',
        '{"recipeId": "quiet", "displayName": NaN, "strategy": {}}',
    ],
)
async def test_a_recipe_that_is_not_valid_changes_nothing(driver, text):
    await driver.owner("recipe/put", id="quiet", text=json.dumps(QUIET))
    outcome = await driver.ask("recipe/put", by="", room="", params={"id": "quiet", "text": text})
    shown = await driver.owner("recipe/show", id="quiet")
    assert (outcome.status, outcome.code) == ("failed", "bad_params")
    assert "quiet.json" in outcome.message
    assert shown.result["recipe"] == QUIET


async def test_a_recipe_that_governs_a_room_cannot_be_removed(driver):
    outcome = await driver.ask("recipe/remove", by="", room="", params={"id": "code-collaboration"})
    assert (outcome.code, "general" in outcome.message) == ("conflict", True)


async def test_users_can_be_added_changed_and_taken_back(driver):
    made = await driver.owner("user/create", id="anna", access="edit")
    change = await driver.owner("user/change", id="anna", access="read")
    await driver.owner("undo", execution=change.call)
    users = {item["id"]: item["access"] for item in (await driver.owner("user/list")).result["items"]}
    await driver.owner("undo", execution=made.call)
    after = [item["id"] for item in (await driver.owner("user/list")).result["items"]]
    assert users == {"owner": "root", "anna": "edit"}
    assert after == ["owner"]


@pytest.mark.parametrize("name", ["admin", "member", "Anna", "a b", "", "x" * 64])
async def test_names_that_would_confuse_are_refused(driver, name):
    outcome = await driver.ask("user/create", by="", room="", params={"id": name})
    assert outcome.code == "bad_params"


async def test_the_owner_keeps_root(driver):
    outcome = await driver.ask("user/change", by="", room="", params={"id": "owner", "access": "read"})
    assert outcome.code == "conflict"


async def test_who_joins_a_room_is_somebody_known_or_said_to_be_an_agent(driver):
    await driver.owner("user/create", id="anna", access="full")
    await driver.token("helper-bot", kind="service")

    async def join(member, **more):
        return await driver.ask("room/join", by="", room="", params={"name": "general", "member": member, **more})

    nobody = await join("ana")
    assert (nobody.code, " Nearest: anna. " in nobody.message) == ("not_found", True)
    assert (await join("anna", kind="ai")).message == "'anna' is a person, not an AI."
    assert [(await join(one)).status for one in ("anna", "guide", "helper-bot")] == ["done"] * 3
    assert (await join("newcomer", kind="ai")).status == "done"
    kinds = {one["member"]: one["kind"] for one in (await driver.owner("room/who", name="general")).result["items"]}
    assert kinds == {"owner": "human", "anna": "human", "guide": "ai", "helper-bot": "service", "newcomer": "ai"}


async def test_a_room_works_in_a_folder_of_its_own_and_only_there(driver, tmp_path):
    project, other = tmp_path / "project", tmp_path / "other"
    for folder in (project, other):
        folder.mkdir()
        (folder / "name.txt").write_text(folder.name)
    for name, folder in (("one", project), ("two", other)):
        made = await driver.owner("room/create", name=name, recipe="admin", workspace=str(folder))
        assert made.result["workspace"] == str(folder)
    read = [await driver.ask("file/read", by="", room=name, params={"path": "name.txt"}) for name in ("one", "two")]
    assert [one.result["content"] for one in read] == ["project", "other"]
    ran = await driver.ask("bash", by="", room="two", params={"command": "cat name.txt; ls /workspace"})
    assert ran.result["stdout"] == "othername.txt\n"
    project.rename(tmp_path / "moved")
    gone = await driver.ask("file/read", by="", room="one", params={"path": "name.txt"})
    assert (gone.code, str(project) in gone.message) == ("conflict", True)


@pytest.mark.parametrize("folder", ["missing", "name.txt", "home", "home/recipes", ".", "relative"])
async def test_a_workspace_that_is_no_folder_or_overlaps_the_home_is_refused(driver, folder):
    home = driver.house.home.path
    (home.parent / "name.txt").write_text("")
    path = folder if folder == "relative" else str(home.parent / folder.replace("home", home.name))
    made = await driver.ask("room/create", by="", params={"name": "one", "recipe": "admin", "workspace": path}, room="")
    assert made.code == "bad_params"


@pytest.mark.parametrize("command", ["room/create", "room/workspace"])
async def test_only_people_with_root_access_choose_the_folder_of_a_room(driver, tmp_path, command):
    (tmp_path / "project").mkdir()
    params = {"name": "general", "workspace": str(tmp_path / "project")}
    if command == "room/create":
        params |= {"name": "new", "recipe": "admin"}
    await driver.owner("room/recipe", name="general", recipe="admin")
    await driver.owner("user/create", id="anna", access="full")
    await driver.owner("room/join", name="general", member="anna", role="owner")
    token = await driver.token("hers", user="anna", kind="human", access="full")
    for refused in (
        await driver.ask(command, params=params),
        await driver.ask(command, room="", token=token, params=params),
    ):
        assert (refused.status, refused.code) in (("refused", "not_permitted"), ("failed", "not_permitted"))
    assert {name: room["workspace"] for name, room in (await rooms(driver)).items()} == {"general": ""}


async def test_a_folder_that_holds_far_more_than_a_project_needs_a_flag(driver):
    for params, code in (({}, "bad_params"), ({"allowWide": True}, "ok")):
        made = await driver.ask(
            "room/workspace", by="", room="", params={"name": "general", "workspace": "/etc", **params}
        )
        assert made.code == code
    assert (await rooms(driver))["general"]["workspace"] == "/etc"


async def test_undo_and_history_keep_to_the_workspace_of_the_change(driver, tmp_path):
    project, other = tmp_path / "project", tmp_path / "other"
    for folder in (project, other):
        folder.mkdir()
        (folder / "a.txt").write_text("old")
        await driver.owner("room/create", name=folder.name, recipe="admin", workspace=str(folder))
    deleted = await driver.ask("file/delete", room="project", params={"path": "a.txt"})
    assert (deleted.status, (project / "a.txt").exists(), (other / "a.txt").exists()) == ("done", False, True)
    (other / "a.txt").unlink()
    refused = await driver.ask("undo", room="other", params={"execution": deleted.call})
    assert (refused.code, "another workspace" in refused.message) == ("conflict", True)
    seen = [await driver.ask("file/history", room=room, params={"path": "a.txt"}) for room in ("project", "other")]
    assert [len(one.result["items"]) for one in seen] == [1, 0]
    undone = await driver.owner("undo", execution=deleted.call)
    assert ((project / "a.txt").read_text(), (other / "a.txt").exists()) == ("old", False)
    await driver.owner("undo", execution=undone.call)
    assert not (project / "a.txt").exists()
