"""Compilers, interpreters and test runners work in the sandbox, with the toolchains of the account and with limits."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from doorward.app import House, open_house
from doorward.config.home import Home
from doorward.config.settings import SandboxSettings, Settings
from doorward.config.settings.sandbox import BuildSettings
from doorward.core.model import Credential, Outcome, Request
from doorward.sandbox import toolchains, view
from virtual_environment import make_environment

RECIPE = {
    "displayName": "Builds",
    "strategy": {"aiCommands": {"enabled": True, "tiers": ["code"], "maxCommandsPerMinute": 10_000}},
}
LIMITS = BuildSettings(memory_bytes=400_000_000, processes=150)
PYTHON = "/usr/bin/env python3 -c"
SECRET = "token-of-the-account"
SECRETS = (
    ".cargo/credentials.toml",
    ".npmrc",
    ".config/gh/hosts.yml",
    ".ssh/id_ed25519",
    ".pyenv/version",
    "notes.txt",
)
"""Files of the account that no program may read, some of them beside a toolchain."""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


class Account(NamedTuple):
    """An account with toolchains and a project."""

    home: Path
    project: Path
    interpreter: Path


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    """It is outside /tmp, which every sandbox has of its own."""
    place = tempfile.TemporaryDirectory(dir="/var/tmp", prefix="doorward-account-")
    with place as folder, pytest.MonkeyPatch.context() as patch:
        home = Path(os.path.realpath(folder))
        patch.setenv("HOME", str(home))
        for kind in toolchains._KINDS:
            patch.delenv(kind.variable, raising=False)
        interpreter = home / ".pyenv/versions/3.99.0/bin/python"
        interpreter.parent.mkdir(parents=True)
        interpreter.symlink_to(view.find_python()[0])
        for path in ("registry/cache/kept.crate", "bin/hello"):
            file = home / ".cargo" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("#!/bin/sh\necho hello from a toolchain\n")
            file.chmod(0o755)
        for path in SECRETS:
            file = home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(SECRET)
        yield Account(home, make_project(home / "project", interpreter), interpreter)


def make_project(folder: Path, interpreter: Path) -> Path:
    """A project in Python, JavaScript and make, with a virtual environment."""
    make_environment(folder, interpreter)
    for path, text in {
        "tests/test_main.py": "import sys\n\ndef test_start():\n    assert sys.prefix.endswith('.venv')\n",
        "deep/inner/notes.txt": "",
        "package.json": json.dumps({"scripts": {"test": "node --test", "build": "node scripts/build.js"}}),
        "scripts/build.js": "console.log('built', ...process.argv.slice(2))\n",
        "math.test.js": "require('node:test')('adds', () => require('node:assert').equal(1 + 1, 2))\n",
        "Makefile": "test: one\n\t./one\none: one.c\n\t$(CC) -o one one.c\n",
        "one.c": '#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }\n',
    }.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


class Builder:
    """The owner of a house, in a room whose workspace is the project."""

    def __init__(self, house: House) -> None:
        self.house = house

    async def ask(self, command: str, params: dict[str, Any], room: str = "builds") -> Outcome:
        return await self.house.gate.handle(Request(command, Credential(owner=True), "test", room=room, params=params))

    async def script(self, text: str, room: str = "builds", **more: Any) -> Outcome:
        return await self.ask("bash", {"command": text, **more}, room)

    async def output(self, text: str, room: str = "builds") -> str:
        outcome = await self.script(text, room)
        assert outcome.status == "done", (outcome.message, outcome.result)
        return str(outcome.result["stdout"])


@pytest.fixture(scope="module")
async def builder(
    anyio_backend: str, account: Account, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Builder]:
    home = Home(tmp_path_factory.mktemp("builds") / "home")
    settings = Settings(sandbox=SandboxSettings(build=LIMITS))
    async with open_house(home, changes=settings) as house:
        builder = Builder(house)
        here = tmp_path_factory.mktemp("scratch")
        for name, profile, folder in (
            ("builds", "build", account.project),
            ("tools", "tool", account.project),
            ("here", "build", here),
        ):
            recipe = json.loads(json.dumps({**RECIPE, "recipeId": name}))
            recipe["strategy"]["sandbox"] = {"profile": profile}
            saved = await builder.ask("recipe/put", {"id": name, "text": json.dumps(recipe)}, "")
            assert saved.status == "done", saved
            params = {"name": name, "recipe": name, "workspace": str(folder)}
            assert (await builder.ask("room/create", params, "")).status == "done"
        yield builder


@pytest.mark.parametrize(
    ("command", "params", "said"),
    [
        ("node", {"test": True}, "pass 1"),
        ("node", {"file": "scripts/build.js", "words": ["--flag"]}, "built --flag"),
        ("npm_test", {}, "pass 1"),
        ("npm_run", {"script": "build", "words": ["-x"]}, "built -x"),
        ("make", {"targets": ["test"]}, "compiled"),
        ("pytest", {"quiet": True, "tests": ["tests/test_main.py::test_start"]}, "1 passed"),
    ],
)
async def test_build_tools_of_the_catalogue_run_a_project(
    builder: Builder, command: str, params: dict[str, Any], said: str
) -> None:
    outcome = await builder.ask(f"shell/{command}", params)
    assert outcome.status == "done", (outcome.message, outcome.result)
    assert said in outcome.result["stdout"]
    assert outcome.result["sandbox"] == "full"


async def test_an_entry_runs_the_program_of_the_workspace_and_says_where_it_was(
    builder: Builder, account: Account
) -> None:
    for folder in (".", "deep/inner"):
        outcome = await builder.ask("shell/pytest", {"folder": folder, "quiet": True})
        assert outcome.result["argv"][0] == "/workspace/.venv/bin/pytest", outcome
    other = await builder.ask("shell/pytest", {}, "here")
    assert (other.status, other.code) == ("failed", "command_failed")
    assert "has no .venv/bin/pytest" in other.message
    assert "pytest" not in os.listdir("/usr/bin")


async def test_a_virtual_environment_works_by_its_own_path_and_activated(builder: Builder, account: Account) -> None:
    said = await builder.output(
        f"{account.project}/.venv/bin/pytest -q | tail -1; source .venv/bin/activate; pytest -q | tail -1;"
        f" cd {account.project}/deep; pwd -P; touch made; ls /workspace/deep"
    )
    first, second, *rest = said.splitlines()
    assert first.startswith("1 passed")
    assert second.startswith("1 passed")
    assert rest == ["/workspace/deep", "inner", "made"]
    assert (account.project / "deep/made").exists()


async def test_a_workspace_in_a_temporary_folder_has_its_own_path_too(builder: Builder) -> None:
    (room,) = [one for one in (await builder.ask("room/list", {}, "")).result["items"] if one["room"] == "here"]
    assert await builder.output(f"cd {room['workspace']} && pwd -P", "here") == "/workspace\n"


async def test_toolchains_are_readable_and_what_is_beside_them_is_not(builder: Builder, account: Account) -> None:
    home = account.home
    assert await builder.output(f"hello; cat {home}/.cargo/registry/cache/kept.crate | wc -l") == (
        "hello from a toolchain\n2\n"
    )
    shown = await builder.output(f"find {home} -maxdepth 2 -not -path '*/versions/*' | sort")
    assert shown.split() == sorted(
        [
            str(home / path)
            for path in ("", ".cargo", ".cargo/bin", ".cargo/registry", ".pyenv", ".pyenv/versions", "project")
        ]
    )
    for path in SECRETS:
        assert (await builder.script(f"cat {home}/{path}")).result["exitCode"] == 1
    changed = await builder.script(f"echo evil > {home}/.cargo/bin/hello", live=True)
    assert "Read-only file system" in changed.result["stderr"]
    assert await builder.output(f"ls {home} 2>&1 || true; echo $PATH", "tools") == (
        f"ls: cannot access '{home}': No such file or directory\n{view.PATH}\n"
    )


async def test_memory_is_that_of_all_processes_together_and_shared_pages_count_once(builder: Builder) -> None:
    assert await builder.output("ulimit -v") == "unlimited\n"
    shared = (
        "import mmap, os\nmemory = mmap.mmap(-1, 150_000_000)\nmemory.write(bytes(150_000_000))\n"
        "for _ in range(4):\n    os.fork() or (sum(memory[::4096]), os._exit(0))\n"
        "for _ in range(4): os.wait()\nprint('done')"
    )
    assert await builder.output(f'{PYTHON} "{shared}"') == "done\n"
    for text in (
        f"for n in 1 2 3; do {PYTHON} 'import time; kept = bytearray(150_000_000); time.sleep(60)' & done; wait",
        "node -e 'const kept = []; for (;;) kept.push(Buffer.alloc(20e6, 1))'",
        f"{PYTHON} 'import os\nfor n in range(50): os.write(os.memfd_create(str(n)), bytes(20_000_000))'",
        "head -c 500M /dev/zero > /tmp/large; sleep 60",
    ):
        outcome = await builder.script(text)
        assert (outcome.status, outcome.code) == ("failed", "command_failed"), (text, outcome)
        assert "more than 400,000,000 bytes of memory (setting sandbox.build.memory_bytes)" in outcome.message, text


async def test_too_many_processes_end_a_program_while_others_go_on(builder: Builder) -> None:
    hides = "import ctypes, os, time\nctypes.CDLL(None).prctl(4, 0)\n"
    for text in (
        "for n in $(seq 10000); do sleep 60 & done; wait",
        ":() { : | : & }; :; sleep 60",
        f"{PYTHON} '{hides}for _ in range(10_000): os.fork() or time.sleep(60)'",
    ):
        outcome, beside = await asyncio.gather(builder.script(text), builder.script("echo beside", "tools"))
        assert (outcome.status, outcome.code) == ("failed", "command_failed"), (text, outcome)
        assert "more than 150 (setting sandbox.build.processes)" in outcome.message, text
        assert beside.result["stdout"] == "beside\n"


def is_running(word: bytes) -> bool:
    for arguments in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if word in arguments.read_bytes():
                return True
    return False


async def test_what_a_program_leaves_running_ends_with_it(builder: Builder) -> None:
    assert await builder.output("setsid nohup sleep 86399.25 > /dev/null 2>&1 & echo left") == "left\n"
    assert not await asyncio.to_thread(is_running, b"86399.25")


SMALL = BuildSettings(cpu_seconds=1, file_bytes=400_000, descriptors=20, scratch_bytes=2_000_000)
ENDINGS = {
    "head -c 2M /dev/zero > large": "larger than 400,000 bytes (setting sandbox.build.file_bytes)",
    "for n in $(seq 30); do exec {fd}< /dev/null; done": "20 files at once (setting sandbox.build.descriptors)",
    "for n in $(seq 9); do head -c 390K /dev/zero > /tmp/$n || exit; done": "(setting sandbox.build.scratch_bytes)",
    "while :; do :; done": "more than 1 s of processor time (setting sandbox.build.cpu_seconds)",
}
BRIEF = BuildSettings(wall_seconds=0.5)
BASH = {
    "name": "build",
    "summary": "Run a script.",
    "program": "bash",
    "prefix": ["-c"],
    "profile": "build",
    "effects": ["write"],
    "arguments": [{"name": "script", "type": "text", "required": True}],
}


@pytest.mark.parametrize(
    ("limits", "endings"),
    [(SMALL, ENDINGS), (BRIEF, {"sleep 60": "after 0.5 s, its time limit (setting sandbox.build.wall_seconds)"})],
    ids=["resources", "time"],
)
async def test_every_limit_of_a_build_is_named_with_its_setting(
    tmp_path: Path, limits: BuildSettings, endings: dict[str, str]
) -> None:
    home = Home(tmp_path / "home")
    home.path.mkdir()
    (home.path / "commands.json").write_text(json.dumps([BASH]))
    async with open_house(home, changes=Settings(sandbox=SandboxSettings(build=limits))) as house:
        for text, said in endings.items():
            outcome = await Builder(house).ask("shell/build", {"script": text}, "")
            assert outcome.status == "failed", (text, outcome)
            assert said in outcome.message, (text, outcome.message)


def test_a_place_that_would_show_something_else_is_no_toolchain(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(doorward_home: Path = tmp_path, workspace: str = "") -> list[str]:
        found = toolchains.find_toolchains(doorward_home, workspace, network=False).folders
        return [os.path.relpath(place, account.home) for place in found]

    assert find() == [".pyenv/versions", ".cargo/bin", ".cargo/registry"]
    assert find(doorward_home=account.home / ".cargo/registry/doorward") == [".pyenv/versions", ".cargo/bin"]
    assert find(workspace=str(account.home / ".pyenv")) == [".cargo/bin", ".cargo/registry"]
    for target in (account.home, "/", account.project, "/proc"):
        (account.home / "go/pkg").mkdir(parents=True, exist_ok=True)
        (account.home / "go/pkg/mod").unlink(missing_ok=True)
        (account.home / "go/pkg/mod").symlink_to(target)
        assert "go/pkg/mod" not in find(workspace=str(account.project)), target
    shutil.rmtree(account.home / "go")
    monkeypatch.setenv("CARGO_HOME", "/nowhere")
    assert find() == [".pyenv/versions"]
