"""The kernel takes the shipped filters, refuses under them what they refuse, and lets ordinary programs work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import seccomp_child

from doorward.sandbox.seccomp.filter_files import KINDS, load_filter
from doorward.sandbox.seccomp.machines import load_machines

MACHINE = os.uname().machine
(NUMBERS,) = (machine.numbers for machine in load_machines() if machine.name == MACHINE)

HERE = -100 % 2**64
"""AT_FDCWD: names are relative to the working directory."""
UPPER = 0x7EAD_BEEF_0000_0000
NEW_USERS, NEW_PIDS, SIGCHLD = 0x1000_0000, 0x2000_0000, 17

Attempt = tuple[str, list[Any], str]
"""The call, its arguments, and how it ends under the filter."""


@pytest.fixture(params=KINDS)
def every_kind(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return filter_file(request.param, tmp_path)


def filter_file(kind: str, folder: Path) -> str:
    code = load_filter(kind)
    assert code is not None
    file = folder / f"{kind}.bpf"
    file.write_bytes(code)
    return str(file)


def child(file: str, *words: str, stdin: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", seccomp_child.__file__, file, *words],
        input=stdin,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
        text=True,
        capture_output=True,
        timeout=60,
    )


def endings(file: str, attempts: list[Attempt], folder: Path) -> list[str]:
    """How each call really ends. Files that the calls speak of lie in the folder."""
    (folder / "file").write_text("something")
    (folder / "file").chmod(0o644)
    calls = [[NUMBERS.get(call, call), *arguments] for call, arguments, _ in attempts]
    done = child(file, "try", stdin=json.dumps(calls), folder=folder)
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


REFUSED: list[Attempt] = [
    ("umount2", ["nothing", 0], "EPERM"),
    ("mount", [0, 0, 0, 0, 0], "EPERM"),
    ("chroot", ["nothing"], "EPERM"),
    ("unshare", [0x200], "EPERM"),
    ("clone3", [0, 0], "ENOSYS"),
    ("ptrace", [0, 0, 0, 0], "EPERM"),
    ("process_vm_readv", [1, 0, 0, 0, 0, 0], "EPERM"),
    ("pidfd_getfd", [UPPER | 0xFFFF_FFFF, 0, 0], "EPERM"),
    ("ioctl", [0, 0x5412, 0], "EPERM"),
    ("ioctl", [0, UPPER | 0x5412, 0], "EPERM"),
    ("ioctl", [0, UPPER | 0x541C, 0], "EPERM"),
    ("keyctl", [0, 0xFFFF_FFFD, 0], "EPERM"),
    ("add_key", [0, 0, 0, 0, 0], "EPERM"),
    ("request_key", [0, 0, 0, 0], "EPERM"),
    ("perf_event_open", [0, 0, 0, 0, 0], "EPERM"),
    ("name_to_handle_at", [HERE, "file", 0, 0, 0], "EPERM"),
    ("personality", [0x004_0000], "EPERM"),
    ("openat2", [HERE, "file", "\0" * 24, 24], "ENOSYS"),
    ("mknodat", [HERE, "set-id", 0o104755, 0], "EPERM"),
    ("mknodat", [HERE, "set-id", UPPER | 0x10000 | 0o104755, 0], "EPERM"),
    ("fchmodat", [HERE, "file", 0o4755], "EPERM"),
    ("fchmodat", [HERE, "file", UPPER | 0x10000 | 0o4755], "EPERM"),
    ("fchmodat", [HERE, "file", 0o2755], "EPERM"),
    ("fchmod", [{"open": "file"}, 0o4755], "EPERM"),
    ("openat", [HERE, "made", 0o101, 0o4755], "EPERM"),
    ("openat", [HERE, "made", UPPER | 0o101, UPPER | 0o4755], "EPERM"),
]
"""Refused by every kind. Whoever is asked without a filter answers otherwise, be it a user or root."""

REFUSED_BY_SOME_KERNELS_TOO: list[Attempt] = [
    ("unshare", [NEW_USERS], "EPERM"),
    ("unshare", [NEW_USERS | NEW_PIDS], "EPERM"),
    ("clone", [NEW_USERS | SIGCHLD, 0, 0, 0, 0], "EPERM"),
    ("clone", [UPPER | NEW_USERS | SIGCHLD, 0, 0, 0, 0], "EPERM"),
    ("setns", [0, NEW_USERS], "EPERM"),
    ("setns", [0, 0], "EPERM"),
    ("pivot_root", ["file", "file"], "EPERM"),
    ("fsopen", ["tmpfs", 0], "EPERM"),
    ("open_tree", [HERE, "file", 0], "EPERM"),
    ("bpf", [0, 0, 0], "EPERM"),
    ("userfaultfd", [0], "EPERM"),
    ("io_uring_setup", [1, 0], "ENOSYS"),
    ("prctl", [35, 1, 0, 0, 0], "EPERM"),
    ("mknodat", [HERE, "device", 0o020666, 0x103], "EPERM"),
    ("openat", [HERE, ".", 0o20200002, 0o4600], "EPERM"),
    ("open_by_handle_at", [HERE, 0, 0], "EPERM"),
    ("memfd_secret", [0], "ENOSYS"),
    ("kcmp", [1, 1, 0, 0, 0], "EPERM"),
    ("syslog", [10, 0, 0], "EPERM"),
    ("settimeofday", [0, 0], "EPERM"),
    ("sethostname", ["", 0], "EPERM"),
]
"""Refused by every kind, and on some kernels without a filter as well."""

REFUSED_INSIDE: list[Attempt] = [("socket", [16, 3, 0], "EAFNOSUPPORT"), ("socketpair", [2, 1, 0, 0], "EAFNOSUPPORT")]

SOCKETS_INSIDE: list[Attempt] = [
    *(("socket", [family, 3, 0], "EAFNOSUPPORT") for family in (16, 17, 38, 40)),
    ("socket", [UPPER | 16, 3, 0], "EAFNOSUPPORT"),
    ("socket", [2, 10, 0x300], "EAFNOSUPPORT"),
    ("socket", [1, 1, 0], "done"),
    ("socket", [2, 1, 0], "done"),
]

REFUSED_ALONE: list[Attempt] = [
    ("socket", [1, 1, 0], "EPERM"),
    ("socketpair", [1, 2, 0, "\0" * 8], "EPERM"),
    ("fchmodat", [HERE, "file", 0o600], "EPERM"),
    ("fchmod", [{"open": "file"}, 0o600], "EPERM"),
    ("fchownat", [HERE, "file", 0xFFFF_FFFF, 0xFFFF_FFFF, 0], "EPERM"),
    ("setxattr", ["file", "user.a", "b", 1, 0], "EPERM"),
    ("utimensat", [HERE, "file", 0, 0], "EPERM"),
    ("truncate", ["file", 1], "EPERM"),
    ("openat", [HERE, "file", 0o1000, 0], "EPERM"),
    ("openat", [HERE, "file", 0o3, 0], "EPERM"),
    ("kill", [0xFFFF_FFFF, 0], "EPERM"),
    ("setpriority", [2, 0, 0], "EPERM"),
    ("shmget", [0, 0, 0], "ENOSYS"),
    ("msgget", [0x7E57, 0], "ENOSYS"),
    ("inotify_init1", [0], "ENOSYS"),
]

ALLOWED_ALONE: list[Attempt] = [
    ("socketpair", [1, 1, 0, "\0" * 8], "done"),
    ("utimensat", [{"open": "file"}, 0, 0, 0], "done"),
    ("openat", [HERE, "file", 0o1001, 0], "done"),
    ("kill", [0, 0], "done"),
]

LEFT_TO_THE_KERNEL: list[Attempt] = [
    ("unshare", [NEW_PIDS], ""),
    ("setns", [{"open": "/proc/self/ns/pid"}, NEW_PIDS], ""),
    ("clone", [SIGCHLD, 0, 0, 0, 0], "done"),
    ("pidfd_open", [1, 0], "done"),
    ("prlimit64", [0, 7, 0, 0], "done"),
    ("memfd_create", ["name", 1], "done"),
    ("landlock_create_ruleset", [0, 0, 1], ""),
    ("prctl", [38, 1, 0, 0, 0], "done"),
    ("prctl", [4, 0, 0, 0, 0], "done"),
    ("mknodat", [HERE, "pipe", 0o010644, 0], "done"),
    ("mkdirat", [HERE, "made", 0o4755], "done"),
    ("openat", [HERE, "file", 0, 0o4755], "done"),
    ("fchmodat", [HERE, "file", 0o1755], "done"),
    ("personality", [0xFFFF_FFFF], "done"),
    ("socketpair", [1, 2, 0, "\0" * 8], "done"),
]


def test_what_no_program_may_do_is_refused(every_kind: str, tmp_path: Path) -> None:
    attempts = REFUSED + REFUSED_BY_SOME_KERNELS_TOO
    assert endings(every_kind, attempts, tmp_path) == [expected for *_, expected in attempts]
    assert {path.name for path in tmp_path.iterdir()} == {"file", Path(every_kind).name}


def test_without_a_filter_every_answer_is_another(tmp_path: Path) -> None:
    attempts = REFUSED + REFUSED_INSIDE + REFUSED_ALONE
    found = endings("none", attempts, tmp_path)
    assert [attempt for attempt, ending in zip(attempts, found, strict=True) if ending == attempt[2]] == []


def test_families_of_sockets_inside_namespaces(tmp_path: Path) -> None:
    attempts = REFUSED_INSIDE + SOCKETS_INSIDE
    assert endings(filter_file("full", tmp_path), attempts, tmp_path) == [expected for *_, expected in attempts]


@pytest.mark.parametrize("kind", ["alone", "alone-network"])
def test_what_only_namespaces_would_confine_is_refused_without_them(kind: str, tmp_path: Path) -> None:
    attempts = REFUSED_ALONE + ALLOWED_ALONE
    assert endings(filter_file(kind, tmp_path), attempts, tmp_path) == [expected for *_, expected in attempts]


@pytest.mark.parametrize(("kind", "ending"), [("alone", "EPERM"), ("alone-network", "done")])
def test_without_namespaces_the_network_is_there_when_it_is_granted(kind: str, ending: str, tmp_path: Path) -> None:
    attempts: list[Attempt] = [("socket", [2, 1, 0], ending), ("socket", [10, 2, 0], ending)]
    attempts.append(("socket", [16, 3, 0], "EPERM"))
    assert endings(filter_file(kind, tmp_path), attempts, tmp_path) == [expected for *_, expected in attempts]


def test_what_the_worker_and_its_programs_need_is_left_to_the_kernel(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    found = endings(filter_file("full", tmp_path), LEFT_TO_THE_KERNEL, inside)
    assert found == endings("none", LEFT_TO_THE_KERNEL, outside)
    assert [one for one, (*_, expected) in zip(found, LEFT_TO_THE_KERNEL, strict=True) if expected] == [
        expected for *_, expected in LEFT_TO_THE_KERNEL if expected
    ]


FOREIGN: dict[str, list[Attempt]] = {
    # getpid by the second convention, then by the one for 32 bits: mov eax, 20; int 0x80; ret.
    "x86_64": [("foreign", [], "SIGSYS"), ("code", ["b814000000cd80c3"], "SIGSYS")],
    "aarch64": [],
}


def test_calls_by_another_convention_end_the_process(every_kind: str, tmp_path: Path) -> None:
    attempts = [
        (0x4000_0000 | NUMBERS["getpid"] if call == "foreign" else call, *rest) for call, *rest in FOREIGN[MACHINE]
    ]
    assert endings(every_kind, attempts, tmp_path) == [ending for *_, ending in attempts]


def test_a_second_filter_can_be_put_on_and_does_not_widen_the_first(tmp_path: Path) -> None:
    first, again = filter_file("full", tmp_path), [sys.executable, "-I", "-S", seccomp_child.__file__]
    everything = tmp_path / "everything.bpf"
    everything.write_bytes(bytes.fromhex("060000000000ff7f"))
    calls = json.dumps([[NUMBERS["personality"], 0x004_0000]])
    done = child(first, "run", *again, str(everything), "try", stdin=calls, folder=tmp_path)
    assert (done.stdout, done.stderr) == ('["EPERM"]', "")


GIT = "git -c init.defaultBranch=main -c user.name=a -c user.email=a@example.org -c gc.auto=0"
SCRIPTS = {
    "python threads and processes": """
