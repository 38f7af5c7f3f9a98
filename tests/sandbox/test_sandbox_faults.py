"""Programs that misbehave, and helpers that die: the program ends, nothing of it stays, and the next one works."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import gateway
import pytest
from sandboxes import Box, children, descendants, descriptors, opened_box, processes

from doorward.core.errors import CommandFailed
from doorward.sandbox import worker
from doorward.sandbox.program import Program, SandboxResult
from waiting import wait_until

pytestmark = pytest.mark.anyio
_PROMPTLY = 60.0
"""Seconds; what is not ended would go on for a hundred, or for ever."""


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Box]:
    async with opened_box(tmp_path) as box:
        yield box


@pytest.fixture
def marker() -> str:
    """Among the arguments of every process of a test's program, by which they are found."""
    return f"marker-{secrets.token_hex(8)}"


async def works(box: Box) -> bool:
    ended = await box.bash("echo works")
    return (ended.exit_code, ended.stdout) == (0, b"works\n")


async def begun(box: Box, marker: str) -> asyncio.Task[SandboxResult]:
    """A long program that runs by now."""
    ready = asyncio.Event()
    running = asyncio.create_task(
        box.bash("(trap '' TERM; sleep 100) & echo ready; wait", marker, on_output=lambda *_: ready.set())
    )
    await asyncio.wait_for(ready.wait(), _PROMPTLY)
    assert processes(marker)
    return running


FORKING = {
    "a bomb of forks": "bomb() { bomb | bomb & }; bomb; sleep 100",
    "forks in a row": "for i in $(seq 200); do sleep 100 & done; sleep 100",
}


@pytest.mark.parametrize("kind", FORKING)
async def test_a_program_that_forks_without_end_is_ended(kind: str, box: Box, marker: str) -> None:
    if os.geteuid() == 0:  # the kernel does not count the processes of root, so Doorward does
        ended = await box.bash(FORKING[kind], marker, seconds=60)
        assert (ended.exit_code, ended.stopped) == (None, "processes")
    else:
        ended = await box.bash(FORKING[kind], marker, seconds=3)
        assert b"Resource temporarily unavailable" in ended.stderr
    assert processes(marker) == []
    assert await works(box)


LIVING_ON = {
    "a child in the background": "sleep 100 & echo done",
    "a daemon that ignores signals": "(trap '' TERM HUP INT; setsid sleep 100 </dev/null &>/dev/null &); echo done",
    "a child that holds the output open": "(trap '' TERM HUP; exec -a \"$1\" sleep 100) & echo done",
    "a child that was orphaned twice": "( ( setsid sh -c 'setsid sleep 100 & sleep 100' & ) & ) ; echo done",
}


@pytest.mark.parametrize("kind", LIVING_ON)
async def test_what_a_program_leaves_running_ends_with_it(kind: str, box: Box, marker: str) -> None:
    before = set(descendants(os.getpid()))
    ended = await box.bash(LIVING_ON[kind], marker)
    assert (ended.exit_code, ended.stdout) == (0, b"done\n")
    assert ended.seconds < _PROMPTLY
    assert processes(marker) == []
    assert not [child for child in set(descendants(os.getpid())) - before if b"sleep" in _arguments(child)]


def _is_there(process: int) -> bool:
    """Whether it is running, or has not let go of everything yet."""
    return Path(f"/proc/{process}").exists()


