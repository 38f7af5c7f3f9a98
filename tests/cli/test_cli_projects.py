"""`doorward init` in a project, the room that a folder decides, and the project's own client files."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from doorward.cli.project import name_room
from doorward_process import Doorward
from waiting import PATIENCE

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}},
}
FILES = {
    "claude-code": (".mcp.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", "servers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
}


class Projects:
    """One home with three projects: a repository, a project inside it, and another folder of the same name."""

    def __init__(self, base: Path) -> None:
        self.doorward = Doorward(base / "home")
        self.shop, self.inner, self.other = (
            base / "one" / "shop",
            base / "one" / "shop" / "tools",
            base / "two" / "Shop",
        )
        for folder in (self.shop / "src", self.shop / ".git", self.inner, self.other):
            folder.mkdir(parents=True)
        (self.other / "package.json").write_text("{}")
        for folder in (self.shop, self.inner, self.other):
            (folder / "README.md").write_text(f"This is {folder.parent.name}/{folder.name}.")
        self.said = [self.at(self.shop / "src", "init"), self.at(self.inner, "init", "--project", ".")]
        self.said.append(self.at(self.other, "init"))

    def at(self, folder: Path, *args: str, stdin: str | None = None) -> Any:
        self.doorward.folder = folder
        return self.doorward(*args, stdin=stdin)

    def rooms(self) -> dict[str, str]:
        listed = self.at(self.shop, "rooms", "list").json["result"]["items"]
        return {one["room"]: one["workspace"] for one in listed}


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Projects:
    return Projects(tmp_path_factory.mktemp("projects"))


@pytest.fixture
def project(doorward: Doorward, tmp_path: Path) -> Path:
    """A repository that a new home knows nothing of, and in which `doorward` is run."""
    doorward.folder = tmp_path / "shop"
    (doorward.folder / ".git").mkdir(parents=True)
    return doorward.folder


class TestInit:
    def test_it_creates_a_room_for_the_project_around_this_folder_and_says_what_comes_next(
        self, projects: Projects
    ) -> None:
        first = projects.said[0]
        assert first.code == 0
        assert "Created the home folder:" in first.out
        assert f"Created a room for the project {projects.shop}:\n  room          shop\n" in first.out
        assert "doorward connect CLIENT --scope project" in first.err
        assert {name: path for name, path in projects.rooms().items() if path} == {
            "shop": str(projects.shop),
            "tools": str(projects.inner),
            "shop-2": str(projects.other),
        }

    def test_repeated_it_changes_nothing_and_says_so(self, projects: Projects) -> None:
        before = projects.rooms()
        for folder, top, room in (
            (projects.shop, projects.shop, "shop"),
            (projects.shop / "src", projects.shop, "shop"),
            (projects.other, projects.other, "shop-2"),
        ):
            again = projects.at(folder, "init")
            assert (again.code, again.out) == (
                0,
                f"The project {top} already has the room {room}; nothing was changed.\n",
            )
        assert projects.rooms() == before

    def test_it_works_through_a_running_server(self, doorward: Doorward, project: Path) -> None:
        with doorward.serving():
            assert f"workspace     {project}" in doorward("init").out
            assert doorward("run", "room/show", "--name=shop").json["rule"].startswith("recipe coding")

    def test_a_home_that_lacks_the_recipe_gets_it(self, doorward: Doorward, project: Path) -> None:
        doorward("init", "--no-project")
        (doorward.home / "recipes" / "coding.json").unlink()
        ended = doorward("init")
        assert (ended.code, "coding, which was added to the home folder" in ended.out) == (0, True)
        assert (doorward.home / "recipes" / "coding.json").exists()

    def test_an_archived_room_is_neither_replaced_nor_used(self, doorward: Doorward, project: Path) -> None:
        doorward("init")
        doorward("rooms", "archive", "shop")
        assert "has the room shop, which is archived; nothing was changed" in doorward("init").out
        assert doorward("explain", "file/read").json["room"] == "general"

    def test_a_project_that_contains_the_home_gets_no_room_and_says_why(self, tmp_path: Path) -> None:
        (tmp_path / "shop" / ".git").mkdir(parents=True)
        doorward = Doorward(tmp_path / "shop" / "home", HOME=str(tmp_path))
        ended = doorward("init")
        assert (ended.code, "contains Doorward's home folder" in ended.err) == (0, True)
        assert len(doorward("rooms", "list").json["result"]["items"]) == 1
        assert doorward("init", "--project").code != 0

    @pytest.mark.parametrize(
        ("folder", "name"),
        [
            ("My Shop!", "my-shop"),
            ("été", "t"),
            ("...", "project"),
            ("direct-mail", "project-direct-mail"),
            ("x" * 99, "x" * 63),
        ],
    )
    def test_the_name_of_the_room_is_made_valid(self, folder: str, name: str) -> None:
        assert name_room(Path("/a") / folder) == name
        assert name_room(Path("/a") / folder, 12) == f"{name[:60]}-12"


class TestFolder:
    def test_the_innermost_project_around_this_folder_decides_the_room(self, projects: Projects) -> None:
        for folder, text in (
            (projects.shop / "src", "This is one/shop."),
            (projects.inner, "This is shop/tools."),
            (projects.other, "This is two/Shop."),
        ):
            read = projects.at(folder, "run", "file/read", "--path=README.md")
            assert read.json["result"]["content"] == text
            assert projects.at(folder, "shell", "-c", "cat /workspace/README.md").out == text

    def test_it_decides_for_the_keeper_chat_and_mcp_too(self, projects: Projects) -> None:
        asked = projects.at(projects.other, "ai", "--json", "show me the file README.md")
        assert "This is two/Shop." in asked.out
        assert projects.at(projects.shop, "chat", "--for=1", stdin="").out.startswith("You are in shop (recipe coding)")
        said = projects.at(projects.other, "mcp", stdin=json.dumps(HELLO) + "\n").json["result"]["instructions"]
        assert ("in the room 'shop-2'" in said, f"the folder {projects.other}" in said) == (True, True)

    def test_a_named_room_and_no_room_are_used_as_given(self, projects: Projects) -> None:
        rooms = ["--room=general", "--room=", "--room=shop"]
        given = [projects.at(projects.other, "explain", one, "--as=me", "file/read").json["room"] for one in rooms]
        assert given == ["general", "", "shop"]
        after = projects.at(projects.other, "run", "file/read", "--path=README.md", "--room=shop")
        assert after.json["result"]["content"] == "This is one/shop."
        assert projects.at(projects.shop.parent, "explain", "file/read").json["room"] == "general"

    def test_two_rooms_of_one_folder_must_be_told_apart(self, doorward: Doorward, project: Path) -> None:
        doorward("init")
        doorward("rooms", "create", "review", "--recipe=research-chat", "--workspace=.")
        ended = doorward("run", "file/list")
        assert (ended.code != 0, f"2 rooms work in {project}: review, shop." in ended.err) == (True, True)
        assert doorward("explain", "--room=review", "file/list").json["room"] == "review"

    def test_a_token_for_one_project_opens_no_other(self, projects: Projects) -> None:
        token = projects.at(projects.shop, "token", "create", "coder", "--room=shop").json["result"]["token"]
        read = ("run", f"--token={token}", "file/read", "--path=README.md")
        assert projects.at(projects.shop, *read).json["result"]["content"] == "This is one/shop."
        for refused in (projects.at(projects.other, *read), projects.at(projects.shop, *read, "--room=shop-2")):
            assert (refused.json["code"], refused.json["result"]) == ("not_permitted", None)

    def test_status_shows_each_workspace_and_the_room_of_this_folder(self, projects: Projects) -> None:
        shown = projects.at(projects.shop, "status").json["result"]["workspaces"]
        assert {one["room"]: (one["workspace"], one["problem"]) for one in shown}["shop"] == (str(projects.shop), "")
        projects.doorward.folder = projects.shop / "src"
        assert "In this folder you act in the room shop" in projects.doorward.on_terminal("doorward status").out


class TestWideFolders:
    @pytest.mark.parametrize("folder", ["/", "/etc", "/usr/lib", "/home", "/root", "/home/somebody"])
    def test_a_system_folder_or_a_whole_home_needs_the_flag(self, projects: Projects, folder: str) -> None:
        """Some of them are not there; what is there is refused before anything is changed."""
        before = projects.rooms()
        for words in (
            ("init", "--project", folder),
            ("rooms", "create", "wide", "--recipe=coding", f"--workspace={folder}"),
            ("rooms", "workspace", "shop", folder),
        ):
            ended = projects.at(projects.shop, *words)
            assert ended.code != 0
            reason = [" is a system folder", "whole home folder", "contains Doorward's home", "does not exist"]
            assert any(one in " ".join(ended.err.split()) for one in reason), ended.err
        assert projects.rooms() == before

    def test_the_flag_allows_it(self, tmp_path: Path) -> None:
        account = tmp_path / "account"
        (account / ".git").mkdir(parents=True)
        doorward = Doorward(tmp_path / "home", HOME=str(account))
        doorward.folder = account
        assert "Created a room" not in doorward("init").out, "a home folder is no project, whatever it holds"
        refused = doorward("init", "--project")
        assert (refused.code != 0, f"The folder {account} is or contains a whole home folder" in refused.err) == (
            True,
            True,
        )
        assert f"workspace     {account}" in doorward("init", "--project", "--whole").out
        made = doorward("rooms", "create", "machine", "--recipe=coding", "--workspace=/etc", "--whole")
        assert made.json["result"]["workspace"] == "/etc"


class TestClientFiles:
    def test_each_is_valid_and_starts_doorward_in_the_room_of_the_project(self, projects: Projects) -> None:
        entries = []
        for client, (name, container) in FILES.items():
            ended = projects.at(projects.shop / "src", "connect", client, "--scope=project", "--yes")
            assert (ended.code, f"doorward protect {client}" in ended.out) == (0, True), ended.err
            text = (projects.shop / name).read_text()
            entry = (tomllib.loads if name.endswith(".toml") else json.loads)(text)[container]["doorward"]
            entries.append((entry["command"], entry["args"], entry["env"]))
        assert [args for _, args, _ in entries] == [["mcp", "--room", "shop"]] * len(FILES)
        command, args, env = entries[0]
        started = subprocess.run(
            [command, *args],
            env={"PATH": "/usr/bin:/bin", **env},
            cwd=projects.other,
            input=json.dumps(HELLO) + "\n",
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        said = json.loads(started.stdout)["result"]["instructions"]
        assert ("in the room 'shop'" in said, f"the folder {projects.shop};" in said) == (True, True)

    def test_they_are_removed_from_below_the_top_folder_too(self, projects: Projects) -> None:
        for words in (("--yes",), ("--yes", "--remove")):
            projects.at(projects.other, "connect", "cursor", "--scope=project", *words)
        assert not (projects.other / ".cursor" / "mcp.json").exists()

    def test_a_folder_without_a_room_says_which_room_it_gets(self, projects: Projects) -> None:
        ended = projects.at(projects.other.parent, "connect", "cursor", "--scope=project", "--print")
        assert ended.json["mcpServers"]["doorward"]["args"] == ["mcp", "--room", "general"]
        assert "has no room of its own, so the agent acts in general" in ended.err
