"""A small gateway for tests that end it: runs programs in a sandbox, and prints what a test wants to know.

    gateway.py FOLDER SETTINGS PROGRAM ...

FOLDER has a home and a workspace, SETTINGS are those of the sandbox as JSON. Each PROGRAM is a script for bash, with
FOLDER and this process's id as arguments; how it ended is printed as a line of JSON, after a first line with the level.
Output of a running program is passed on. With the setting `closes` the sandbox is closed as soon as a program says
something; `seconds` is the time limit of each program.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

from sandboxes import Box, opened_box

from doorward.core.errors import DoorwardError
from doorward.sandbox.program import OutputStream


def _told(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


async def _run(box: Box, folder: Path, script: str, *, closes: bool, seconds: float) -> None:
    said = asyncio.Event()

    def on_output(_: OutputStream, piece: bytes) -> None:
        _told(piece=piece.decode(errors="replace"))
        said.set()

    async def close() -> None:
        await said.wait()
        await box.sandbox.close()

    closing = asyncio.create_task(close()) if closes else None
    try:
        ended = await box.bash(script, str(folder), str(os.getpid()), seconds=seconds, on_output=on_output)
    except DoorwardError as error:
        _told(refused=type(error).__name__, said=str(error), hint=error.hint)
    else:
        _told(
            code=ended.exit_code,
            stopped=ended.stopped,
            stdout=ended.stdout.decode(errors="replace"),
            stderr=ended.stderr.decode(errors="replace"),
            sandbox=ended.sandbox,
        )
    if closing is not None:
        await closing


async def main(folder: Path, settings: dict[str, Any], scripts: list[str]) -> None:
    closes, seconds = settings.pop("closes", False), settings.pop("seconds", 2)
    async with opened_box(folder, **settings) as box:
        level = await box.sandbox.level()
        _told(level=level.word, missing=list(level.missing), said=str(level))
        for script in scripts:
            await _run(box, folder, script, closes=closes, seconds=seconds)


if __name__ == "__main__":
    logging.disable()
    asyncio.run(main(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]))
