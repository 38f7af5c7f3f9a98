"""Records terminal sessions for the documentation with a real `doorward` on a real terminal.

`make recording` rewrites `docs/recordings`. A test records again and compares, so the recordings stay true. The
terminal cannot move its cursor, so a recording is plain text in the order of output.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

RECORDINGS = Path(__file__).parent / "recordings"
COLUMNS, ROWS = 80, 40
PATIENCE = 60.0
PROMPT = re.compile(r"(?:^|\n)((?:\S+ )?[/~]\S*(?: \[\d+\])?> |[^\n]*\[y/N\] |[^\n]*\[y/n/e\] )$")
_TOLD = re.compile(r"\x1b\[\?[0-9;]*[a-z]")
SESSIONS: dict[str, Sequence[str]] = {
    "shell": [
        "ls",
        "echo 'Call the plumber.' > notes.txt && cat notes.txt",
        "seq 3 | sort -r > numbers.txt; wc -l *.txt",
        "ls /data | head -n 3",
        "cat /data/rooms/general | grep recipe",
        "lss",
        'echo "the last line gave $?"; NAME=world; echo "hello $NAME"',
        "@how many rooms do we have",
        "y",
        "@delete numbers.txt",
        "y",
        "y",
        "ls *.txt",
        "exit",
    ],
}
"""What is typed in each session, answers to questions included."""


def recorded(name: str, home: Path) -> str:
    """One session from its first word to its last, as it stood on the terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    program = Path(sys.executable).parent / "doorward"
    environment = {
        "PATH": f"{program.parent}:/usr/bin:/bin",
        "HOME": str(home.parent),
        "DOORWARD_HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }
    subprocess.run([program, "init"], cwd=home.parent, env=environment, check=True, capture_output=True)  # noqa: S603
    process = subprocess.Popen(  # noqa: S603
        [program, "shell"], cwd=home.parent, env=environment, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    text = "$ doorward shell\n"
    try:
        for line in SESSIONS[name]:
            text = _until_asked(master, text)
            os.write(master, f"{line}\r".encode())
        while piece := _read(master):
            text += piece
        process.wait(PATIENCE)
    finally:
        os.close(master)
        process.kill()
        process.wait()
    return settled(text)


def settled(text: str) -> str:
    """What is left on the screen: no line that was erased again, and of what a terminal is told only the colours."""
    text = re.sub(r"[^\n]*\r\x1b\[K", "", _TOLD.sub("", text)).replace("\r", "")
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n") + "\n"


def plain(text: str) -> str:
    """The same without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def picture(text: str) -> str:
    """The same as a drawing, with what was typed standing out."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for line in text.splitlines():
        prompt = re.match(r"(?:\$ |(?:\S+ )?[/~]\S*(?: \[\d+\])?> |.*\[y/N\] |.*\[y/n/e\] )", line)
        shown = Text.from_ansi(line)
        if prompt is not None:
            shown.stylize("blue", 0, prompt.end())
            shown.stylize("bold", prompt.end())
        console.print(shown)
    drawn = console.export_svg(title="doorward shell", theme=MONOKAI, unique_id="doorward")
    return re.sub(
        r"\s*@font-face \{.*?\}|\s*<!--.*?-->", "", drawn, flags=re.DOTALL
    )  # it fetches nothing from anywhere


def _until_asked(master: int, text: str) -> str:
    while PROMPT.search(text) is None or text.endswith("$ doorward shell\n"):
        piece = _read(master)
        if not piece:
            raise RuntimeError(f"it ended too early:\n{text}")
        text += piece
    return text


def _read(master: int) -> str:
    ready, _, _ = select.select([master], [], [], PATIENCE)
    if not ready:
        raise RuntimeError("nothing more was said")
    try:
        return os.read(master, 65_536).decode().replace("\r\n", "\n")
    except OSError:  # the other end is closed
        return ""


def main() -> None:
    for name in SESSIONS:
        with tempfile.TemporaryDirectory() as folder:
            text = recorded(name, Path(folder) / ".doorward")
        (RECORDINGS / f"{name}.txt").write_text(plain(text))
        (RECORDINGS / f"{name}.svg").write_text(picture(text))


if __name__ == "__main__":
    main()
