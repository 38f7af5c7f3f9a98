"""Programs that stay, as root and as an ordinary user, on machines with and without namespaces and Landlock."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import denied
import keeper_host
import ordinary
import pytest
from kept_place import alive, own_place
from listeners import Listeners
from sandboxes import descendants, processes
from users import AS_ROOT, USERS, as_user

from waiting import PATIENCE, wait_until

BESIDE_TESTS = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
"""Where a host of its own finds what tests share."""
EVERYWHERE = ["", "namespaces"]
"""What a machine lacks: nothing, or what most containers deny."""

FILES = """
cat "$1/read/given.txt"; echo kept > "$HOME/kept"; cat "$HOME/kept"
echo made > "$1/write/made.txt"; cat "$1/write/made.txt"; echo x > "$TMPDIR/file" && cat "$TMPDIR/file"
exec 2>/dev/null
cat "$1/secret.txt" "$1/home/secret.key" "$1/read/../secret.txt" "$HOME/../../secret.key"
ln -s "$1/secret.txt" "$HOME/link"; cat "$HOME/link"; ln "$1/secret.txt" "$HOME/hard" && cat "$HOME/hard"
echo planted > "$1/planted" && echo planted; echo planted >> "$1/read/given.txt" && echo planted
echo planted > "$1/home/doorward.toml" && echo planted; rm "$1/secret.txt" && echo planted
exec 3<>/dev/tcp/127.0.0.1/$(cat "$1/read/port") && echo reached
true
"""
DAEMON = "(setsid bash -c \"trap '' TERM HUP; exec -a MARKER sleep 100\" </dev/null &>/dev/null &);"
LEAVING = {
    "one that ends by itself": f"{DAEMON} echo done",
    "one that ignores everything": f"{DAEMON} echo done; exec >&-; trap '' TERM HUP; while :; do sleep 100; done",
    "one that kills what started it": f"{DAEMON} echo done; exec >&-; kill -9 $PPID; sleep 100",
}


class Machine:
    """A folder of one user's, and a host there that may lack something."""

    def __init__(self, who: str, folder: Path) -> None:
        self.who = who
        self.folder = folder
        for name in ("home", "read", "write"):
            (folder / name).mkdir(mode=0o700)
        self._file("home/secret.key", "secret")
        self._file("secret.txt", "secret")
        self._file("read/given.txt", "given\n")
        for path in (folder / name for name in ("home", "read", "write")):
            self._given(path)

    def _file(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        self._given(self.folder / name)

    def _given(self, path: Path) -> None:
        if AS_ROOT:
            facts = self.folder.stat()
            os.chown(path, facts.st_uid, facts.st_gid)

    def port(self, number: int) -> None:
        self._file("read/port", str(number))

    def words(self, missing: str, settings: dict[str, Any], *scripts: str) -> list[str]:
        lacking = [sys.executable, denied.__file__, missing] if missing else []
        host = [sys.executable, keeper_host.__file__, str(self.folder), json.dumps(settings), *scripts]
        return as_user(self.who, [*lacking, *host])

    def host(self, missing: str, *scripts: str, **settings: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """What it said of its level, and of each program."""
        words = self.words(missing, settings, *scripts)
        done = subprocess.run(words, env=BESIDE_TESTS, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
        level, *rest = (json.loads(line) for line in done.stdout.splitlines())
        return level, rest


@pytest.fixture(params=USERS)
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    with own_place() as folder:
        if AS_ROOT and request.param == "user":
            os.chown(folder, ordinary.USER, ordinary.USER)
        yield Machine(request.param, folder)


@pytest.mark.parametrize("missing", EVERYWHERE)
def test_files_and_others_stay_out_of_reach_and_nothing_is_left(missing: str, machine: Machine) -> None:
    marker = f"marker-{secrets.token_hex(8)}"
    leaving = [script.replace("MARKER", marker) for script in LEAVING.values()]
    name = f"name-{secrets.token_hex(8)}"
    with Listeners(machine.folder / "sock", name) as listeners:
        machine.port(listeners.addresses["tcp"])
        level, (files, *left) = machine.host(missing, FILES, *leaving, required=not missing)
        assert not listeners.heard()
    assert level["level"] == ("degraded" if missing else "full")
    assert files["out"] == "given\nkept\nmade\nx\n"
    assert (files["code"], files["level"]) == (0, level["said"])
    assert (machine.folder / "secret.txt").read_text() == "secret"
    assert (machine.folder / "write" / "made.txt").read_text() == "made\n"
    assert not (machine.folder / "planted").exists()
    assert [one["out"] for one in left] == ["done\n"] * len(LEAVING)
    assert wait_until(lambda: processes(marker) == [])


@pytest.mark.parametrize("missing", EVERYWHERE)
def test_nothing_survives_a_host_that_is_killed(missing: str, machine: Machine) -> None:
    marker = f"marker-{secrets.token_hex(8)}"
    script = f"{DAEMON.replace('MARKER', marker)} trap '' TERM HUP PIPE; echo ready; while :; do sleep 100; done"
    words = machine.words(missing, {"stays": True}, script)
    with subprocess.Popen(words, env=BESIDE_TESTS, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        assert any("ready" in line for line in host.stdout)
        helpers = list(descendants(host.pid))
        assert wait_until(lambda: len(processes(marker)) == 3), "the host, the program and its daemon"
        host.kill()
    assert wait_until(lambda: not any(map(alive, helpers)))
    assert wait_until(lambda: processes(marker) == [])


@pytest.mark.parametrize("machine", USERS[-1:], indirect=True)
def test_what_must_be_held_better_than_it_can_be_is_not_started(machine: Machine) -> None:
    _, (refused,) = machine.host("namespaces", "echo ran", required=True)
    assert refused["refused"] == "SandboxUnavailable"
    assert "sandbox.required" in refused["said"]
    level, (refused,) = machine.host("namespaces,landlock", "echo ran")
    assert (level["level"], refused["refused"]) == ("off", "SandboxUnavailable")
    assert "allow_unconfined" in refused["hint"]
    _, (ran,) = machine.host("namespaces,landlock", "echo ran", allow_unconfined=True)
    assert (ran["out"], ran["level"].partition(":")[0]) == ("ran\n", "off")


@pytest.mark.parametrize("machine", USERS[-1:], indirect=True)
def test_without_namespaces_the_network_can_be_granted(machine: Machine) -> None:
    with Listeners(machine.folder / "sock", f"name-{secrets.token_hex(8)}") as listeners:
        script = f"exec 3<>/dev/tcp/127.0.0.1/{listeners.addresses['tcp']} && echo x >&3"
        machine.host("namespaces", script, network=True)
        assert listeners.heard()
