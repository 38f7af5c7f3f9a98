"""A program that stays sees what it was given and nothing else, and is held by every lock that programs have."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from kept_place import Place, ending, heard, opened_place, own_place
from listeners import Listeners
from sandboxes import descriptors, processes

from doorward.core.errors import CommandFailed, SandboxUnavailable
from doorward.sandbox.grants import Grants
from doorward.sandbox.inside import landlock
from waiting import wait_until

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def place() -> AsyncIterator[Place]:
    with own_place() as folder:
        async with opened_place(folder) as place:
            yield place


async def test_it_answers_on_its_streams_for_as_long_as_it_is_kept(place: Place) -> None:
    async with ending(await place.bash("while read -r line; do echo got $line; echo heard $line >&2; done")) as kept:
        for word in (b"one", b"two"):
            os.write(kept.stdin, word + b"\n")
            assert await heard(kept.stdout, b"\n") == b"got " + word + b"\n"
            assert await heard(kept.stderr, b"\n") == b"heard " + word + b"\n"
        assert kept.level == "full"


async def test_its_number_outside_is_the_programs_own_and_no_helper_stays_beside_it(place: Place) -> None:
    marker = f"marker-{secrets.token_hex(8)}"
    async with ending(await place.bash("echo ready; read -r line", marker)) as kept:
        await heard(kept.stdout, b"\n")
        assert processes(marker) == [kept.process]
        assert {name_of(number) for number in processes(str(kept_home(place)))} == {"bwrap"}


async def test_whether_one_has_the_network_is_known_until_nothing_of_it_is_left(place: Place) -> None:
    """Doors that trust programs of this account ask."""
    async with ending(await place.bash("read -r line")):
        assert not place.sandbox.has_networked_programs
        async with ending(await place.bash("read -r line", network=True)):
            assert place.sandbox.has_networked_programs
        assert not place.sandbox.has_networked_programs
        with pytest.raises(CommandFailed):
            await place.keep("bash", network=True, start_in="/nowhere")
        assert not place.sandbox.has_networked_programs


def kept_home(place: Place) -> Path:
    return place.home / "servers" / "keeper"


def name_of(process: int) -> str:
    return Path(f"/proc/{process}/comm").read_text().strip()


async def test_its_own_folder_is_its_home_and_stays_while_temporary_files_do_not(place: Place) -> None:
    script = 'echo kept > "$HOME/kept.txt"; echo x > "$TMPDIR/gone.txt"; echo x > /tmp/gone-too.txt; pwd; echo "$HOME"'
    home = str(kept_home(place))
    assert await place.bash_says(script) == f"{home}\n{home}\n"
    assert await place.bash_says('cat "$HOME/kept.txt"; ls "$TMPDIR" /tmp | grep gone') == "kept\n"


async def test_what_it_may_read_and_change_is_at_its_own_place_and_nothing_else_is(place: Place) -> None:
    script = """
cat "$1/read/given.txt"; echo
{ echo x > "$1/read/new" || echo x > "$1/read/given.txt"; } 2>/dev/null && echo "changed what it may read"
echo made > "$1/write/made.txt" && cat "$1/write/made.txt"
for path in "$1/secret.txt" "$1/home/secret.key" "$1/home/doorward.db" /etc/shadow /etc/hostname "$2"; do
    [ -e "$path" ] && echo "sees $path"
done
{ echo x > "$1/new" || echo x > /usr/new || echo x > /etc/new || echo x > /dev/new || echo x > /new; } 2>/dev/null \
    && echo "made a file"
