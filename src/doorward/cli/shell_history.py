"""History of the shell: the history file, and `!` expansion.

Only the owner's account can read the file. A line that seems to contain a secret is not written to it; it stays in
memory until the shell ends.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from prompt_toolkit.history import History

from doorward.core import redact
from doorward.core.errors import BadParams
from doorward.shell.secret_values import secrets_in_text

HISTORY_FILE = "shell_history"
_MAX_LINES = 5_000
"""Maximum number of lines in the file."""
_MAX_LINE_CHARS = 10_000
"""Maximum characters of a stored line."""


class FileHistory(History):
    """History in a file with one entry per line; line breaks within an entry are written as `\\n`."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        self.problem = ""
        """Why the history cannot be stored or read, to be shown once."""

    def load_history_strings(self) -> Iterable[str]:
        """Return the stored lines, newest first."""
        lines = self._read_lines()
        if len(lines) > 2 * _MAX_LINES:
            self._replace_lines(lines[-_MAX_LINES:])
        return [_unescape_line(line) for line in reversed(lines[-_MAX_LINES:])]

    def store_string(self, string: str) -> None:
        if not is_storable(string):
            return
        try:
            descriptor = os.open(
                self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
            with open(descriptor, "w", encoding="utf-8", errors="replace") as out:
                os.fchmod(descriptor, 0o600)
                out.write(f"{_escape_line(string)}\n")
        except OSError as error:
            self.problem = f"The history cannot be written: {self._file}: {error.strerror}."

    def _read_lines(self) -> list[str]:
        try:
            return self._file.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            self.problem = f"The history cannot be read: {self._file}: {error.strerror}."
            return []

    def _replace_lines(self, lines: Sequence[str]) -> None:
        """Replace the file atomically."""
        partial = self._file.with_suffix(".partial")
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as out:
                out.writelines(f"{line}\n" for line in lines)
            partial.rename(self._file)


def is_storable(line: str) -> bool:
    """Whether a line may be stored: it has no secret, does not start with a space, and is not a `!` expansion."""
    return (
        bool(line.strip())
        and not line.startswith((" ", "!"))
        and len(line) <= _MAX_LINE_CHARS
        and not contains_secret(line)
    )


def contains_secret(line: str) -> bool:
    """Whether a line seems to contain a secret: by its format, or by the name of its variable, option or `set`."""
    shown = redact.params({"line": line.split()})["line"]
    return redact.text(line) != line or shown != line.split() or any(secrets_in_text(line))


def expand_history(line: str, earlier: Sequence[str], numbered: Mapping[int, str] | None = None) -> str:
    """Expand a line that starts with `!`.

    `!` and `!!` are the previous line, `!-2` the one before it, and `!ls` the last one that starts with `ls`; they
    search `earlier`, oldest first. `!3` is line 3 of `numbered`, as in `history`. Text after a space is appended.
    """
    called, blank, rest = line.strip().partition(" ")
    wanted = called[1:]
    lines = [one for one in earlier if not one.startswith("!")]
    if wanted.isascii() and wanted.isdigit():
        found = (numbered or {}).get(int(wanted[:9]))
        if found is None:
            raise BadParams(f"There is no line {wanted[:20]} in this session; `history` lists the lines.")
        if redact.HIDDEN in found:
            raise BadParams(f"Line {wanted} contained a secret, so it was not stored in full; type it again.")
        return f"{found}{blank}{rest}"
    if not lines:
        raise BadParams("There is no earlier line yet.")
    if wanted in ("", "!"):
        return f"{lines[-1]}{blank}{rest}"
    if wanted.startswith("-") and wanted[1:].isascii() and wanted[1:].isdigit():
        back = int(wanted[1:10])
        if not 1 <= back <= len(lines):
            raise BadParams(f"There is no such line; valid: !-1 to !-{len(lines)}. Given: {called[:40]}.")
        return f"{lines[-back]}{blank}{rest}"
    for one in reversed(lines):
        if one.startswith(wanted):
            return f"{one}{blank}{rest}"
    raise BadParams(f"No earlier line starts with {wanted[:80]!r}; `history` lists the lines of this session.")


def _escape_line(line: str) -> str:
    return line.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "")


def _unescape_line(line: str) -> str:
    return line.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")
