"""Setting up system packages, on made-up machines: a PATH that holds only what each of them has."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "setup" / "system.sh"
SH = shutil.which("sh") or "/bin/sh"
INSTALLS = 'case "$*" in *"{words}"*) ;; *) exit 0;; esac; printf "#!{sh}\\n" > "$BIN/bwrap"; chmod +x "$BIN/bwrap"'
"""The body of a package manager that works: bwrap is there afterwards."""


class Machine:
    """A folder as the whole PATH, with the few ordinary programs that the script uses."""

    def __init__(self, folder: Path, *, user: int = 0) -> None:
        self.bin = folder / "bin"
        self.log = folder / "log"
        self.stamp = folder / "tried"
        self.bin.mkdir()
        for name in ("env", "tail", "timeout", "chmod"):
            found = shutil.which(name)
            assert found is not None
            (self.bin / name).symlink_to(found)
        self.has("id", f"echo {user}")

    def has(self, name: str, body: str) -> None:
        """A program that notes how it was called, and does this."""
        file = self.bin / name
        note = "" if name == "id" else f'echo {name} "$@" >> "{self.log}"; '
        file.write_text(f'#!{SH}\n{note}BIN="{self.bin}"\n{body}\n')
        file.chmod(0o755)

    def set_up(self, package: str = "bubblewrap") -> str:
        """What the script says; it must not fail, nor keep anything from standard input."""
        done = subprocess.run(
            [SH, SCRIPT, package, self.stamp],
            env={"PATH": str(self.bin)},
            input="the answer to no question",
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == 0
        assert done.stdout == ""
        return done.stderr

    @property
    def called(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    @property
    def installed(self) -> bool:
        return (self.bin / "bwrap").exists()


MANAGERS = {
    "apt-get": "install -y --no-install-recommends bubblewrap",
    "dnf": "-y install bubblewrap",
    "pacman": "-S --noconfirm --needed bubblewrap",
    "apk": "add -q --no-cache bubblewrap",
    "zypper": "-n install bubblewrap",
}


@pytest.mark.parametrize("manager", MANAGERS)
def test_root_gets_it_from_the_package_manager_that_there_is(manager: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.has(manager, INSTALLS.format(words=MANAGERS[manager], sh=SH))
    said = machine.set_up()
    assert machine.installed
    assert "Installing bubblewrap" in said
    assert "degraded" not in said
    assert len(machine.called) == 1


def test_where_it_is_present_nothing_is_run_or_said(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.has("bwrap", "")
    machine.has("apt-get", "")
    assert machine.set_up() == ""
    assert machine.called == []
    assert not machine.stamp.exists()


def test_an_account_with_sudo_that_asks_no_password_installs_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000)
    machine.has("sudo", 'shift; [ "$1" = true ] || "$@"')
    machine.has("apt-get", INSTALLS.format(words="install", sh=SH))
    machine.set_up()
    assert machine.installed
    assert machine.called[0] == "sudo -n true"
    assert machine.called[1].startswith("sudo -n env DEBIAN_FRONTEND=noninteractive apt-get")


@pytest.mark.parametrize("sudo", ["", "exit 1"], ids=["no sudo", "sudo asks for a password"])
def test_an_account_that_may_not_install_is_told_what_is_missing_every_time(sudo: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path, user=1000)
    machine.has("apt-get", INSTALLS.format(words="install", sh=SH))
    if sudo:
        machine.has("sudo", sudo)
    for _ in range(2):
        said = machine.set_up()
        assert len(said.splitlines()) == 1
        assert "only root can install it" in said
        assert "sandbox is then degraded" in said
        assert "To install it: apt-get install bubblewrap" in said
    assert not [line for line in machine.called if line.startswith("apt-get")]


def test_without_a_package_manager_it_says_so(tmp_path: Path) -> None:
    said = Machine(tmp_path).set_up()
    assert "no package manager known here was found" in said
    assert "degraded" in said


def test_missing_lists_of_packages_are_fetched(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    works = INSTALLS.format(words="install", sh=SH)
    lists = tmp_path / "lists"
    machine.has("apt-get", f'case "$*" in *update*) : > {lists};; *) [ -e {lists} ] || exit 100;; esac\n{works}')
    machine.set_up()
    assert machine.installed
    assert [next(word for word in ("update", "install") if word in line) for line in machine.called] == [
        "install",
        "update",
        "install",
    ]


def test_an_installation_that_fails_is_explained_and_not_tried_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.has("dnf", "echo Reading; echo 'Error: no such host' >&2; exit 7")
    first = machine.set_up()
    assert "installing it ended with 7: Error: no such host" in first
    assert "To install it: dnf install bubblewrap" in first
    again = machine.set_up()
    assert "installing it failed before" in again
    assert str(machine.stamp) in again
    assert len(machine.called) == 1


def test_a_package_manager_is_given_no_input_and_only_some_time(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (machine.bin / "timeout").unlink()
    machine.has("timeout", 'shift; exec "$@"')
    machine.has("dnf", 'read -r answer && echo "took $answer"; exit 1')
    said = machine.set_up()
    assert "took" not in said
    assert machine.called[0].startswith("timeout 300 env dnf")


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_a_browser_of_any_known_name_is_enough(name: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.has(name, "")
    machine.has("apt-get", "")
    assert machine.set_up("chromium") == ""
    assert machine.called == []


def test_a_browser_that_is_missing_is_installed_and_given_the_time_it_takes(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (machine.bin / "timeout").unlink()
    machine.has("timeout", 'shift; exec "$@"')
    machine.has("apt-get", INSTALLS.format(words="chromium", sh=SH).replace("bwrap", "chromium"))
    assert machine.set_up("chromium").startswith("Installing chromium for the tests of the console")
    assert (machine.bin / "chromium").exists()
    assert machine.called[0].startswith("timeout 900 env")


def test_without_a_browser_it_says_which_tests_will_fail(tmp_path: Path) -> None:
    said = Machine(tmp_path, user=1000).set_up("chromium")
    assert "the tests that open the console in a real browser then fail" in said
    assert "To install it: apt-get install chromium" in said


@pytest.mark.parametrize(
    ("target", "packages"),
    [("run", ["bubblewrap"]), ("test", ["bubblewrap", "chromium", "nginx"])],
    ids=["run", "test"],
)
def test_both_commands_of_the_readme_set_up_what_they_need(target: str, packages: list[str]) -> None:
    steps = subprocess.run(
        ["make", "--dry-run", target], cwd=SCRIPT.parents[1], capture_output=True, text=True, check=True, env=os.environ
    ).stdout
    for package in ("bubblewrap", "chromium", "nginx"):
        assert (f"sh setup/system.sh {package} .venv/{package}-tried" in steps) is (package in packages)