true
"""
    assert await place.bash_says(script, str(place.folder), str(Path.home() / ".bashrc")) == "given\nmade\n"
    assert (place.folder / "write" / "made.txt").read_text() == "made\n"
    assert (place.folder / "read" / "given.txt").read_text() == "given"


async def test_a_path_that_is_a_symlink_is_there_by_both_its_names(place: Place) -> None:
    (place.folder / "really").mkdir()
    (place.folder / "really" / "file").write_text("found\n")
    (place.folder / "link").symlink_to("really")
    link, real = str(place.folder / "link"), str(place.folder / "really")
    assert await place.said("cat", f"{link}/file", f"{real}/file", read=(link,)) == "found\nfound\n"
    assert await place.bash_says('echo new > "$1/file" && cat "$2/file"', link, real, write=(link,)) == "new\n"


async def test_a_file_in_a_folder_that_it_may_change_can_be_for_reading_alone(place: Place) -> None:
    (place.folder / "write" / "fixed").write_text("fixed\n")
    write, fixed = str(place.folder / "write"), str(place.folder / "write" / "fixed")
    script = f"cat {fixed}; echo x > {write}/free && echo x > {fixed}; rm {fixed} || cat {fixed}"
    assert "fixed\n" in await place.bash_says(script, read=(fixed,), write=(write,))
    assert (place.folder / "write" / "fixed").read_text() == "fixed\n"
    assert (place.folder / "write" / "free").exists()


REFUSED = {
    "the folder of the house": "{home}",
    "a folder that holds it": "{folder}",
    "everything": "/",
    "a file in it": "{home}/secret.key",
    "the folder of another server": "{home}/servers/other",
    "a symlink to it": "{outside}/to-home",
    "a symlink to a file in it": "{outside}/to-key",
    "a folder behind a symlink to it": "{outside}/to-home/servers/other",
    "dots that lead to it": "{folder}/read/../home",
    "what tells of all processes": "/proc",
    "one process": "/proc/self",
    "devices": "/dev",
    "a relative path": "read",
    "nothing that is there": "{folder}/nowhere",
}


@pytest.mark.parametrize("how", ["read", "write"])
async def test_what_no_program_may_see_is_refused_with_the_reason(how: str, place: Place, tmp_path: Path) -> None:
    (place.home / "servers" / "other").mkdir(parents=True, exist_ok=True)
    (tmp_path / "to-home").symlink_to(place.home)
    (tmp_path / "to-key").symlink_to(place.home / "secret.key")
    for name, path in REFUSED.items():
        given = path.format(home=place.home, folder=place.folder, outside=tmp_path)
        with pytest.raises(SandboxUnavailable) as refused:
            await place.keep("true", **{how: (given,)})
        assert f" {normal(given)}: it " in str(refused.value), name


def normal(path: str) -> str:
    return os.path.normpath(path)


async def test_a_path_that_was_replaced_after_the_check_is_noticed_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "given").mkdir()
    with Grants("server", tmp_path / "home") as grants:
        grants.add([str(tmp_path / "given")], writable=True)
        grants.check_process(os.getpid())
        (tmp_path / "given").rename(tmp_path / "moved")
        (tmp_path / "given").symlink_to("home")
        with pytest.raises(SandboxUnavailable, match="was replaced meanwhile"):
            grants.check_process(os.getpid())


@pytest.mark.parametrize("held", ["file", "links", "recipes", "recipes/kept", "new"])
def test_what_says_what_programs_may_do_is_changed_by_none_of_them(held: str, tmp_path: Path) -> None:
    """Not where it is, and not on the way there: whoever may change a symlink says what is found behind it."""
    place = Path(os.path.realpath(tmp_path))
    for name in ("home", "file", "links", "more", "recipes/kept", "new", "free"):
        (place / name).mkdir(parents=True)
    (place / "file" / "servers.json").write_text("{}")
    (place / "links" / "second").symlink_to("../file")
    (place / "more" / "first").symlink_to(place / "links" / "second")
    governing = (place / "more" / "first" / "servers.json", place / "recipes", place / "new" / "catalogue.json")
    with Grants("server", place / "home", governing) as grants:
        grants.add([str(place / "free")], writable=True)
        grants.add([str(place / held)], writable=False)
        with pytest.raises(SandboxUnavailable, match="decides what programs may do"):
            grants.add([str(place / held)], writable=True)


def test_a_rule_is_made_for_the_very_folder_that_was_checked(tmp_path: Path) -> None:
    facts = tmp_path.stat()
    with pytest.raises(OSError, match="was replaced meanwhile"):
        landlock.confine([], [str(tmp_path)], network=True, checked={str(tmp_path): (facts.st_dev, facts.st_ino + 1)})


LOCKS = """
import ctypes, os, resource, socket, sys
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
print(*(int(status[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb", "CapBnd")))
print(status["NoNewPrivs"].strip(), status["Seccomp"].strip(), os.getuid(), os.getgid())
print(resource.getrlimit(resource.RLIMIT_CPU)[1], resource.getrlimit(resource.RLIMIT_NOFILE)[1])
print(resource.getrlimit(resource.RLIMIT_CORE)[1])
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0x10000000, 0x20000, 0x20000000, 0x40000000):
    print(libc.unshare(flags), end=" ")
print(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None), libc.ptrace(0, 0, 0, 0))
print(sorted(os.listdir("/proc/self/fd"))[:3], len(os.listdir("/proc/self/fd")))
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1)
    print("reached")
except OSError:
    print("held")
"""


def python() -> str:
    return os.path.realpath(sys.executable)


async def test_every_lock_holds_it(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        said = await place.said(python(), "-I", "-S", "-c", LOCKS, str(listening.getsockname()[1]))
    assert said.splitlines() == [
        "0 0 0 0 0",
        "1 2 1000 1000",
        "-1 4096",
        "0",
        "-1 -1 -1 -1 -1 -1",
        "['0', '1', '2'] 4",
        "held",
    ]


async def test_with_the_network_it_reaches_others_and_can_look_up_names(place: Place) -> None:
    script = "[ -r /etc/resolv.conf ] && [ -d /etc/ssl/certs ] && exec 3<>/dev/tcp/127.0.0.1/$1 && echo x >&3"
    with Listeners(place.folder / "sock", f"name-{secrets.token_hex(8)}") as listeners:
        await place.bash_says(script, str(listeners.addresses["tcp"]))
        assert not listeners.heard()
        await place.bash_says(script, str(listeners.addresses["tcp"]), network=True)
        assert listeners.heard()


async def test_a_process_that_takes_too_much_memory_is_told_that_there_is_none(place: Place) -> None:
    code = "\ntry:\n    bytearray(300_000_000)\n    print('got it')\nexcept MemoryError:\n    print('no memory')"
    words = (python(), "-I", "-S", "-c", code)
    assert await place.said(*words, memory_bytes=200_000_000) == "no memory\n"
    assert await place.said(*words, memory_bytes=600_000_000) == "got it\n"


async def test_address_space_that_is_only_reserved_costs_nothing(place: Place) -> None:
    code = "import mmap\nmmap.mmap(-1, 20 << 30, flags=0x4022, prot=0)\nprint('reserved')"
    assert await place.said(python(), "-I", "-S", "-c", code) == "reserved\n"


async def test_it_is_given_a_clean_environment_and_what_belongs_to_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOORWARD_SECRET", "secret")
    said = dict(line.split("=", 1) for line in (await place.said("env", environment={"KEY": "v=1"})).splitlines())
    assert said.pop("KEY") == "v=1"
    assert set(said) == {"PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "SHELL", "LANG", "TERM"}


async def test_it_starts_in_the_folder_that_it_is_told(place: Place) -> None:
    folder = str(place.folder / "read")
    assert await place.said("pwd", start_in=folder) == f"{folder}\n"
    with pytest.raises(
        CommandFailed, match="it is not visible inside the sandbox; valid: its own folder or one that it may read"
    ):
        await place.keep("pwd", start_in="/nowhere")


async def test_two_of_them_do_not_see_each_other(place: Place) -> None:
    marker = f"marker-{secrets.token_hex(8)}"
    async with ending(await place.bash("echo ready; read -r line", marker)) as kept:
        await heard(kept.stdout, b"\n")
        assert marker not in await place.bash_says("cat /proc/*/cmdline")


async def test_one_that_was_started_later_does_not_hold_the_streams_of_another_open(place: Place) -> None:
    async with ending(await place.bash("cat; echo over")) as first, ending(await place.bash("read -r line")):
        first.close_stdin()
        assert await heard(first.stdout) == b"over\n"


async def test_starting_and_ending_many_leaves_no_descriptor_open(place: Place) -> None:
    async def once(_: int) -> None:
        await (await place.keep("true")).shut_down(0)

    await once(0)
    before = descriptors()
    await asyncio.gather(*(once(number) for number in range(5)))
    wrong: tuple[dict[str, Any], ...] = ({"read": ("/nowhere",)}, {"start_in": "/nowhere"})
    for given in wrong:
        with pytest.raises((CommandFailed, SandboxUnavailable)):
            await place.keep("true", **given)
    assert wait_until(lambda: descriptors() <= before)  # temporary files are removed after the end
