"""Runs the canary of an attack where it can do no harm: in namespaces of its own, if need be with a victim in there.

    apart.py PREPARED VICTIM PROGRAM ...

PREPARED is a shell command, VICTIM `victim` or nothing; PROGRAM is run with its output passed on.
"""

from __future__ import annotations

import os
import subprocess
import sys

from condition import Victim


def command(namespaces: tuple[str, ...], prepared: str, victim: bool, program: list[str]) -> list[str]:
    powers = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    around = ["unshare", *powers, *namespaces, sys.executable, __file__]
    return [*around, prepared, "victim" if victim else "", *program]


def main() -> None:
    prepared, with_victim, *program = sys.argv[1:]
    if prepared:
        subprocess.run(["sh", "-ec", prepared], check=True)
    os.chdir(os.getcwd())  # a mount may lie over it now
    hit = Victim("/dev/null", "unharmed", {}, "/", "apart") if with_victim else None
    ended = subprocess.run(program, check=False)
    if hit is not None:
        print("ESCAPED" if hit.changed() else "unharmed", flush=True)
        hit.close()
    sys.exit(ended.returncode)


if __name__ == "__main__":
    main()
