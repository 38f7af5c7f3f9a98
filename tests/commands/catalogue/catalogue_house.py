"""One house with the shipped catalogue for a whole file of tests, and a workspace that is made anew for each."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from doorward.app import House
from doorward.core.clock import Clock
from doorward.core.model import Credential, Outcome, Request

FILES = {
    "drafts/old.md": "old\n",
    "server.conf": "port = 80\n",
    "server.log": "".join(f"line {n}\n" for n in range(300)),
    "src/main.py": "def main():\n    pass  # TODO\n",
    "src/util.py": "import os\n",
    "notes/today.md": "Nothing yet.\n",
    "logo.png": "\x00\x01",
    "list.txt": "b\na\nc\na\n",
    "sorted.txt": "a\nb\nc\n",
    "other.txt": "b\nc\nd\n",
    "numbers.txt": "10\n9\n100\n",
    "table.csv": "id,name\n1,ada\n2,bob\n",
    "data.json": '{"name": "door", "tags": ["a", "b"]}\n',
    ".hidden": "secret\n",
    "-dash": "a name that begins with a dash\n",
    "a b.txt": "blank\n",
}


class SteadyClock(Clock):
    """Moves only when told to."""

    seconds = 1_000.0

    def steady(self) -> float:
        return self.seconds


class Shell:
    """The owner of a house, who runs commands of the catalogue outside rooms."""

    def __init__(self, house: House, clock: SteadyClock) -> None:
        self.house = house
        self.clock = clock
        self.workspace = house.home.path / "workspace"
        self._repository: Path | None = None

    async def ask(self, command: str, given: list[str] | dict[str, Any], **more: Any) -> Outcome:
        """With the arguments as a person types them, or with parameters by name."""
        params = {"arguments": given} if isinstance(given, list) else given
        credential = Credential(owner=True)
        return await self.house.gate.handle(Request(command, credential, "test", params=params, **more))

    async def fresh(self) -> None:
        """The files as they are at the beginning, and no limit on how often it is asked."""
        self.clock.seconds += 60
        for one in self.workspace.iterdir():
            shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
        for path, text in FILES.items():
            file = self.workspace / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        if self._repository is not None:
            shutil.copytree(self._repository, self.workspace / ".git")

    async def with_repository(self, keep: Path) -> None:
        """Make a repository of the files, once; later `fresh` brings it along."""
        await self.fresh()
        for command, given in (
            ("git_init", ["-q"]),
            ("git_add", ["-A"]),
            ("git_commit", ["-q", "-m", "The first commit"]),
            ("git_tag_create", ["v0"]),
        ):
            outcome = await self.ask(command, given)
            assert outcome.status == "done", outcome
        shutil.copytree(self.workspace / ".git", keep)
        self._repository = keep
