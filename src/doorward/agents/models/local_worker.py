"""The process of a local model. `local_process.py` starts it; it imports nothing of Doorward.

The model has its own process because its library is native code: a damaged file or a lack of memory ends this process
and not the server, and ending it frees all memory. It listens on a Unix socket in a private folder, never on a port,
and requires the key that it reads from the first line of its input.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import threading


def main(words: list[str]) -> None:
    file, threads, context, temperature, socket = words
    telling = os.dup(1)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)  # output of the library must not mix with our own messages
    os.dup2(quiet, 2)
    key = sys.stdin.readline().strip()
    threading.Thread(target=_exit_with_parent, args=[os.path.dirname(socket)], daemon=True).start()
    try:
        library = importlib.import_module("xllamacpp")
    except (ImportError, OSError):
        _send_status(telling, "not_installed")
        return
    given = library.CommonParams()
    given.model.path = file
    given.n_ctx = int(context)
    given.n_parallel = 1
    given.n_batch = 512  # tokens read between two progress reports
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = int(threads)
    given.sampling.temp = float(temperature)
    given.hostnames = [socket]
    given.api_keys = [key]
    given.offline = True
    given.ui = given.endpoint_slots = given.warmup = False
    given.fit_params = False  # use the configured context, or fail
    given.cache_ram_mib = 0  # do not cache earlier prompts
    given.verbosity = 0
    try:
        server = library.Server(given)
    except (RuntimeError, ValueError, MemoryError, OSError):
        _send_status(telling, "failed")
        return
    _send_status(telling, "ready")
    threading.Event().wait()
    del server


def _exit_with_parent(folder: str) -> None:
    """Remove the folder and exit when the parent process is gone, which closes the input."""
    sys.stdin.read()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _send_status(to: int, word: str) -> None:
    os.write(to, f"{word}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1:])