def _arguments(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


NEVER_ENDING = {
    "spins": "while :; do :; done",
    "sleeps": "sleep 100",
    "ignores signals": "trap '' TERM INT HUP QUIT XCPU; while :; do sleep 100; done",
    "stops itself": "sh -c 'kill -STOP $$'; sleep 100",
    "prints without end": "yes",
    "waits for input that never comes": "mkfifo pipe; cat pipe",
}


@pytest.mark.parametrize("kind", NEVER_ENDING)
async def test_a_program_that_does_not_end_is_ended_when_its_time_is_over(kind: str, box: Box, marker: str) -> None:
    ended = await box.bash(f"{NEVER_ENDING[kind]} # {marker}", seconds=0.5)
    assert (ended.exit_code, ended.stopped) == (None, "time")
    assert 0.5 <= ended.seconds < _PROMPTLY
    assert processes(marker) == []
    assert await works(box)


async def test_a_program_after_one_that_ran_out_of_time_is_left_alone(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_GRACE", 2.0)
    first = await box.bash("echo > /dev/null; sleep 100", seconds=0.1)
    second = await box.bash("sleep 2.5; echo done")
    assert (first.stopped, second.exit_code, second.stdout) == ("time", 0, b"done\n")


@pytest.mark.parametrize("script", ["while :; do :; done", "trap '' XCPU; while :; do :; done"])
async def test_a_program_that_spins_is_ended_by_the_limit_of_processor_time(script: str, box: Box) -> None:
    ended = await box.bash(script, limits={"cpu_seconds": 1})
    assert (ended.exit_code, ended.stopped) == (None, "")
    assert ended.signal in (signal.SIGXCPU, signal.SIGKILL)


@pytest.mark.parametrize("stream", [1, 2])
async def test_output_beyond_the_cap_is_counted_and_costs_no_memory(stream: int, box: Box) -> None:
    size = 100 * 1024 * 1024
    assert await works(box)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ended = await box.bash(f"head -c {size} /dev/zero >&{stream}", seconds=60)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert ended.exit_code == 0
    assert sorted((ended.stdout_bytes, ended.stderr_bytes)) == [0, size]
    assert sorted((len(ended.stdout), len(ended.stderr))) == [0, 1_000_000]
    assert grown < 20 * 1024


async def test_a_file_of_10_gb_ends_at_the_limit(box: Box) -> None:
    ended = await box.bash("head -c 10G /dev/zero > large")
    assert ended.exit_code == 128 + signal.SIGXFSZ
    assert (box.workspace / "large").stat().st_size == 10_000_000
    (box.workspace / "large").unlink()
    assert await works(box)


MANY_FILES = "for i in $(seq 30); do head -c 9M /dev/zero > $i || exit; done; exec sleep ${1:-0}"


async def test_a_program_that_fills_the_disk_with_many_files_is_ended(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    async with opened_box(tmp_path, keep_free_bytes=free - 100 * 1024**2) as box:
        ended = await box.bash(MANY_FILES, "100")
    assert (ended.exit_code, ended.stopped) == (None, "disk")


async def test_a_program_that_writes_as_much_on_a_disk_with_room_is_not(tmp_path: Path) -> None:
    async with opened_box(tmp_path, keep_free_bytes=0) as box:
        ended = await box.bash(MANY_FILES)
    assert (ended.exit_code, ended.stopped) == (0, "")


async def test_a_program_that_takes_10_gb_of_memory_fails_alone(box: Box) -> None:
    ended = await box.python("held = []\nwhile len(held) < 1000: held.append(bytearray(10 << 20))")
    assert ended.exit_code == 1
    assert b"MemoryError" in ended.stderr
    assert await works(box)


@pytest.mark.parametrize("target", ["$PPID", "0", "1", "-1", "2", "3"])
async def test_a_program_that_kills_what_started_it_ends_only_itself(target: str, box: Box) -> None:
    assert await works(box)
    helpers = set(descendants(os.getpid()))
    await box.bash(f"kill -9 -- {target}; kill -9 {target}; true")
    assert await works(box)
    assert set(descendants(os.getpid())) <= helpers, "a helper had to be replaced"


def _worker_of(program: int) -> int:
    status = Path(f"/proc/{program}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("PPid:")).split()[1])


@pytest.mark.parametrize("which", ["worker", "zygote", "bubblewrap"])
async def test_a_helper_killed_in_the_middle_fails_its_program_and_no_other(which: str, box: Box, marker: str) -> None:
    running = await begun(box, marker)
    (bubblewrap,) = children(os.getpid())
    ones = {
        "worker": _worker_of(min(processes(marker))),
        "zygote": children(bubblewrap)[0],
        "bubblewrap": bubblewrap,
    }
    os.kill(ones[which], signal.SIGKILL)
    with pytest.raises(CommandFailed, match=r"^The sandbox failed while it ran bash: .*\.$"):
        await asyncio.wait_for(running, _PROMPTLY)
    assert wait_until(lambda: processes(marker) == [])
    assert await works(box)
    assert len(children(os.getpid())) == 1


async def test_idle_helpers_that_were_killed_are_replaced(box: Box) -> None:
    for _ in range(3):
        assert await works(box)
        (bubblewrap,) = children(os.getpid())
        helpers = list(descendants(bubblewrap))
        for helper in helpers:
            with contextlib.suppress(ProcessLookupError):  # one may have taken another with it
                os.kill(helper, signal.SIGKILL)
        assert wait_until(lambda gone=helpers: not any(map(_is_there, gone)))  # type: ignore[misc]
    assert await works(box)


async def test_a_cancelled_program_is_dead_when_the_cancelling_returns(box: Box, marker: str) -> None:
    running = await begun(box, marker)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert processes(marker) == []
    assert await works(box)


async def test_a_program_cancelled_again_and_again_is_dead_all_the_same(box: Box, marker: str) -> None:
    running = await begun(box, marker)
    for _ in range(5):
        running.cancel()
        await asyncio.sleep(0)
    await asyncio.wait([running])
    assert running.cancelled()
    assert processes(marker) == []
    assert await works(box)


async def test_programs_end_with_the_sandbox_that_is_closed(box: Box, marker: str) -> None:
    running = [await begun(box, marker) for _ in range(3)]
    await box.sandbox.close()
    ended = await asyncio.gather(*running, return_exceptions=True)
    assert [type(one) for one in ended] == [CommandFailed] * 3
    assert wait_until(lambda: processes(marker) == [])
    assert wait_until(lambda: children(os.getpid()) == [])


@pytest.mark.parametrize("programs", [1, 3])
def test_nothing_survives_a_gateway_that_is_killed(programs: int, tmp_path: Path, marker: str) -> None:
    script = f"(trap '' TERM HUP; setsid sleep 100) & echo ready; wait # {marker}"
    words = [sys.executable, gateway.__file__, str(tmp_path), "{}", *[f"echo {marker}"] * (programs - 1), script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any("ready" in line for line in process.stdout)
        helpers = list(descendants(process.pid))
        assert any(marker.encode() in _arguments(helper) for helper in helpers)
        process.kill()
    assert wait_until(lambda: not any(map(_is_there, helpers)))
    assert wait_until(lambda: processes(marker) == [])


async def test_200_programs_at_once_all_end_and_leave_nothing(box: Box, marker: str) -> None:
    assert await works(box)
    before = descriptors()
    ended = await asyncio.gather(*(box.bash("echo $2", marker, str(number), seconds=120) for number in range(200)))
    assert [int(one.stdout) for one in ended] == list(range(200))
    assert {one.exit_code for one in ended} == {0}
    assert processes(marker) == []
    assert descriptors() - before <= 20, "no more than a socket for each helper that waits for work"


async def test_300_programs_in_a_row_leave_no_processes_and_no_descriptors(box: Box) -> None:
    assert await works(box)
    before = descriptors(), len(list(descendants(os.getpid())))
    for number in range(300):
        if number % 10 == 0:  # leaves something behind, so its helper is not used again
            await box.bash("echo left > /tmp/left", stdin=b"given")
        else:
            await box.bash("true")
    assert await works(box)
    assert wait_until(lambda: (descriptors(), len(list(descendants(os.getpid())))) == before)


async def test_a_helper_in_which_something_was_left_serves_nobody_else(box: Box) -> None:
    for place in ("/tmp", "/dev/shm"):
        await box.bash(f"echo left > {place}/left")
        assert (await box.bash(f"ls -A {place}")).stdout == b""


WRONG = {
    "a program that is not there": (("no-such-program",), "'no-such-program' is not installed"),
    "a program that may not be run": (("/etc/passwd",), "'/etc/passwd' cannot be started: Permission denied"),
    "a folder as a program": (("/usr",), "'/usr' cannot be started: Permission denied"),
    "an empty name": (("",), "'' cannot be started: Invalid argument"),
    "a null character": (("echo", "a\0b"), "'echo' cannot be started: Invalid argument"),
    "half a character": (("echo", "\ud800"), "'echo' cannot be started: Invalid argument"),
    "an argument that is too long": (("echo", "x" * 140_000), "cannot be started: Argument list too long"),
    "more arguments than a message holds": (("echo", *["x" * 1000] * 300), "arguments are too long"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_a_program_that_cannot_start_says_why(what: str, box: Box) -> None:
    argv, sentence = WRONG[what]
    with pytest.raises(CommandFailed) as failed:
        await box.sandbox.run(box.profile(), Program(argv=argv))
    assert sentence in str(failed.value)
    assert await works(box)
