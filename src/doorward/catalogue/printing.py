"""Read a catalogue from the output of a program that the operator names in the environment.

The program is trusted like the settings, because whoever controls Doorward's environment can start anything. It runs
outside the sandbox, but only once, without a shell, with a time limit, with a minimal environment, and its output is
limited in size.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile

NAME = "printed by USHELL_CATALOG_CMD"
_SECONDS = 10.0
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL")
_MOST_SAID = 200


class Unprinted(Exception):
    """The program printed no catalogue; the message is a clause with the reason."""


def printed(command: str, largest: int) -> bytes:
    """Run the program and return its output, of at most `largest` bytes."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Unprinted(f"the command cannot be parsed: {error}; given {command[:80]!r}") from error
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
            raise Unprinted(f"{words[0]!r} ended with exit code {ended.returncode}{f': {said!r}' if said else ''}")
        text = out.read(largest + 1)
    if len(text) > largest:
        raise Unprinted(f"{words[0]!r} prints more than {largest} bytes, the maximum for a catalogue")
    return text