import asyncio, concurrent.futures, multiprocessing, os, subprocess, tempfile, threading
threads = concurrent.futures.ThreadPoolExecutor(4)
print(list(threads.map(lambda n: n * n, range(8))))
print(subprocess.run(["echo", "started"], capture_output=True, text=True).stdout)
async def main():
    process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    print((await process.communicate(b"piped"))[0])
asyncio.run(main())
with tempfile.TemporaryDirectory() as folder:
    os.mkfifo(folder + "/pipe")
print(sorted(os.listdir(".")))
""",
    "python modes": "import os; open('a', 'w'); os.chmod('a', 0o755); print(oct(os.stat('a').st_mode))",
    "python sockets": """
import socket
left, right = socket.socketpair()
left.send(b"there"); print(right.recv(9))
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
accepted, _ = server.accept(); accepted.send(b"and back"); print(client.recv(99))
""",
    "git": f"{GIT} init -q r && cd r && echo a > a && {GIT} add a && {GIT} commit -qm first && echo b >> a &&"
    f" {GIT} diff --stat && {GIT} commit -qam second && {GIT} gc -q && {GIT} log --format=%s && {GIT} status -s &&"
    f" {GIT} clone -q . ../copy && {GIT} -C ../copy fsck && {GIT} show :a",
    "tar": "mkdir d && echo x > d/x && chmod 751 d/x && ln -s x d/link && mkfifo d/pipe && tar -czf d.tar.gz d &&"
    " mkdir out && tar -xpf d.tar.gz -C out && ls out/d && stat -c %a out/d/x && tar -tzf d.tar.gz",
    "sort": "seq 200000 -1 1 > n && sort -n --parallel=2 -S 1M n | head -3 && sort -u n | wc -l",
    "bash": """set -e
