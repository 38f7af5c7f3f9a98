"""Measures that need a process of their own, which has done nothing else before, and what a process holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
"""The repository, from which modules of the bench can be run as programs."""


def run_apart(module: str, *arguments: object) -> Any:
    """What a module of the bench prints when it is run as a program: one JSON value."""
    child = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)], stdout=subprocess.PIPE, check=True, cwd=ROOT
    )
    return json.loads(child.stdout)


def resident(process: int) -> float:
    """The megabytes of a process that are in memory; none once it is gone."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def peak(process: int) -> float:
    """The most megabytes of it that ever were."""
    facts = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return int(facts["VmHWM"].split()[0]) * 1024 / 1e6


def descendants(process: int) -> list[int]:
    """The processes that came of it. One that ends while they are counted is not counted."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{name}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        # The name of the program is in brackets, and may hold anything.
        parents[int(name)] = int(stat.rpartition(")")[2].split()[1])
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]
