"""A house of this test's own, with its console; and what functions of its pages give."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from console_door import Console

import doorward
from node_peers import NODE

HERE = Path(__file__).parent
STATIC = Path(doorward.__file__).parent / "doors" / "console" / "static"
Ask = Callable[..., Any]


@pytest.fixture
def console_of() -> Callable[..., Any]:
    @asynccontextmanager
    async def made(driver: Any) -> AsyncIterator[Console]:
        console = Console(driver)
        try:
            yield console
        finally:
            await console.close()

    return made


@pytest.fixture
async def console(driver: Any, console_of: Callable[..., Any]) -> AsyncIterator[Console]:
    async with console_of(driver) as one:
        yield one


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """What a function of a module of the pages gives, where that needs no browser."""
    command = [NODE, HERE / "page_modules.mjs", STATIC]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8") as node:
        assert node.stdin is not None
        assert node.stdout is not None
        stdin, stdout = node.stdin, node.stdout

        def call(module: str, function: str, *given: Any) -> Any:
            stdin.write(json.dumps({"module": module, "call": function, "given": given}) + "\n")
            stdin.flush()
            answer = json.loads(stdout.readline())
            assert "error" not in answer, answer
            return answer.get("value")

        yield call
        stdin.close()
