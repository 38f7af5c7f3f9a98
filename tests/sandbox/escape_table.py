"""Tries every attack outside and inside the sandbox, as whoever runs it, and prints how each went.

    escape_table.py FOLDER [NAME]

FOLDER is an empty one of this user's own. With NAME, only attacks whose name has it in them are tried.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from pathlib import Path

from arena import Arena
from attacks import for_user

from doorward.config.settings import Settings
from doorward.sandbox.sandbox import Sandbox

_VARIABLE = "DOORWARD_TEST_SECRET"


async def main(base: Path, only: str = "") -> None:
    secret = os.environ[_VARIABLE]
    home = base / "home"
    home.mkdir()
    (base / "left-open").write_text(secret)
    for descriptor in (os.open(base / "left-open", os.O_RDONLY), os.open("/", os.O_RDONLY)):
        os.set_inheritable(descriptor, True)
    sandbox = Sandbox(home, Settings())
    level, found = str(await sandbox.level()), {}
    try:
        arena = Arena(base, sandbox, secret)
        for attack in for_user("root" if os.geteuid() == 0 else "user", lent=(base / "lent").exists()):
            if only in attack.name:
                outside = await arena.outside(attack)
                inside = await arena.inside(attack)
                found[attack.name] = {"outside": outside._asdict(), "inside": inside._asdict()}
    finally:
        await sandbox.close()
    print(json.dumps({"level": level, "attacks": found}))


if __name__ == "__main__":
    if _VARIABLE not in os.environ:  # only what was there from the start can be seen from outside
        os.environ[_VARIABLE] = secrets.token_hex(8)
        os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606 - to start anew is the purpose
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
