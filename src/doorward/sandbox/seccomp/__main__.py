"""`make filters`: regenerate the shipped filters from the policy."""

from __future__ import annotations

from pathlib import Path

from doorward.sandbox.seccomp.assembler import assemble
from doorward.sandbox.seccomp.filter_files import FOLDER, KINDS, make_file_name
from doorward.sandbox.seccomp.machines import load_machines
from doorward.sandbox.seccomp.policy import build_policy


def assemble_filters() -> dict[str, bytes]:
    """Assemble every shipped filter, by file name."""
    return {
        make_file_name(kind, machine.name): assemble(machine, build_policy(kind))
        for machine in load_machines()
        for kind in KINDS
    }


def write_filters() -> None:
    folder = Path(__file__).with_name(FOLDER)
    folder.mkdir(exist_ok=True)
    made = assemble_filters()
    for old in folder.iterdir():
        if old.name not in made:
            old.unlink()
    for name, code in made.items():
        (folder / name).write_bytes(code)


if __name__ == "__main__":
    write_filters()
