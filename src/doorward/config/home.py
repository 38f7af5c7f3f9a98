"""The home folder: all files that Doorward keeps on this machine, created on first use."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import msgspec

from doorward.core.errors import Overloaded, Unusable

KEY_BYTES = 32
_KEY_FILE = "secret.key"
_LOCK_FILE = "lock"
_UNFINISHED = (".????????.tmp", "*/.????????.tmp", "upstream-tokens/*.partial", "login-*.html")
"""Files that become others by a rename, and pages that open a login link."""


class Home(msgspec.Struct, frozen=True):
    """The paths in a home folder."""

    path: Path

    @property
    def database(self) -> Path:
        return self.path / "doorward.db"

    @property
    def recipes(self) -> Path:
        return self.path / "recipes"

    @property
    def personas(self) -> Path:
        return self.path / "personas"

    @property
    def settings(self) -> Path:
        return self.path / "doorward.toml"

    @property
    def address(self) -> Path:
        """The file in which a running server publishes its network address."""
        return self.path / "address"

    @property
    def socket(self) -> Path:
        return self.path / "doorward.sock"

    @property
    def mcp_socket(self) -> Path:
        """The socket on which a running server accepts MCP clients of other processes."""
        return self.path / "mcp.sock"

    def workspace(self, configured: str, tenant: str, local: str) -> Path:
        """The folder that a tenant's file commands work in. It shares nothing with the rest of the home folder."""
        if tenant != local:
            own = self.path / "tenants" / tenant / "workspace"
            folder = own
        else:
            own = self.path / "workspace"
            folder = Path(configured).expanduser().absolute() if configured else own
        overlap = self.describe_overlap(folder)
        if overlap and folder.resolve() != self.path.resolve().joinpath(*own.relative_to(self.path).parts):
            raise Unusable(
                f"The workspace {folder} {overlap}, which no command may read.",
                hint=f"Set files.workspace to a folder outside {self.path}, or leave it empty to use {own}.",
            )
        return folder

    def check_outside(self, folder: Path) -> None:
        """Raise if a folder that is to be a room's workspace is, contains or is inside the home folder."""
        if overlap := self.describe_overlap(folder):
            raise Unusable(
                f"The workspace {folder} {overlap}, which no command may read.",
                hint=f"Choose a folder outside {self.path}.",
            )

    def describe_overlap(self, folder: Path) -> str:
        """How a folder overlaps the home folder after symlinks are resolved, as a clause; empty if it does not."""
        real, home = folder.resolve(), self.path.resolve()
        if real == home:
            return f"is Doorward's home folder {home}"
        if home.is_relative_to(real):
            return f"contains Doorward's home folder {home}"
        return f"is in Doorward's home folder {home}" if real.is_relative_to(home) else ""

    def check_workspace(self, configured: str) -> None:
        """Raise if the configured workspace does not exist: a folder in place of a mistyped one would be empty."""
        folder = Path(configured).expanduser()
        if configured and not folder.is_dir():
            raise Unusable(
                f"The workspace {folder} {'is not a folder' if folder.exists() else 'does not exist'}.",
                hint=f"Create the folder, or correct files.workspace in {self.settings}.",
            )

    def has_no_recipes(self) -> bool:
        return not any(self.recipes.glob("*.json"))

    def create(self) -> None:
        """Create the folders, accessible to the owner only."""
        folders = (("home folder", self.path), ("recipe folder", self.recipes), ("persona folder", self.personas))
        for what, folder in folders:
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise Unusable(
                    f"The {what} {folder} cannot be created: {error.strerror}.",
                    hint="Set DOORWARD_HOME to a folder that this account may write to.",
                ) from error

    def remove_leftovers(self) -> None:
        """Remove unfinished files of a process that was killed. The caller holds the lock."""
        for pattern in _UNFINISHED:
            for file in self.path.glob(pattern):
                with contextlib.suppress(OSError):
                    file.unlink()

    def load_key(self) -> bytes:
        """The server's secret, created on first use. Without it no signature of this server can be verified."""
        file = self.path / _KEY_FILE
        try:
            key = _read_key(file)
        except FileNotFoundError:
            if self.database.exists():
                raise Unusable(
                    f"The secret {file} is missing, but the database was signed with it.",
                    hint="Restore the file from a backup, or start with another DOORWARD_HOME.",
                ) from None
            key = self._make_key(file)
        except OSError as error:
            raise Unusable(f"The secret {file} cannot be read: {error.strerror}.") from error
        if len(key) != KEY_BYTES or len(set(key)) < KEY_BYTES // 4:
            raise Unusable(
                f"The secret {file} is not {KEY_BYTES} random bytes.",
                hint="Restore the file from a backup; never choose a secret by hand.",
            )
        return key

    def _make_key(self, file: Path) -> bytes:
        """Create the secret atomically: a crash leaves no half-written file."""
        key = secrets.token_bytes(KEY_BYTES)
        partial = file.with_suffix(".partial")
        try:
            partial.unlink(missing_ok=True)
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as out:
                out.write(key)
                out.flush()
                os.fsync(out.fileno())
            partial.rename(file)
            fsync_folder(self.path)
        except OSError as error:
            raise Unusable(f"The secret {file} cannot be created: {error.strerror}.") from error
        return key


class HomeLock:
    """The lock of the one process that may write this home's database. The kernel frees it when that process ends."""

    def __init__(self, home: Home) -> None:
        self._file = home.path / _LOCK_FILE
        self._descriptor = -1

    def take(self) -> bool:
        """Try to take the lock; False when another process holds it."""
        try:
            descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Unusable(
                f"The lock {self._file} cannot be created: {error.strerror}.",
                hint="Make the home folder writable for this account.",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError as error:
            os.close(descriptor)
            raise Unusable(f"The lock {self._file} cannot be taken: {error.strerror}.") from error
        self.adopt(descriptor)
        return True

    def adopt(self, descriptor: int) -> None:
        """Take over a lock that an open file already holds, such as one that another process passed on."""
        self._descriptor = descriptor
        with contextlib.suppress(OSError):  # the process id is only for a message, and a full disk prevents writing it
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)

    @property
    def descriptor(self) -> int:
        """The open file that holds the lock. A process that inherits it holds the lock too, without a gap."""
        return self._descriptor

    def holder(self) -> str:
        """The process that holds the lock, for an error message."""
        try:
            return f"process {int(self._file.read_text())}"
        except (OSError, ValueError):
            return "another process"

    def busy_error(self) -> Overloaded:
        return Overloaded(
            f"This home folder is in use by {self.holder()}.",
            hint="Wait for it to end, or set DOORWARD_HOME to another folder.",
            retry_after=1.0,
        )

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> HomeLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def bind_private_socket(path: Path) -> socket.socket:
    """Bind a socket for the owner only. The caller holds the home's lock, so an existing file is a dead server's."""
    path.unlink(missing_ok=True)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        with short_path(path) as address:
            sock.bind(address)
        sock.listen(128)
        return sock
    except OSError as error:
        raise Unusable(f"The socket {path} cannot be created: {error.strerror}.") from error
    finally:
        os.umask(before)


@contextlib.contextmanager
def short_path(path: Path) -> Iterator[str]:
    """A path to a socket that fits the kernel's limit of 107 bytes, however long the home folder's path is."""
    if len(os.fsencode(path)) <= 107:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def fsync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk, such as a rename."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_key(file: Path) -> bytes:
    if file.stat().st_mode & 0o077:
        raise Unusable(f"The secret {file} can be read by other accounts.", hint=f"Run: chmod 600 {file}")
    return file.read_bytes()
