"""Names the limit that ended a program, with the setting that changes it."""

from __future__ import annotations

import re
import signal

from doorward.sandbox.program import ProgramLimits, SandboxResult

_MOST_SEARCHED = 20_000
_MEMORY = re.compile(r"MemoryError|[Cc]annot allocate memory|bad_alloc|[Oo]ut of memory|memory allocation .*failed")
_ABORTED = frozenset((signal.SIGTRAP, signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGSEGV))
"""Signals by which runtimes end a program that gets no memory."""


def explain_limit(ended: SandboxResult, limits: ProgramLimits, scratch_bytes: int, *, own_memory: bool) -> str:
    """The limit that ended a failed program, as a clause; empty if it shows no sign of one.

    `own_memory` says that the memory limit is that of its catalogue entry and not the setting.
    """
    number = _find_signal(ended)
    said = ended.stderr[-_MOST_SEARCHED:].decode("utf-8", "replace")
    if number == signal.SIGXCPU or "CPU time limit exceeded" in said:
        return f"it used more than {limits.cpu_seconds} s of processor time (setting sandbox.cpu_seconds)"
    if number == signal.SIGXFSZ or "File too large" in said or "File size limit exceeded" in said:
        return f"it wrote a file larger than {limits.file_bytes:,} bytes (setting sandbox.file_bytes)"
    if _MEMORY.search(said):
        return f"it needed more than {_name_memory(limits, own_memory)}"
    if "Too many open files" in said:
        return f"it opened more than {limits.descriptors} files at once (setting sandbox.descriptors)"
    if "No space left on device" in said:
        return f"it wrote more than {scratch_bytes:,} bytes to its scratch space (setting sandbox.scratch_bytes)"
    if "fork" in said and "Resource temporarily unavailable" in said:
        return f"it started more than {limits.processes} processes (setting sandbox.processes)"
    if number == signal.SIGKILL and ended.seconds > limits.cpu_seconds:
        return f"it probably used more than {limits.cpu_seconds} s of processor time (setting sandbox.cpu_seconds)"
    if number in _ABORTED:
        return f"if it ran out of memory, it needed more than {_name_memory(limits, own_memory)}"
    return ""


def _find_signal(ended: SandboxResult) -> int:
    """The signal that ended the program, or the last program of a script, which a shell reports as 128 and more."""
    if ended.exit_code is None:
        return ended.signal
    return ended.exit_code - 128 if 128 < ended.exit_code <= 128 + signal.SIGRTMAX else 0


def _name_memory(limits: ProgramLimits, own: bool) -> str:
    where = "memoryBytes of its catalogue entry" if own else "setting sandbox.memory_bytes"
    return f"{limits.memory_bytes:,} bytes of memory ({where})"
