"""The process of a loaded local model, from start to end.

Everything here blocks, so it runs in threads.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

import msgspec

from doorward.agents.models.model import ModelFailed, ModelFault
from doorward.config import settings
from doorward.core import strictjson

INSTALL = "pip install 'doorward[local,models]'"
_WORKER = Path(__file__).with_name("local_worker.py")
_MAGIC = b"GGUF"
_COUNT_SECONDS = 10.0
_ENDING_SECONDS = 1.0
_LONGEST_COUNT = 4_194_304
"""The most bytes read of a list of tokens."""


class LocalProcess:
    """One loaded model."""

    def __init__(self, name: str, given: settings.LocalModelSettings) -> None:
        self.name = name
        self._settings = given
        self._folder = ""
        self._key = os.urandom(24).hex()
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False
        self._state_lock = threading.Lock()
        self._read_lock = threading.Lock()

    @property
    def key(self) -> str:
        return self._key

    @property
    def socket(self) -> str:
        return os.path.join(self._folder, "model.sock")

    @property
    def alive(self) -> bool:
        return self._process is not None and not self._ended and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None and self.alive else 0

    @property
    def memory(self) -> int:
        """Its memory use in bytes; 0 if unknown."""
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1] if self._process else "0"
            return int(pages) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError):
            return 0

    def start(self) -> None:
        """Load the model. Raises `ModelFailed` if that is not possible."""
        with self._state_lock:
            if self._ended:
                raise self._failure("down", "was unloaded while it was loading")
            self._folder = tempfile.mkdtemp(prefix="doorward-model-")
            self._process = self._spawn()
        try:
            said = self._read_status(self._process)
        except BaseException:
            self.end()
            raise
        if said == "ready":
            return
        self.end()
        if said == "not_installed":
            raise self._failure("not_installed", f"needs a package that is not installed; run: {INSTALL}")
        raise self._failure(
            "down",
            "cannot be loaded: its file is damaged or of an unknown kind, or there is too little memory for a context "
            f"of {self._settings.context} tokens",
        )

    def end(self) -> None:
        """End the process and free its memory. Safe to call at any time and repeatedly."""
        with self._state_lock:
            self._ended = True
            program, folder, self._folder = self._process, self._folder, ""
        if program is not None:
            program.kill()
            program.wait()
            cast(IO[bytes], program.stdin).close()
            with self._read_lock:  # a reader of the first message sees the end of input now
                cast(IO[bytes], program.stdout).close()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)

    def is_ending(self) -> bool:
        """Whether it ended or is ending: a connection breaks a moment before its process is gone."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            if self._process is not None:
                self._process.wait(_ENDING_SECONDS)
        return not self.alive

    def count(self, text: str) -> int | None:
        """Count the tokens of a text with the model's own tokenizer; None if that fails."""
        if not self.alive:
            return None
        asked = _UnixConnection(self.socket)
        try:
            body = msgspec.json.encode({"content": text})
            headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
            asked.request("POST", "/tokenize", body, headers)
            answer = asked.getresponse()
            found = strictjson.loads(answer.read(_LONGEST_COUNT)) if answer.status == 200 else None
        except (OSError, http.client.HTTPException, strictjson.NotJson):
            return None
        finally:
            asked.close()
        tokens = found.get("tokens") if isinstance(found, dict) else None
        return len(tokens) if isinstance(tokens, list) else None

    def _spawn(self) -> subprocess.Popen[bytes]:
        """Start the process. It does not inherit our environment, which may hold keys."""
        given = self._settings
        words = [given.file, str(given.threads), str(given.context), str(given.temperature), self.socket]
        try:
            program = subprocess.Popen(  # noqa: S603 - our own program, without a shell
                [sys.executable, "-I", str(_WORKER), *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.environ.get("PATH", ""), "HOME": self._folder},
                cwd=self._folder,
                start_new_session=True,
            )
        except OSError as error:
            raise self._failure("down", f"cannot be loaded: {error.strerror}") from None
        with contextlib.suppress(OSError):  # it ended already; reading its first message detects that
            cast(IO[bytes], program.stdin).write(f"{self._key}\n".encode())
            cast(IO[bytes], program.stdin).flush()
        return program

    def _read_status(self, program: subprocess.Popen[bytes]) -> str:
        said = cast(IO[bytes], program.stdout)
        with self._read_lock:
            if said.closed:
                return ""
            waiting = select.poll()
            waiting.register(said, select.POLLIN | select.POLLHUP)
            if waiting.poll(self._settings.load_seconds * 1_000):
                return said.readline(100).decode("ascii", "replace").strip()
        raise self._failure("slow", f"was not loaded within {self._settings.load_seconds:g} seconds (its load_seconds)")

    def _failure(self, fault: ModelFault, words: str) -> ModelFailed:
        return ModelFailed(fault, f"The model {self.name} {words}.")


def check_file(
    name: str, given: settings.LocalModelSettings, available: Callable[[], int | None] | None = None
) -> None:
    """Raise `ModelFailed` if it is clear in advance that a file cannot be loaded."""
    file = Path(given.file)
    if not given.file or not file.is_absolute():
        raise ModelFailed(
            "unknown",
            f"The file of the model {name} must be an absolute path, such as /models/small.gguf; given "
            f"{given.file[:200]!r}.",
        )
    try:
        size, magic = file.stat().st_size, b""
        if file.is_file():  # reading a pipe would block
            with file.open("rb") as opened:
                magic = opened.read(len(_MAGIC))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its path is not valid"
        raise ModelFailed("unknown", f"The file of the model {name} cannot be read: {why}.") from None
    if magic != _MAGIC:
        raise ModelFailed(
            "unknown", f"The file of the model {name} is not a GGUF file: those begin with the letters GGUF."
        )
    free = (available or available_memory)()
    if free is not None and size > free:
        raise ModelFailed(
            "down",
            f"There is not enough memory for the model {name}: its file has {size // _MB} MB, and {free // _MB} MB are "
            "free.",
        )


_MB = 1_048_576


def available_memory() -> int | None:
    """Return the bytes of available memory; None if the system does not report them."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1_024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_COUNT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_COUNT_SECONDS)
        self.sock.connect(self._path)
