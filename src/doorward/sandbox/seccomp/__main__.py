"""`make filters`: regenerate the shipped filters from the policy."""

from __future__ import annotations

from pathlib import Path

from doorward.sandbox.seccomp.assembler import assemble
from doorward.sandbox.seccomp.machines import machines
from doorward.sandbox.seccomp.policy import policy
from doorward.sandbox.seccomp.shipped import FOLDER, KINDS, file_name


def filters() -> dict[str, bytes]:
    """Assemble every shipped filter, by file name."""
    return {file_name(kind, machine.name): assemble(machine, policy(kind)) for machine in machines() for kind in KINDS}


def write() -> None:
    folder = Path(__file__).with_name(FOLDER)
    folder.mkdir(exist_ok=True)
    made = filters()
    for old in folder.iterdir():
        if old.name not in made:
            old.unlink()
    for name, code in made.items():
        (folder / name).write_bytes(code)


if __name__ == "__main__":
    write()
