"""A catalogue that a program prints, as the operator's environment may name one.

It is trusted as far as the settings are: whoever sets the environment of Doorward could start anything by it. So it
runs outside the sandbox, but once, without a shell, within a time, with nothing of Doorward's own environment but what
a program needs to be found, and only so much of what it prints is read.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile

NAME = "what USHELL_CATALOG_CMD prints"
_SECONDS = 10.0
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL")
_MOST_SAID = 200


class Unprinted(Exception):
    """Why a program printed no catalogue, as a clause."""


def printed(command: str, largest: int) -> bytes:
    """What the program prints, at most so many bytes."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Unprinted(f"the command cannot be read: {error}; given {command[:80]!r}") from error
    environment = {name: value for name in _KEPT if (value := os.environ.get(name)) is not None}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaints:
        try:
            ended = subprocess.run(  # noqa: S603 - named by the operator, without a shell
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=complaints, env=environment, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise Unprinted(f"{words[0]!r} did not end within {_SECONDS:g} s") from error
        except OSError as error:
            raise Unprinted(f"{words[0]!r} cannot be started: {error.strerror}") from error
        out.seek(0)
        complaints.seek(0)
        if ended.returncode != 0:
            said = complaints.read(_MOST_SAID).decode("utf-8", "replace").strip()
            raise Unprinted(f"{words[0]!r} ended with {ended.returncode}{f': {said!r}' if said else ''}")
        text = out.read(largest + 1)
    if len(text) > largest:
        raise Unprinted(f"{words[0]!r} prints more than {largest} bytes, the most that a catalogue may have")
    return text
