"""On a machine that lacks namespaces or Landlock the sandbox says so, holds what it can, and refuses when told to."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import denied
import gateway
import naming_processes
import pytest
from listeners import Listeners
from sandboxes import descendants, processes
from users import AS_ROOT, USERS, as_user, own_folder

from doorward.sandbox.seccomp.machines import load_machines
from waiting import PATIENCE, wait_until


class Told(NamedTuple):
    """What a gateway said: how well it confines, and how each program ended."""

    level: dict[str, Any]
    ended: list[dict[str, Any]]


class Place:
    """A folder of one user's, with a secret beside the workspace."""

    def __init__(self, who: str, folder: Path) -> None:
        self.who = who
        self.folder = folder
        for name in ("home", "workspace"):
            (folder / name).mkdir(mode=0o700)
            self._given(folder / name)
        (folder / "home" / "secret.key").write_text("secret")
        (folder / "secret.txt").write_text("secret")
        for file in (folder / "home" / "secret.key", folder / "secret.txt"):
            self._given(file)

    def _given(self, path: Path) -> None:
        if AS_ROOT:
            facts = self.folder.stat()
            os.chown(path, facts.st_uid, facts.st_gid)

    def words(self, missing: str, *words: str) -> list[str]:
        lacking = [sys.executable, denied.__file__, missing] if missing else []
        return as_user(self.who, [*lacking, *words])

    def gateway(self, missing: str, *scripts: str, path: str = os.environ["PATH"], **settings: object) -> Told:
        done = subprocess.run(
            self.words(missing, sys.executable, gateway.__file__, str(self.folder), json.dumps(settings), *scripts),
            env={**os.environ, "PATH": path, "SECRET": "secret"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        level, *rest = (json.loads(line) for line in done.stdout.splitlines())
        return Told(level, [line for line in rest if "piece" not in line])

    def plainly(self, script: str) -> str:
        """What a script prints outside any sandbox."""
        words = as_user(self.who, ["bash", "-c", f"cd {self.folder}/workspace; {script}", "bash", str(self.folder)])
        return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False).stdout


@pytest.fixture(params=USERS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with own_folder(request.param) as folder:
        yield Place(request.param, folder)


def test_without_namespaces_it_is_degraded_and_says_why_with_every_result(place: Place) -> None:
    level, (ended,) = place.gateway("namespaces", "echo made > made.txt; cat made.txt; id -u > /dev/null")
    assert level["level"] == "degraded"
    assert level["missing"][0].startswith("no namespaces")
    assert (ended["code"], ended["stdout"], ended["stderr"]) == (0, "made\n", "")
    assert ended["sandbox"] == level["said"]
    assert (place.folder / "workspace" / "made.txt").read_text() == "made\n"


ATTACKS = {
    "read a file outside": 'cat "$1/secret.txt"',
    "read by dots": "cat ../secret.txt",
    "read through a symlink": 'ln -s "$1/secret.txt" link; cat link',
    "read through a hard link": 'ln "$1/secret.txt" hard && cat hard',
    "read the secret of the house": 'cat "$1/home/secret.key"',
    "list a folder outside": 'ls "$1/home" | sed s/.key//',
    "read the environment of the gateway": "cat /proc/$PPID/environ /proc/*/environ | tr '\\0' '\\n' | grep -a ^SECRET",
    "make a file outside": 'echo x > "$1/planted" && echo secret',
    "append to a file outside": 'echo x >> "$1/secret.txt" && echo secret',
    "cut a file outside": 'truncate -s 0 "$1/secret.txt" && echo secret',
    "remove a file outside": 'rm -f "$1/secret.txt" && echo secret',
    "rename a file outside": 'mv "$1/secret.txt" "$1/renamed.txt" && echo secret',
    "change the mode of a file outside": 'chmod 777 "$1/secret.txt" && echo secret',
    "change the times of a file outside": 'touch -d @1 "$1/secret.txt" && echo secret',
    "make a folder outside": 'mkdir "$1/planted" && echo secret',
    "make a symlink outside": 'ln -s / "$1/planted" && echo secret',
    "make a set-user-id file": "cp /bin/true new && chmod 4755 new && [ -u new ] && echo secret",
    "make the settings of the house": 'echo x > "$1/home/doorward.toml" && echo secret',
    "use the temporary folder of everybody": "echo x > /tmp/$$-planted && rm /tmp/$$-planted && echo secret",
    "use the shared memory of everybody": "echo x > /dev/shm/$$-planted && rm /dev/shm/$$-planted && echo secret",
}


def test_without_namespaces_files_outside_stay_out_of_reach(place: Place) -> None:
    scripts = list(ATTACKS.values())
    _, ended = place.gateway("namespaces", *scripts)
    assert [name for name, one in zip(ATTACKS, ended, strict=True) if "secret" in one["stdout"]] == []
    assert sorted(path.name for path in place.folder.iterdir()) == ["home", "secret.txt", "workspace"]
    assert (place.folder / "secret.txt").read_text() == "secret"


_EACH = """
base=$1; shift
for script; do
    folder=$(mktemp -d -p "$base"); mkdir "$folder/home" "$folder/workspace"
    echo secret > "$folder/secret.txt"; echo secret > "$folder/home/secret.key"
    cd "$folder/workspace"
    SECRET=secret bash -c "$script" bash "$folder" 2>/dev/null | grep -q secret && echo reached || echo held
done
"""
"""Runs each of its arguments in a place of its own, without a sandbox."""


def test_the_same_scripts_reach_them_without_a_sandbox(place: Place) -> None:
    done = subprocess.run(
        as_user(place.who, ["bash", "-c", _EACH, "bash", str(place.folder), *ATTACKS.values()]),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert [name for name, word in zip(ATTACKS, done.stdout.split(), strict=True) if word != "reached"] == []


PYTHON = Path(os.path.realpath(sys.executable))

_SOCKETS = {
    "connect to a named socket": """socket.socket(1).connect("\\0{name}")""",
    "connect to a socket with a path": """socket.socket(1).connect("{path}")""",
    "send a letter": """socket.socket(1, 2).sendto(b"x", "\\0{name}-letters")""",
    "send a letter from one of a pair": """socket.socketpair(1, 2)[0].sendto(b"x", "\\0{name}-letters")""",
}
REACHING = {
    "connect to a port": "exec 3<>/dev/tcp/127.0.0.1/{tcp} && echo x >&3",
    "send a datagram": "echo x > /dev/udp/127.0.0.1/{udp}",
    **{name: f"{{python}} -c 'import socket; {code}'" for name, code in _SOCKETS.items()},
}


@contextlib.contextmanager
def listening(place: Place) -> Iterator[tuple[Any, dict[str, str]]]:
    with Listeners(place.folder / "sock", f"name-{secrets.token_hex(8)}") as listeners:
        (place.folder / "sock").chmod(0o777)
        facts = listeners.addresses
        yield (
            listeners,
            {
                "tcp": str(facts["tcp"]),
                "udp": str(facts["udp"]),
                "name": facts["abstract"],
                "path": str(facts["socket"]),
                "python": str(PYTHON),
            },
        )


def test_without_namespaces_nobody_is_reached(place: Place) -> None:
    with listening(place) as (listeners, facts):
        _, ended = place.gateway("namespaces", *(script.format(**facts) for script in REACHING.values()))
        assert not listeners.heard()
    assert 0 not in [one["code"] for one in ended]


def test_the_same_scripts_reach_somebody_without_a_sandbox(place: Place) -> None:
    with listening(place) as (listeners, facts):
        for script in REACHING.values():
            place.plainly(script.format(**facts))
            assert listeners.heard(), script


_DAEMON = "setsid bash -c \"trap '' TERM HUP; exec -a MARKER sleep 100\" >/dev/null 2>&1 &"
STAYING = {
    "after its end": (f"{_DAEMON} echo done", ""),
    "after its time": (f"{_DAEMON} sleep 100", "time"),
    "after many deaths": (f"( ( {_DAEMON} ) & {_DAEMON} ) & wait; echo done", ""),
}


@pytest.mark.parametrize("when", STAYING)
def test_without_namespaces_nothing_of_a_program_stays(when: str, place: Place) -> None:
    marker = f"marker-{secrets.token_hex(8)}"
    script, stopped = STAYING[when]
    _, (ended,) = place.gateway("namespaces", script.replace("MARKER", marker))
    assert ended["stopped"] == stopped
    assert processes(marker) == []


def test_the_same_daemon_stays_without_a_sandbox(place: Place) -> None:
    marker = f"marker-{secrets.token_hex(8)}"
    place.plainly(_DAEMON.replace("MARKER", marker))
    assert wait_until(lambda: processes(marker) != [])
    for process in processes(marker):
        os.kill(process, signal.SIGKILL)


def test_without_namespaces_nothing_survives_a_gateway_that_is_killed(place: Place) -> None:
    marker = f"marker-{secrets.token_hex(8)}"
    script = f"(trap '' TERM HUP; setsid sleep 100) & echo ready; wait # {marker}"
    words = place.words("namespaces", sys.executable, gateway.__file__, str(place.folder), "{}", script)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any("ready" in line for line in process.stdout)
        helpers = list(descendants(process.pid))
        assert processes(marker)
        process.kill()
    assert wait_until(lambda: not any(Path(f"/proc/{helper}/cmdline").exists() for helper in helpers))
    place.gateway("namespaces", "true")
    assert [path.name for path in (place.folder / "home").iterdir()] == ["secret.key"]


def test_without_namespaces_a_program_that_kills_its_helper_does_not_get_away(place: Place) -> None:
    marker = f"marker-{secrets.token_hex(8)}"
    script = f"kill -9 $PPID; (trap '' TERM HUP; setsid sleep 100) & sleep 100 # {marker}"
    _, (first, second) = place.gateway("namespaces", script, "echo works")
    assert wait_until(lambda: processes(marker) == []), first
    assert second["stdout"] == "works\n"


def test_without_namespaces_programs_end_with_the_sandbox_that_is_closed(place: Place) -> None:
    marker = f"marker-{secrets.token_hex(8)}"
    script = f"(trap '' TERM HUP; setsid sleep 100) & echo ready; wait # {marker}"
    _, (ended,) = place.gateway("namespaces", script, closes=True)
    assert ended["refused"] == "CommandFailed"
    assert processes(marker) == []


def test_without_namespaces_signals_reach_nobody_else(place: Place) -> None:
    victim = subprocess.Popen(as_user(place.who, ["sleep", "100"]))
    try:
        scripts = [f"kill -{number} {target}" for number in ("KILL", "STOP") for target in (victim.pid, "-- -1")]
        _, ended = place.gateway("namespaces", *scripts)
        assert 0 not in [one["code"] for one in ended]
        assert victim.poll() is None
        assert Path(f"/proc/{victim.pid}/stat").read_text().split()[2] == "S"
    finally:
        victim.kill()
        victim.wait()


def test_without_namespaces_no_call_that_names_a_process_changes_one_outside() -> None:
    (numbers,) = (machine.numbers for machine in load_machines() if machine.name == os.uname().machine)
    show = "; ".join(f"{words} $1" for words in ("prlimit --pid", "taskset -p", "chrt -p", "ionice -p"))
    with own_folder(USERS[-1]) as folder:
        place = Place(USERS[-1], folder)
        victim = subprocess.Popen(as_user(place.who, ["sleep", "100"]))
        try:
            look = f"show() {{ {show}; }}; show {victim.pid}; show $2"
            given = json.dumps({"numbers": numbers, "victim": victim.pid, "seed": 2024})
            (folder / "workspace" / "naming_processes.py").write_bytes(Path(naming_processes.__file__).read_bytes())
            tried = f"{PYTHON} -I -S naming_processes.py {shlex.quote(given)} $2"
            _, (before, fuzzed, after) = place.gateway("namespaces", look, tried, look, seconds=PATIENCE)
            assert (fuzzed["code"], fuzzed["stdout"]) == (0, "tried\n"), fuzzed
            assert before["stdout"].count("affinity") == 2, before
            assert after["stdout"] == before["stdout"]
            assert victim.poll() is None
            assert Path(f"/proc/{victim.pid}/stat").read_text().split()[2] == "S"
        finally:
            victim.kill()
            victim.wait()


def test_less_than_full_is_refused_when_full_is_required(place: Place) -> None:
    level, (refused,) = place.gateway("namespaces", "echo ran > ran", required=True)
    assert level["level"] == "degraded"
    assert refused["refused"] == "SandboxUnavailable"
    assert "sandbox.required" in refused["said"]
    assert "no namespaces" in refused["said"]
    assert not (place.folder / "workspace" / "ran").exists()


def test_full_is_not_refused_when_it_is_required(place: Place) -> None:
    level, (ended,) = place.gateway("", "echo ran", required=True)
    assert (level["level"], ended["stdout"]) == ("full", "ran\n")


def test_without_bubblewrap_it_is_degraded_and_says_how_to_install_it(place: Place) -> None:
    level, (ended,) = place.gateway("", "echo ran; cat ../secret.txt", path="/nowhere")
    assert level["level"] == "degraded"
    assert "bubblewrap is not installed" in level["said"]
    assert ended["stdout"] == "ran\n"
    _, (refused,) = place.gateway("", "echo ran", path="/nowhere", required=True)
    assert "apt install bubblewrap" in f"{refused['said']} {refused['hint']}"


def test_without_landlock_but_in_namespaces_it_is_degraded_and_holds(place: Place) -> None:
    level, ended = place.gateway("landlock", 'cat "$1/secret.txt"', "cat ../secret.txt", "echo x > /usr/x", "echo ran")
    assert level["level"] == "degraded"
    assert "Landlock" in level["said"]
    assert "namespaces" not in level["said"]
    assert [one["stdout"] for one in ended] == ["", "", "", "ran\n"]


def test_without_either_nothing_runs(place: Place) -> None:
    level, (refused,) = place.gateway("namespaces,landlock", "echo ran > ran")
    assert level["level"] == "off"
    assert refused["refused"] == "SandboxUnavailable"
    assert "allow_unconfined" in refused["hint"]
    assert not (place.folder / "workspace" / "ran").exists()


def test_without_either_programs_run_with_limits_alone_when_that_is_allowed(place: Place) -> None:
    _, (ended, large, slow) = place.gateway(
        "namespaces,landlock", "echo ran", "head -c 20M /dev/zero > large", "sleep 100", allow_unconfined=True
    )
    assert (ended["stdout"], ended["sandbox"].partition(":")[0]) == ("ran\n", "off")
    assert large["code"] != 0
    assert slow["stopped"] == "time"


def test_without_either_full_can_still_be_required(place: Place) -> None:
    _, (refused,) = place.gateway("namespaces,landlock", "echo ran", allow_unconfined=True, required=True)
    assert refused["refused"] == "SandboxUnavailable"
