"""The process that a model in a file thinks in. It is started by `local_process.py` and imports nothing of Doorward.

It has a process of its own because the library that reads such files is native code: a damaged file, or too little
memory, ends this process and not the house, and all memory is free again when it ends. It listens at a socket in a
private folder alone, never at a port, and answers only those who know the key, which it is told on its first line.
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
    os.dup2(quiet, 1)  # what the library prints is for nobody, and must not stand where our own words are read
    os.dup2(quiet, 2)
    key = sys.stdin.readline().strip()
    threading.Thread(target=_until_left_alone, args=[os.path.dirname(socket)], daemon=True).start()
    try:
        library = importlib.import_module("xllamacpp")
    except (ImportError, OSError):
        _tell(telling, "not_installed")
        return
    given = library.CommonParams()
    given.model.path = file
    given.n_ctx = int(context)
    given.n_parallel = 1
    given.n_batch = 512  # so much is read between two signs of life
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = int(threads)
    given.sampling.temp = float(temperature)
    given.hostnames = [socket]
    given.api_keys = [key]
    given.offline = True
    given.ui = given.endpoint_slots = given.warmup = False
    given.fit_params = False  # it is to have the context that was asked for, or to say that it cannot
    given.cache_ram_mib = 0  # earlier prompts are not kept beside the model
    given.verbosity = 0
    try:
        server = library.Server(given)
    except (RuntimeError, ValueError, MemoryError, OSError):
        _tell(telling, "failed")
        return
    _tell(telling, "ready")
    threading.Event().wait()
    del server


def _until_left_alone(folder: str) -> None:
    """End when whoever started this is gone, which is when nothing more can be read, and leave nothing behind."""
    sys.stdin.read()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _tell(to: int, word: str) -> None:
    os.write(to, f"{word}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1:])
