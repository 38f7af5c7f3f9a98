"""Names the limit that ended a program, with the setting that changes it."""

from __future__ import annotations

import re
import signal

from doorward.sandbox.program import SandboxProfile, SandboxResult, StopReason

_MOST_SEARCHED = 20_000
_MEMORY = re.compile(r"MemoryError|[Cc]annot allocate memory|bad_alloc|[Oo]ut of memory|memory allocation .*failed")
_ABORTED = frozenset((signal.SIGTRAP, signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGSEGV))
"""Signals by which runtimes end a program that gets no memory."""


def name_setting(profile: SandboxProfile, name: str) -> str:
    """The setting of a limit in this profile, as words."""
    return f"setting sandbox.{'build.' if profile.name == 'build' else ''}{name}"


def explain_stop(why: StopReason, profile: SandboxProfile, *, own_memory: bool) -> str:
    """The limit for which Doorward stopped a program, as a clause."""
    if why == "memory":
        return f"its processes used more than {_name_memory(profile, own_memory)}"
    if why == "processes":
        most, setting = profile.limits.processes, name_setting(profile, "processes")
        return f"it started too many processes, more than {most:,} ({setting})"
    if why == "draft":
        return f"its draft became larger than {profile.draft_bytes:,} bytes (setting sandbox.draft_bytes)"
    return "the workspace's disk has too little space left (setting sandbox.keep_free_bytes)"


def explain_limit(ended: SandboxResult, profile: SandboxProfile, *, own_memory: bool) -> str:
    """The limit that ended a failed program, as a clause; empty if it shows no sign of one.

    `own_memory` says that the memory limit is that of its catalogue entry and not the setting.
    """
    limits = profile.limits
    number = _find_signal(ended)
    said = ended.stderr[-_MOST_SEARCHED:].decode("utf-8", "replace")
    cpu = f"{limits.cpu_seconds} s of processor time ({name_setting(profile, 'cpu_seconds')})"
    if number == signal.SIGXCPU or "CPU time limit exceeded" in said:
        return f"it used more than {cpu}"
    if number == signal.SIGXFSZ or "File too large" in said or "File size limit exceeded" in said:
        return f"it wrote a file larger than {limits.file_bytes:,} bytes ({name_setting(profile, 'file_bytes')})"
    # A build is stopped for its memory, and gets all it asks for until then, except in a weaker sandbox.
    refuses_memory = profile.name == "tool" or ended.sandbox != "full"
    if refuses_memory and _MEMORY.search(said):
        return f"it needed more than {_name_memory(profile, own_memory)}"
    if "Too many open files" in said:
        return f"it opened more than {limits.descriptors} files at once ({name_setting(profile, 'descriptors')})"
    if "No space left on device" in said:
        setting = name_setting(profile, "scratch_bytes")
        return f"it wrote more than {limits.scratch_bytes:,} bytes to its scratch space ({setting})"
    if "fork" in said and "Resource temporarily unavailable" in said:
        return f"it started more than {limits.processes} processes ({name_setting(profile, 'processes')})"
    if profile.draft and "Value too large for defined data type" in said:
        return "a draft cannot copy files and folders that belong to another user or group than Doorward's own"
    if number == signal.SIGKILL and ended.seconds > limits.cpu_seconds:
        return f"it probably used more than {cpu}"
    if refuses_memory and number in _ABORTED:
        return f"if it ran out of memory, it needed more than {_name_memory(profile, own_memory)}"
    return ""


def _find_signal(ended: SandboxResult) -> int:
    """The signal that ended the program, or the last program of a script, which a shell reports as 128 and more."""
    if ended.exit_code is None:
        return ended.signal
    return ended.exit_code - 128 if 128 < ended.exit_code <= 128 + signal.SIGRTMAX else 0


def _name_memory(profile: SandboxProfile, own: bool) -> str:
    where = "memoryBytes of its catalogue entry" if own else name_setting(profile, "memory_bytes")
    return f"{profile.limits.memory_bytes:,} bytes of memory ({where})"
