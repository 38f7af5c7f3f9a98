"""One attack: a program that tries to get something it must not have, and how one sees that it got it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from arena import Arena

BEGUN, HELD, ESCAPED = "begun", "held:", "ESCAPED"

_MODULES = (
    "fcntl",
    "glob",
    "json",
    "mmap",
    "resource",
    "signal",
    "socket",
    "stat",
    "struct",
    "subprocess",
    "tarfile",
    "threading",
)
"""Loaded for the attacks that use them: hundreds of interpreters are started."""

_PROGRAM = """
import ctypes, os, MODULES, sys
T = TARGETS
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


class Held(Exception):
    pass


def checked(result, what=""):
    if result == -1:
        raise OSError(ctypes.get_errno(), what)
    return result


def call(name, *arguments):
    return checked(libc.syscall(ctypes.c_long(T["calls"][name]), *arguments), name)


def run(*words):
    import subprocess
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise Held(f"{words[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def others():
    return [name for name in os.listdir("/proc") if name.isdigit() and name != os.readlink("/proc/self")]


def show(path):
    try:
        print(open(path, "rb").read().replace(b"\\0", b"\\n").decode(errors="replace"))
    except (OSError, OverflowError):
        pass


def limit(kind, most):
    import resource
    try:
        resource.setrlimit(kind, (most, most))
    except ValueError as error:
        raise Held(str(error))


assert open("mine").read() == "mine"
print("begun", flush=True)
try:
    exec(compile(CODE, "attack", "exec"), globals())
except (OSError, MemoryError, RuntimeError, Held) as error:
    print("held:", repr(error))
"""
"""Around every attack: `T` are its targets. What stops it is said; a mistake in the attack itself is a traceback."""

Proof = Callable[["Arena", str], bool]
"""Whether an attack succeeded, from the state of things outside and what the attack printed."""


def says(_: Arena, output: str) -> bool:
    """The attack itself knows, and says so."""
    return ESCAPED in output


def reveals(arena: Arena, output: str) -> bool:
    """What it printed holds a secret that it was not given."""
    return any(secret in output for secret in arena.secrets)


def changes(arena: Arena, _: str) -> bool:
    """A file or folder outside the workspace is not as it was."""
    return arena.files_changed()


def reaches(arena: Arena, _: str) -> bool:
    """Somebody who listens outside heard something."""
    return arena.heard()


def harms(arena: Arena, output: str) -> bool:
    """A process of somebody else is not as it was. `apart.py` says so itself of the one it looks after."""
    return ESCAPED in output or arena.victim_changed()


def survives(arena: Arena, _: str) -> bool:
    """A process of the attack is there after its end."""
    return arena.survivors()


def lends_rights(arena: Arena, _: str) -> bool:
    """A set-user-id or set-group-id file lies in the workspace."""
    return arena.set_id_files()


def leaves(name: str) -> Proof:
    """There is a new name in the workspace."""
    return lambda arena, _: arena.in_workspace(name)


class Attack(NamedTuple):
    name: str
    code: str
    """Python. It raises OSError or Held when it is stopped."""
    proof: Proof = says
    who: Literal["all", "root", "lent"] = "all"
    """For whom it works outside the sandbox: everybody, root, or ordinary users where root lent them a program."""
    rare: bool = False
    """Whether some kernels are built or set up without what it uses, or lend it to no root of a container."""
    files: Literal["read", "write"] = "write"
    network: bool = False
    victim: bool = False
    """There is a process of the same user with secrets in its environment, its memory and its descriptors."""
    neighbour: str = ""
    """Another program that runs at the same time, in the same sandbox or beside the canary."""
    first: str = ""
    """A program that ran, and ended, before the attack; the attack looks for what it left."""
    apart: tuple[str, ...] = ()
    """Where the canary would do harm, or needs powers: the namespaces (options of unshare) that it runs in."""
    prepared: str = ""
    """A shell command that readies those namespaces for the canary."""
    poked: bool = False
    """Somebody outside tries to connect to the attack's port as long as it runs."""


def program(code: str, targets: dict[str, Any]) -> str:
    modules = ", ".join(("time", *(name for name in _MODULES if f"{name}." in code)))
    return _PROGRAM.replace("MODULES", modules).replace("CODE", repr(code)).replace("TARGETS", repr(targets))
