"""A small host of kept programs, for tests that end it or run it as somebody else.

    keeper_host.py FOLDER SETTINGS SCRIPT ...

FOLDER has a home, and folders `read` and `write` that programs may read and change. Each SCRIPT is for bash, with
FOLDER as its first argument. How it ended is printed as a line of JSON, after a first line with the level. SETTINGS are
those of the sandbox as JSON; with `network` programs have it, and with `stays` the host passes on the first line that
the last program says, and stays with it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

from kept_place import heard, kept_profile

from doorward.config.settings import SandboxSettings as SandboxSettings
from doorward.config.settings import Settings
from doorward.core.errors import DoorwardError
from doorward.sandbox.sandbox import Sandbox

_GRACE = 0.2


def _told(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


async def _keep(sandbox: Sandbox, folder: Path, script: str, *, stays: bool, network: bool) -> None:
    profile = kept_profile(folder, network=network)
    try:
        kept = await sandbox.keep(profile, ["bash", "-c", script, "bash", str(folder)], {})
    except DoorwardError as error:
        _told(refused=type(error).__name__, said=str(error), hint=error.hint)
        return
    if stays:
        _told(said=(await heard(kept.stdout, b"\n")).decode())
        await kept.wait()
        return
    output = await heard(kept.stdout)
    end = await kept.shut_down(_GRACE)
    _told(out=output.decode(errors="replace"), code=end.exit_code, signal=end.signal, level=kept.level)


async def main(folder: Path, settings: dict[str, Any], scripts: list[str]) -> None:
    stays, network = settings.pop("stays", False), settings.pop("network", False)
    sandbox = Sandbox(folder / "home", Settings(sandbox=SandboxSettings(**settings)))
    try:
        level = await sandbox.level()
        _told(level=level.word, missing=list(level.missing), said=str(level))
        for script in scripts:
            await _keep(sandbox, folder, script, stays=stays and script is scripts[-1], network=network)
    finally:
        await sandbox.close()


if __name__ == "__main__":
    logging.disable()
    os.umask(0o077)
    asyncio.run(main(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]))
