"""Types lines into the session shell of a house, as a person at a terminal or an agent in a room would."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from doorward.app import House
from doorward.core.model import Credential, Outcome, Request
from doorward.gate.executions.notices import Notice

FILES = {
    "notes/today.md": "milk\nbread\n\neggs\n",
    "notes/later.md": "paint\n",
    "src/main.py": "import sys\nprint(sys.argv)\n",
    "src/util.py": "def add(a, b):\n    return a + b\n",
    "src/deep/er/leaf.py": "pass\n",
    "numbers.txt": "3\n1\n2\n10\n",
    "names.csv": "name,age\nada,36\nbob,7\n",
    "two words.txt": "spaced\n",
    ".hidden": "x\n",
}


class Typing:
    """One house, and its workspace as each test wants to find it."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.workspace = Path(str(house.home.path)) / "workspace"
        self.told: list[Notice] = []

    def fresh(self) -> None:
        """The workspace as in `FILES`."""
        for one in self.workspace.iterdir():
            shutil.rmtree(one) if one.is_dir() else one.unlink()
        for path, content in FILES.items():
            (self.workspace / path).parent.mkdir(parents=True, exist_ok=True)
            (self.workspace / path).write_text(content)

    async def script(self, *, by: str = "", room: str = "", token: str = "", **params: Any) -> Outcome:
        """Ask for shell/script, as the owner outside rooms or as the agent `by` in a room."""
        credential = Credential(token=token) if token else Credential(owner=True, speak_as=by)
        self.told = []
        return await self.house.gate.handle(
            Request(command="shell/script", credential=credential, door="test", room=room, params=params),
            self.told.append,
        )

    async def ask(self, command: str, *, by: str = "", room: str = "", token: str = "", **params: Any) -> Outcome:
        credential = Credential(token=token) if token else Credential(owner=True, speak_as=by)
        return await self.house.gate.handle(
            Request(command=command, credential=credential, door="test", room=room, params=params)
        )

    async def line(self, text: str, session: str = "", **more: Any) -> tuple[str, str, int]:
        """What a line prints, what it complains of, and its exit code."""
        outcome = await self.script(script=text, session=session, **more)
        return outcome.result["stdout"], outcome.result["stderr"], outcome.result["exitCode"]
