"""What the numbers about programs in the sandbox are compared with, and how processes are looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.apart import descendants, peak, resident, run_apart
from bench.sizes import Sizes

from bench import bare, spawn
from doorward.sandbox.program import SandboxProfile


def test_without_bubblewrap_only_what_needs_it_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = spawn.measure(tmp_path, Sizes(rounds=1, spawns=2))
    assert {"spawn_raw", "spawn", "spawn_gate", "spawn_of_raw", "spawns_of_raw"} <= set(found)
    assert not {"spawn_bwrap", "spawn_of_bwrap"} & set(found)


def test_a_bubblewrap_for_each_program_shows_it_the_workspace_and_not_the_machine(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "here").touch()
    looks = ("/bin/sh", "-c", f"test -e /workspace/here && ! test -e {tmp_path}")
    with bare.wrapped(SandboxProfile(str(workspace)), looks) as once:
        once()
        once()  # it can be run again


def test_a_program_that_fails_is_not_measured() -> None:
    with pytest.raises(RuntimeError, match="it ended with 1"):
        bare.run(("/usr/bin/false",))


def test_descendants_are_children_and_theirs() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); input()'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        found = descendants(os.getpid())
        assert child.pid in found
        (grandchild,) = descendants(child.pid)
        assert grandchild in found
        assert resident(grandchild) > 1
        child.communicate(b"\n")
    assert resident(grandchild) == 0


def test_the_peak_of_memory_is_remembered_when_it_is_given_back() -> None:
    held = bytearray(b"x" * 60_000_000)
    most = resident(os.getpid())
    del held
    assert resident(os.getpid()) < most - 40
    assert peak(os.getpid()) > most - 5


def test_a_measure_of_its_own_process_gives_back_what_it_prints(tmp_path: Path) -> None:
    before, after = run_apart("bench.leftovers", tmp_path / "home", 20)
    assert before[0] == after[0] >= 2
    assert before[1] == after[1]
