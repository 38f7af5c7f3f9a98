"""An agent that works in a draft, for tests that run it as different users.

    draft_agent.py FOLDER SCENARIO

FOLDER gets a home of Doorward, the home folder of an account and a project. It ends without output when all went well.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from doorward.app import House, open_house
from doorward.config.home import Home
from doorward.core.model import Credential, Outcome, Request

LAYOUTS = {
    "nvm": ".nvm/versions/node/v20.1.0/bin",
    "fnm": ".local/share/fnm/node-versions/v20.1.0/installation/bin",
    "asdf": ".asdf/installs/golang/1.22.0/bin",
    "mise": ".local/share/mise/installs/node/20.1.0/bin",
    "pyenv": ".pyenv/versions/3.12.1/bin",
    "uv": ".local/share/uv/python/cpython-3.12.1-linux/bin",
    "cargo": ".cargo/bin",
    "go": "go/bin",
}
"""Where version managers and languages keep programs in the home folder of an account."""
CACHES = {"CARGO_HOME": ("/registry", ".cargo/registry"), "GOMODCACHE": ("", "go/pkg/mod")}
"""Variables that lead to caches, with the part below them and the folder of the account."""


class Agent:
    def __init__(self, house: House, account: Path, project: Path) -> None:
        self.house = house
        self.account = account
        self.project = project

    async def ask(self, command: str, /, by: str = "claude", **params: Any) -> Outcome:
        room = "" if command == "room/create" else "app"
        request = Request(command, Credential(owner=True, speak_as=by), "test", room=room, params=params)
        return await self.house.gate.handle(request)

    async def output(self, script: str) -> str:
        outcome = await self.ask("bash", command=script)
        assert outcome.status == "done", (script, outcome)
        return str(outcome.result["stdout"])


async def use_toolchains(agent: Agent) -> None:
    """Programs of every layout start, and their caches can be written without changing the account's."""
    assert await agent.output("; ".join(f"tool-{name}" for name in LAYOUTS)) == "".join(f"{one}\n" for one in LAYOUTS)
    for variable, (part, folder) in CACHES.items():
        real = agent.account / folder
        script = f'cd "${variable}{part}" && cat kept && echo new >> kept && echo more >> added && cat added'
        assert await agent.output(script) == "of the account\nmore\n"
        assert await agent.output(script) == "of the account\nnew\nmore\nmore\n"
        assert {path.name: path.read_text() for path in real.iterdir()} == {"kept": "of the account\n"}
    for variable in ("XDG_CACHE_HOME", "npm_config_cache", "PNPM_HOME", "GOPATH", "CARGO_HOME"):
        script = f'mkdir -p "${variable}" && echo x >> "${variable}/state" && wc -l < "${variable}/state"'
        assert [await agent.output(script) for _ in range(2)] == ["1\n", "2\n"], variable
    assert (await agent.ask("draft/status")).result["changes"]["total"] == 0


async def leave_unreadable_files(agent: Agent) -> None:
    """What a program made unreadable is named, hinders no other work, and is not lost."""
    for name in ("plain.txt", "closed.txt", "shut/inner.txt"):
        (agent.project / name).parent.mkdir(exist_ok=True)
        (agent.project / name).write_text("before\n")
    await agent.output(
        "for name in plain.txt closed.txt shut/inner.txt new.txt; do echo after > $name; done;"
        " mkdir made; echo x > made/inner; chmod 000 closed.txt new.txt shut made"
    )
    assert (await agent.ask("file/write", path="plain.txt", content="after all\n")).status == "done"
    if os.geteuid() != 0:  # root reads it anyway
        failed = await agent.ask("draft/status")
        assert (failed.code, "closed.txt" in failed.message, "chmod" in failed.hint) == ("command_failed", True, True)
    opened = await agent.output("chmod 700 closed.txt new.txt shut made; cat closed.txt new.txt shut/inner.txt")
    assert opened == "after\nafter\nafter\n"
    merged = await agent.ask("draft/merge", "", paths=["plain.txt", "shut", "closed.txt"])
    assert merged.status == "done", merged
    assert (agent.project / "plain.txt").read_text() == "after all\n"
    assert (agent.project / "shut/inner.txt").read_text() == "after\n"
    await agent.output("mkdir -p made/deep; chmod 000 made/deep made")
    dropped = await agent.ask("draft/drop")
    assert dropped.status == "done", dropped
    assert os.listdir(agent.house.home.path / "drafts") == []


SCENARIOS: dict[str, Callable[[Agent], Awaitable[None]]] = {
    "toolchains": use_toolchains,
    "unreadable": leave_unreadable_files,
}


def make_account(home: Path) -> None:
    """Make a home folder with a small program in each layout, and with caches."""
    for name, folder in LAYOUTS.items():
        program = home / folder / f"tool-{name}"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho {name}\n")
        program.chmod(0o755)
    for _, folder in CACHES.values():
        (home / folder).mkdir(parents=True)
        (home / folder / "kept").write_text("of the account\n")


async def main(folder: Path, scenario: str) -> None:
    account, project = folder / "account", folder / "project"
    make_account(account)
    project.mkdir()
    for name in ("PYENV_ROOT", "NVM_DIR", "CARGO_HOME", "RUSTUP_HOME", "GOPATH", "ASDF_DATA_DIR", "MISE_DATA_DIR"):
        os.environ.pop(name, None)
    os.environ["HOME"] = str(account)
    async with open_house(Home(folder / "home")) as house:
        agent = Agent(house, account, project)
        made = await agent.ask("room/create", "", name="app", recipe="coding", workspace=str(project))
        assert made.status == "done", made
        await SCENARIOS[scenario](agent)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
