"""The command line with which a client starts this program."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from doorward.core.errors import Unusable

_PACKAGE = "doorward"
_RUNNERS = (
    (re.compile(r"/(?:archive|environments|builds)-v\d+/"), "uvx", ("--from",), "uv tool install"),
    (re.compile(r"/pipx/\.cache/|/\.cache/pipx/"), "pipx", ("run", "--spec"), "pipx install"),
)
"""The caches of programs that run a package without installing it: path, program, options for a source, alternative."""


def find_program() -> list[str]:
    """The words that start this program: an absolute path, or the runner whose cache it is in.

    A cache is emptied sooner or later, and the client could not start Doorward any more.
    """
    program = Path(os.path.abspath(sys.argv[0]))
    is_module = program.name == "__main__.py" or not os.access(program, os.X_OK)
    words = [sys.executable, "-m", _PACKAGE] if is_module else [str(program)]
    for cache, runner, source, install in _RUNNERS:
        if cache.search(Path(words[0]).as_posix()):
            return _run_from_cache(words[0], runner, source, install)
    is_temporary = Path(words[0]).is_relative_to(tempfile.gettempdir())
    if is_temporary and not _read_origin().get("dir_info", {}).get("editable"):  # a checkout is there on purpose
        click.echo(f"{words[0]} is in a temporary folder. Once it is deleted, the client cannot start it.", err=True)
    return words


def _run_from_cache(program: str, runner: str, source: tuple[str, ...], install: str) -> list[str]:
    found = shutil.which(runner)
    if found is None or _is_cached(found):
        raise Unusable(
            f"{program} is in a cache that {runner} can empty at any time, and {runner} is not on the PATH.",
            hint=f"Install Doorward first, such as with: {install} {_PACKAGE}",
        )
    origin = _find_source()
    return [found, *([*source, origin] if origin else source[:-1]), _PACKAGE]


def _is_cached(path: str) -> bool:
    return any(cache.search(Path(path).as_posix()) for cache, *_ in _RUNNERS)


def _find_source() -> str:
    """The requirement that names where this package was installed from; empty for a package index."""
    origin = _read_origin()
    url, vcs = origin.get("url", ""), origin.get("vcs_info") or {}
    if vcs and url:
        url = f"{vcs['vcs']}+{url}" + (f"@{vcs['requested_revision']}" if vcs.get("requested_revision") else "")
    return f"{_PACKAGE} @ {url}" if url else ""


def _read_origin() -> dict[str, Any]:
    """The installer's record of where this package came from; empty for a package index."""
    try:
        said = metadata.distribution(_PACKAGE).read_text("direct_url.json")
        origin = json.loads(said) if said else {}
    except (metadata.PackageNotFoundError, ValueError):
        return {}
    return origin if isinstance(origin, dict) else {}