echo one | { read a; echo "$a"; }
sleep 0 & wait
[[ $(echo {1..5}) == '1 2 3 4 5' ]]
trap 'echo told' USR1; kill -USR1 $$
cat <(echo from a program)
diff <(echo a) <(echo b) || echo they differ
timeout 9 echo in time
ulimit -n
""",
    "find": "mkdir -p a/b/c && touch a/b/c/f && find . -name f -print -exec stat -c %F {} + && find a -type d | sort",
    "awk": """seq 9 | awk '{ s += $1 } END { print s; print "x" | "cat" }'""",
    "files": """set -e
echo a > a; cp -a a b; mv b c; install -m 640 a d
touch -d 2001-02-03 a; stat -c '%a %y' a | cut -c 1-14
ln a e; truncate -s 3 a; dd if=a of=f bs=1 status=none; rm -r a
gzip f; gunzip f.gz; sha256sum c f
""",
}
SCRIPTS_ALONE = {
    "python threads and processes": SCRIPTS["python threads and processes"].replace(
        'os.mkfifo(folder + "/pipe")', "pass"
    ),
    "sort": SCRIPTS["sort"],
    "bash": SCRIPTS["bash"],
    "find": SCRIPTS["find"],
    "awk": SCRIPTS["awk"],
    "files": """set -e
