"""However a program that stays is ended, or ends, nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kept_place import PATIENCE, Place, ended, ending, heard, opened_place, own_place
from sandboxes import descendants, descriptors, processes

from doorward.sandbox import resource_watch
from doorward.sandbox.long_running import LongRunningEnd, LongRunningProgram
from doorward.sandbox.resource_watch import measure_usage
from waiting import wait_until

pytestmark = pytest.mark.anyio

PYTHON = (os.path.realpath(sys.executable), "-I", "-S", "-c")
DAEMON = "(setsid bash -c \"trap '' TERM HUP; exec -a $1 sleep 100\" </dev/null &>/dev/null &);"
"""Two generations away, in a session of its own, deaf to polite signals, with nothing of its parent's held open."""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def place() -> AsyncIterator[Place]:
    with own_place() as folder:
        async with opened_place(folder) as place:
            yield place


@pytest.fixture
def marker() -> str:
    """Among the arguments of every process of a test's program, by which they are found."""
    return f"marker-{secrets.token_hex(8)}"


async def begun(place: Place, script: str, marker: str) -> LongRunningProgram:
    """A program with a daemon, both running by now."""
    kept = await place.bash(f"{DAEMON} echo ready; {script}", marker)
    await heard(kept.stdout, b"ready\n")
    assert wait_until(lambda: len(processes(marker)) == 2)
    return kept


BY_THEMSELVES = {
    "with 0": ("exit 0", LongRunningEnd(0)),
    "with 7": ("exit 7", LongRunningEnd(7)),
    "by a signal": ("kill -KILL $$", LongRunningEnd(None, signal.SIGKILL)),
    "when their input ends": ("read -r line; exit 3", LongRunningEnd(3)),
}


@pytest.mark.parametrize("how", BY_THEMSELVES)
async def test_what_ends_by_itself_takes_along_what_it_started(how: str, place: Place, marker: str) -> None:
    script, expected = BY_THEMSELVES[how]
    async with ending(await begun(place, f"read -r go; {script}", marker)) as kept:
        os.write(kept.stdin, b"go\n")
        kept.close_stdin()
        assert await ended(kept) == expected
        assert processes(marker) == []
        assert await heard(kept.stdout) == b""


async def test_a_program_that_heeds_sigterm_is_let_end_by_it(place: Place, marker: str) -> None:
    script = "trap 'echo tidied > \"$HOME/tidied\"; exit 5' TERM; while :; do read -r -t 100 line <> <(:); done"
    kept = await begun(place, script, marker)
    assert await kept.shut_down(0.1) == LongRunningEnd(5)
    assert (place.home / "servers" / "keeper" / "tidied").read_text() == "tidied\n"
    assert processes(marker) == []


async def test_a_program_without_a_handler_ends_at_sigterm(place: Place, marker: str) -> None:
    kept = await begun(place, "exec -a $1 sleep 100", marker)
    assert await kept.shut_down(0.1) == LongRunningEnd(None, signal.SIGTERM)
    assert processes(marker) == []


async def test_a_program_that_ignores_sigterm_is_killed(place: Place, marker: str) -> None:
    kept = await begun(place, "trap '' TERM INT HUP; while :; do sleep 100; done", marker)
    assert await kept.shut_down(0.1) == LongRunningEnd(None, signal.SIGKILL)
    assert processes(marker) == []


async def test_a_program_that_is_stopped_is_killed(place: Place, marker: str) -> None:
    kept = await begun(place, "kill -STOP $$; sleep 100", marker)
    assert (await kept.shut_down(0.1)).signal == signal.SIGKILL
    assert processes(marker) == []


async def test_ending_twice_and_at_once_does_no_harm(place: Place, marker: str) -> None:
    kept = await begun(place, "read -r line", marker)
    first, second = await asyncio.gather(kept.shut_down(5), kept.shut_down(0))
    assert first == second == await kept.shut_down() == await kept.wait()
    assert (kept.stdin, kept.stdout, kept.stderr) == (-1, -1, -1)


async def test_cancelled_while_it_ends_a_program_it_still_leaves_nothing(place: Place, marker: str) -> None:
    kept = await begun(place, "trap '' TERM; while :; do sleep 100; done", marker)
    task = asyncio.create_task(kept.shut_down(100))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, PATIENCE)
    assert processes(marker) == []
    assert kept.stdout == -1


