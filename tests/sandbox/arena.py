"""Where attacks are tried: a house with secrets, people who listen, a process to harm, and a workspace amid them."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import hashlib
import os
import secrets
import shutil
import signal
import stat
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from attack import BEGUN, HELD, Attack, changes, program
from condition import Victim
from listeners import Listeners, poking

import apart
from doorward.sandbox import view
from doorward.sandbox.program import Program, SandboxProfile
from doorward.sandbox.sandbox import Sandbox
from doorward.sandbox.seccomp.machines import load_machines

_SECONDS = 120.0
_HERE = -100
_OF_THE_SANDBOX = ("probe-", "scratch-", "workspace")
"""Names in the home folder that are not secret, and that come and go."""


class Result(NamedTuple):
    escaped: bool
    ran: bool
    """Whether the attack was really tried, to its end or to where it was stopped."""
    said: str


class Arena:
    """For one user. Attacks are tried one after the other, each with everything put back in its place before it."""

    def __init__(self, base: Path, sandbox: Sandbox, secret: str) -> None:
        self._sandbox = sandbox
        self.home = base / "home"
        self.workspace = self.home / "workspace"
        self._outside = base / "outside"
        self._lent = base / "lent"
        """A set-user-id program of root's, if root could lay one there."""
        self._secret = secret
        self.secrets = [secret]
        self._marker = ""
        self._snapshot: dict[str, object] = {}
        self._victim: Victim | None = None
        self._neighbour = False
        (numbers,) = (machine.numbers for machine in load_machines() if machine.name == os.uname().machine)
        self._calls = {**numbers}
        self._python, self._prefix = view.find_python()

    async def outside(self, attack: Attack) -> Result:
        """The canary: the same program as the same user, without a sandbox."""
        async with self._staged(attack, inside=False) as targets:
            if attack.first:
                await asyncio.to_thread(self._plainly, attack, attack.first, {**targets, "left": self._secret})
            done = await asyncio.to_thread(self._plainly, attack, attack.code, targets)
            return self._result(attack, done.returncode, done.stdout, done.stderr)

    async def inside(self, attack: Attack) -> Result:
        async with self._staged(attack, inside=True) as targets:
            if attack.first:
                _, said, wrong = await self._confined(attack, attack.first, {**targets, "left": self._secret})
                assert said.startswith(BEGUN), wrong
                assert "Traceback" not in wrong, wrong
            code, out, err = await self._confined(attack, attack.code, targets)
            return self._result(attack, code, out, err)

    def files_changed(self) -> bool:
        return self._look() != self._snapshot

    def heard(self) -> bool:
        return self._listeners.heard()

    def victim_changed(self) -> bool:
        if self._neighbour and not any(_says(path, self._secret_of_process) for path in _command_lines()):
            return True
        return self._victim is not None and self._victim.changed()

    def survivors(self) -> bool:
        """Whether processes of the attack are left; they are ended."""
        found = [int(path.parent.name) for path in _command_lines() if _says(path, self._marker)]
        for process in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return bool(found)

    def set_id_files(self) -> bool:
        found = [path for path in self.workspace.rglob("*") if path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID)]
        return any(not path.is_dir() and path.name != "lent" for path in found)

    def in_workspace(self, name: str) -> bool:
        return (self.workspace / name).exists()

    @contextlib.asynccontextmanager
    async def _staged(self, attack: Attack, *, inside: bool) -> AsyncIterator[dict[str, Any]]:
        """Everything in its place, as this attack needs it; gives the attack's targets."""
        self._secret_of_process, self._secret_of_memory = secrets.token_hex(8), secrets.token_hex(8)
        self.secrets = [self._secret, self._secret_of_process, self._secret_of_memory]
        self._marker = f"marker-{secrets.token_hex(8)}"
        self._neighbour = bool(attack.neighbour)
        with self._placed(attack), contextlib.ExitStack() as stack:
            targets = self._targets(inside)
            if attack.victim:
                environment = {"SECRET": self._secret_of_process}
                file = str(self._outside / "secret.txt")
                marker = f"listed-{self._secret_of_process}"
                self._victim = Victim(file, self._secret_of_memory, environment, str(self._outside), marker)
                stack.callback(self._end_victim)
                targets |= {"victim": self._victim.id, "address": self._victim.address, "held": self._victim.held}
            if attack.proof is changes:
                self._snapshot = self._look()
            if attack.poked:
                stack.enter_context(poking(targets["free"]))
            async with self._beside(attack, targets, inside=inside):
                yield targets

    @contextlib.contextmanager
    def _placed(self, attack: Attack) -> Iterator[None]:
        if (self.workspace / "lent").exists():
            (self.workspace / "lent").rename(self._lent)
        for folder in (self._outside, self.workspace):
            _empty(folder)  # the folder itself stays: the sandbox holds it
        for path in self.home.iterdir():
            if path.is_file():
                path.unlink()
        in_home = (self.home / name for name in ("secret.key", "doorward.db", f"named-{self._secret}"))
        for file in (*in_home, self._outside / "secret.txt", self._outside / "movable.txt"):
            file.write_text(self._secret)
        (self.home / "recipes").mkdir(exist_ok=True)
        (self.workspace / "mine").write_text("mine")
        (self.workspace / "link").symlink_to(self._outside / "secret.txt")
        (self.workspace / "folder-link").symlink_to(self._outside)
        if self._lent.exists():
            self._lent.rename(self.workspace / "lent")
        if "T['code']" in attack.code or 'T["code"]' in attack.code:
            copy = self._outside / "inside"
            shutil.copytree(view.helper_code_folder(), copy, ignore=shutil.ignore_patterns("__pycache__"))
        with Listeners(self.home / "doorward.sock", f"doorward-{secrets.token_hex(8)}") as self._listeners:
            yield

    def _targets(self, inside: bool) -> dict[str, Any]:
        canary = self._outside / "secret.txt"
        return {
            "canary": str(canary),
            "relative": os.path.relpath(canary, self.workspace),
            "outside": str(self._outside),
            "movable": str(self._outside / "movable.txt"),
            "handle": _handle(canary),
            "home": str(self.home),
            "code": view.HELPER_CODE if inside else str(self._outside),
            "prefix": self._prefix,
            "temporary": "/tmp" if inside else str(self._outside),
            "marker": self._marker,
            "key": secrets.randbelow(1 << 30) + 1,
            "calls": self._calls,
            "inside": inside,
            **self._listeners.addresses,
        }

    @contextlib.asynccontextmanager
    async def _beside(self, attack: Attack, targets: dict[str, Any], *, inside: bool) -> AsyncIterator[None]:
        """Another program at the same time, with secrets of its own."""
        if not attack.neighbour:
            yield
            return
        own = {**targets, "private": self._secret_of_process}
        ready, loop = asyncio.Event(), asyncio.get_running_loop()
        environment = {"SECRET": self._secret_of_process}
        words = self._words(attack.neighbour, own)
        if inside:
            running = loop.create_task(
                self._sandbox.run(
                    self._profile(attack),
                    Program(argv=tuple(words), environment=environment, seconds=_SECONDS),
                    lambda _, piece: ready.set() if b"ready" in piece else None,
                )
            )
            await asyncio.wait_for(ready.wait(), _SECONDS)
            targets["candidates"] = list(range(1, 200))
            try:
                yield
            finally:
                running.cancel()
                await asyncio.wait([running])
            return
        process = await asyncio.to_thread(self._neighbour_outside, words, environment)
        targets["candidates"] = [process.pid]
        try:
            yield
        finally:
            process.terminate()
            process.communicate()

    def _neighbour_outside(self, words: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, cwd=self.workspace)
        assert process.stdout is not None
        while b"ready" not in (line := process.stdout.readline()):
            assert line, "the neighbour ended"
        return process

    def _words(self, code: str, targets: dict[str, Any]) -> list[str]:
        return [self._python, "-I", "-S", "-c", program(code, targets)]

    def _plainly(self, attack: Attack, code: str, targets: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        words = self._words(code, targets)
        if attack.apart:
            words = apart.command(attack.apart, attack.prepared, "--pid" in attack.apart, words)
        return subprocess.run(
            words,
            cwd=self.workspace,
            env={**os.environ, "PYTHON": self._python},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            close_fds=False,
            timeout=_SECONDS,
            check=False,
        )

    def _profile(self, attack: Attack) -> SandboxProfile:
        return SandboxProfile(str(self.workspace), attack.files, attack.network)

    async def _confined(self, attack: Attack, code: str, targets: dict[str, Any]) -> tuple[int | None, str, str]:
        ended = await self._sandbox.run(
            self._profile(attack), Program(argv=tuple(self._words(code, targets)), seconds=_SECONDS)
        )
        return ended.exit_code, ended.stdout.decode(errors="replace"), ended.stderr.decode(errors="replace")

    def _result(self, attack: Attack, code: int | None, out: str, err: str) -> Result:
        escaped = attack.proof(self, out)
        ran = out.startswith(BEGUN) and (code == 0 or code is None or HELD in out)
        return Result(escaped, ran, f"{out[-2000:]}{err[-2000:]}")

    def _end_victim(self) -> None:
        assert self._victim is not None
        self._victim.close()
        self._victim = None

    def _look(self) -> dict[str, object]:
        """What lies outside the workspace: each name with its kind, mode, times and content."""
        found: dict[str, object] = {}
        homely = (path for path in self.home.iterdir() if not path.name.startswith(_OF_THE_SANDBOX))
        for top in (self._outside, *homely):
            for path in (top, *(top.rglob("*") if top.is_dir() else ())):
                facts = path.lstat()
                content = hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b""
                times = facts.st_mtime_ns if path.is_file() else 0
                found[str(path)] = (facts.st_mode, facts.st_nlink if path.is_file() else 0, times, content)
        return found


def _empty(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _command_lines() -> Iterator[Path]:
    return Path("/proc").glob("[0-9]*/cmdline")


def _says(path: Path, text: str) -> bool:
    try:
        return text.encode() in path.read_bytes()
    except OSError:
        return False


def _handle(path: Path) -> list[Any]:
    """The kernel's own name of a file, which needs no path: its kind and its bytes."""
    space = (ctypes.c_uint32 * 34)(128)
    mount = ctypes.c_int()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.name_to_handle_at(_HERE, os.fsencode(path), ctypes.byref(space), ctypes.byref(mount), 0) < 0:
        raise OSError(ctypes.get_errno(), "name_to_handle_at")
    return [space[1], bytes(space)[8 : 8 + space[0]].hex()]
