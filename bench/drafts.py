"""An agent's draft of a large workspace: how long it takes to open and to compare, and test runs inside one.

A test run in a draft goes through the whole gate; it is measured beside the same run that nothing confines.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import shutil
import statistics
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.builds import RUN_TESTS, make_project
from bench.scratch import UNLIMITED
from bench.sizes import Sizes
from doorward.app import open_house
from doorward.config.home import Home
from doorward.core.model import Credential, Request
from doorward.sandbox import view

_AGENT = "agent"
_FILES_IN_FOLDER = 500
_CHANGED = 20
_ROUNDS = 3
"""Each test run takes seconds."""
_TEST = 'test("{number}", () => assert.equal(JSON.parse(JSON.stringify([{number}]))[0], {number}));\n'

Ask = Callable[..., Awaitable[Any]]


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    return asyncio.run(_measure(folder / "drafts", sizes))


async def _measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    async with _open(folder / "home") as ask:
        found = await _run_pytest(ask, folder / "tests", sizes)
        if shutil.which("npm"):
            found |= await _run_npm(ask, folder / "scripts", sizes)
        # Last, since the first program of a server also tries out the sandbox.
        return found | await _open_large(ask, folder / "large", sizes.files)


@contextlib.asynccontextmanager
async def _open(home: Path) -> AsyncIterator[Ask]:
    async with open_house(Home(home), changes=UNLIMITED) as house:

        async def ask(name: str, room: str = "", by: str = "", /, **params: Any) -> Any:
            credential = Credential(owner=True, speak_as=by)
            outcome = await house.gate.handle(Request(name, credential, "bench", room, params))
            if outcome.status != "done":
                raise RuntimeError(f"{name} was to be measured, but it is {outcome.status}: {outcome.message}")
            return outcome.result

        yield ask


async def _make_room(ask: Ask, name: str, workspace: Path) -> None:
    await ask("room/create", name=name, recipe="coding", workspace=str(workspace))


async def _open_large(ask: Ask, workspace: Path, files: int) -> dict[str, float]:
    """The first write of an agent, which opens its draft, and the difference after some more."""
    await asyncio.to_thread(_fill, workspace, files)
    await _make_room(ask, "large", workspace)
    begun = time.perf_counter()
    await ask("file/write", "large", _AGENT, path="new.txt", content="new\n")
    opened = time.perf_counter() - begun
    for number in range(_CHANGED):
        await ask("file/write", "large", _AGENT, path=f"0/{number}.txt", content="changed\n")
    begun = time.perf_counter()
    difference = await ask("draft/diff", "large", _AGENT)
    compared = time.perf_counter() - begun
    if difference["linesAdded"] != _CHANGED + 1:
        raise RuntimeError(f"a difference was to be measured, but it has {difference['linesAdded']} lines")
    return {"draft_open": opened * 1e3, "draft_diff": compared * 1e3}


def _fill(workspace: Path, files: int) -> None:
    for number in range(files):
        place = workspace / str(number // _FILES_IN_FOLDER)
        if number % _FILES_IN_FOLDER == 0:
            place.mkdir(parents=True)
        (place / f"{number % _FILES_IN_FOLDER}.txt").write_text("as it was\n")


async def _run_pytest(ask: Ask, workspace: Path, sizes: Sizes) -> dict[str, float]:
    await asyncio.to_thread(make_project, workspace, sizes.tests)
    await _make_room(ask, "tests", workspace)
    python, _ = view.find_python()
    line = shlex.join((python, "-I", "-S", "-B", "-c", RUN_TESTS))
    return {"draft_tests_of_bare": await _compare(ask, "tests", workspace, line, sizes)}


async def _run_npm(ask: Ask, workspace: Path, sizes: Sizes) -> dict[str, float]:
    await asyncio.to_thread(_make_package, workspace, sizes.tests)
    await _make_room(ask, "scripts", workspace)
    return {"draft_npm_of_bare": await _compare(ask, "scripts", workspace, "npm test --silent", sizes)}


def _make_package(folder: Path, tests: int) -> None:
    folder.mkdir()
    text = "".join(_TEST.format(number=number) for number in range(tests))
    (folder / "all.test.mjs").write_text(f'import test from "node:test";\nimport assert from "node:assert";\n{text}')
    package = {"name": "measured", "version": "1.0.0", "scripts": {"test": "node --test"}}
    (folder / "package.json").write_text(json.dumps(package))


async def _compare(ask: Ask, room: str, workspace: Path, line: str, sizes: Sizes) -> float:
    """Both ways in turn, so that a busy machine slows both."""
    await ask("bash", room, _AGENT, command="true")
    found = []
    for number in range(min(_ROUNDS, sizes.rounds)):
        bare = await asyncio.to_thread(_run_bare, workspace, line)
        begun = time.perf_counter()
        ended = await ask("bash", room, _AGENT, command=f"{line} # {number}")
        if ended["exitCode"] != 0:
            raise RuntimeError(f"a test run was to be measured, but it ended with {ended['exitCode']}")
        found.append((time.perf_counter() - begun) / bare)
    return statistics.median(found)


def _run_bare(workspace: Path, line: str) -> float:
    begun = time.perf_counter()
    subprocess.run(["bash", "-c", line], cwd=workspace, capture_output=True, check=True)
    return time.perf_counter() - begun