echo a > a; cp a b; mv b c; touch a c; ln a e; truncate -s 3 a
tar -cf d.tar a c; tar -tf d.tar; rm a
""",
}


def behaviour(file: str, name: str, script: str, folder: Path) -> tuple[int, str, str]:
    folder.mkdir()
    program = (sys.executable, "-I", "-c") if name.startswith("python") else ("bash", "-c")
    done = child(file, "run", *program, script, folder=folder)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", SCRIPTS)
def test_ordinary_programs_behave_inside_namespaces_as_they_do_without_a_filter(name: str, tmp_path: Path) -> None:
    found = behaviour(filter_file("full", tmp_path), name, SCRIPTS[name], tmp_path / "inside")
    assert found == behaviour("none", name, SCRIPTS[name], tmp_path / "outside")
    assert found[0] == 0, found
    assert found[1]


@pytest.mark.parametrize("kind", ["alone", "alone-network"])
@pytest.mark.parametrize("name", SCRIPTS_ALONE)
def test_ordinary_programs_behave_as_ever_without_namespaces(name: str, kind: str, tmp_path: Path) -> None:
    found = behaviour(filter_file(kind, tmp_path), name, SCRIPTS_ALONE[name], tmp_path / "inside")
    assert found == behaviour("none", name, SCRIPTS_ALONE[name], tmp_path / "outside")
    assert found[0] == 0, found
    assert found[1]
