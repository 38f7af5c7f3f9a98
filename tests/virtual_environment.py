"""A project's own virtual environment with pytest in it, made without a network."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

PACKAGES = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
"""pytest and all it imports, which are copied into the project."""


def make_environment(folder: Path, interpreter: Path | str) -> None:
    """Make `.venv` in a project: its Python, and pytest as a program."""
    subprocess.run([interpreter, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    packages = next((folder / ".venv/lib").iterdir()) / "site-packages"
    for name in PACKAGES:
        found = importlib.util.find_spec(name)
        assert found is not None
        if found.submodule_search_locations:
            source = found.submodule_search_locations[0]
            shutil.copytree(source, packages / name)  # with its bytecode, so that no run compiles it again
        else:
            shutil.copy(str(found.origin), packages)
    script = folder / ".venv/bin/pytest"
    script.write_text(f"#!{folder}/.venv/bin/python\nimport pytest, sys\nsys.exit(pytest.console_main())\n")
    script.chmod(0o755)