async def test_cancelled_while_it_starts_a_program_it_leaves_nothing(place: Place, marker: str) -> None:
    before = descriptors()
    children = set(descendants(os.getpid()))
    for turns in (1, 2, 4, 8, 16, 32):
        task = asyncio.create_task(place.bash("sleep 100", marker))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    for stage in (lambda: set(descendants(os.getpid())) - children, lambda: processes("confine_and_exec.main()")):
        task = asyncio.create_task(place.bash("sleep 100", marker))
        while not stage():  # noqa: ASYNC110 - what it waits for is seen from outside alone
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert processes(marker) == []
    assert set(descendants(os.getpid())) <= children
    assert wait_until(lambda: descriptors() <= before)


async def test_a_program_that_closes_its_output_and_lives_on_is_heard_to_do_so(place: Place, marker: str) -> None:
    kept = await place.bash("exec >&-; echo ready >&2; while read -r line; do echo $line >&2; done", marker)
    assert await heard(kept.stdout) == b""
    assert await heard(kept.stderr, b"\n") == b"ready\n"
    os.write(kept.stdin, b"still there\n")
    assert await heard(kept.stderr, b"\n") == b"still there\n"
    assert processes(marker) == [kept.process]
    assert await kept.shut_down(5) == LongRunningEnd(0)


async def test_a_program_that_closes_its_input_is_noticed_by_whoever_writes(place: Place) -> None:
    async with ending(await place.bash("exec <&-; echo ready; exec sleep 100")) as kept:
        await heard(kept.stdout, b"ready\n")
        with pytest.raises(BrokenPipeError):
            os.write(kept.stdin, b"hello\n")


async def test_everything_ends_with_the_sandbox(marker: str) -> None:
    with own_place() as folder:
        async with opened_place(folder) as place:
            kept = await begun(place, "trap '' TERM; while :; do sleep 100; done", marker)
        assert processes(marker) == []
        assert (await kept.wait()).signal == signal.SIGKILL
        assert not list((place.home / "servers" / ".tmp").iterdir())


async def test_temporary_files_that_a_killed_host_left_are_removed_by_the_next_one(place: Place) -> None:
    temporary = place.home / "servers" / ".tmp"
    async with ending(await place.bash("echo x > /tmp/file; echo ready; read -r line")) as kept:
        await heard(kept.stdout, b"ready\n")
        (temporary / "left").mkdir()
        (temporary / "left" / "file").touch()
        async with opened_place(place.folder) as next_one:
            await next_one.bash_says("true")
        assert not (temporary / "left").exists()
        assert [path.name for path in temporary.glob("*/file")] == ["file"], "one that runs keeps its own"


async def test_too_many_processes_are_the_end_of_a_program_or_are_not_made(place: Place, marker: str) -> None:
    script = "for i in $(seq 100); do sleep 100 & done; echo all >&2; wait"
    async with ending(await place.bash(script, marker, processes=20)) as kept:
        if os.geteuid() == 0:  # the kernel does not count the processes of root, so Doorward does
            assert await ended(kept) == LongRunningEnd(None, signal.SIGKILL, "processes")
        else:
            assert b"Resource temporarily unavailable" in await heard(kept.stderr, b"unavailable\n")
        await kept.shut_down(0)
    assert processes(marker) == []


SHARING = """
import mmap, time
shared = mmap.mmap(-1, 120 << 20)
for _ in range(120):
    shared.write(bytes(1 << 20))
print("shared", flush=True)
time.sleep(100)
"""


async def test_memory_that_a_program_shares_with_itself_counts_too(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource_watch, "_ROUND", 0.05)
    async with ending(await place.keep(*PYTHON, SHARING, memory_bytes=80 << 20)) as kept:
        assert (await ended(kept)).stopped == "memory"
    async with ending(await place.keep(*PYTHON, SHARING, memory_bytes=200 << 20)) as kept:
        assert await heard(kept.stdout, b"\n") == b"shared\n"
        assert 120 << 20 < measure_usage(kept.first, 10).largest < 200 << 20


FILLING = """
import os
file = open(os.environ["HOME"] + "/large", "wb")
for _ in range(1_000):
    file.write(bytes(1 << 20))
    file.flush()
print("filled", flush=True)
"""


async def test_whoever_fills_the_disk_is_ended_and_others_are_not() -> None:
    with own_place() as folder:
        async with opened_place(folder, keep_free_bytes=free_on(folder) - (30 << 20)) as place:
            quiet = await place.bash("while read -r line; do echo $line; done")
            async with ending(await place.keep(*PYTHON, FILLING)) as filling:
                assert (await ended(filling)).stopped == "disk"
            os.write(quiet.stdin, b"still there\n")
            assert await heard(quiet.stdout, b"\n") == b"still there\n"


def free_on(folder: Path) -> int:
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize
