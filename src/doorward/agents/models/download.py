"""Download a GGUF file. The file appears under its name only when it is whole and checked."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
from pathlib import Path

from doorward.commands.agent_services import OnProgress
from doorward.config.home import fsync_folder
from doorward.core.errors import BadParams, CommandFailed, Conflict, Unreachable
from doorward.upstream.http_client import HttpAnswer, HttpClient, redact_url, split_url
from doorward.upstream.outbound import OutboundPolicy, is_loopback_host

MB = 1_000_000
_MAGIC = b"GGUF"
_PIECE_SECONDS = 60.0
_BLOCK = 8 * 1024 * 1024
_PART = ".part"


def check_address(url: str) -> None:
    """Raise `BadParams` unless a model may be downloaded from this address."""
    try:
        parts = split_url(url)
    except Unreachable as error:
        raise BadParams(str(error)) from None
    if parts.scheme != "https" and not is_loopback_host(parts.hostname or ""):
        raise BadParams(f"A model is downloaded only over https, or from this machine; given {redact_url(url)!r}.")


def prepare_target(target: Path) -> None:
    """Create the folder of a download, and remove what interrupted downloads left in it. This call blocks."""
    if target.exists():
        raise Conflict(f"{target} exists already.", hint=f"Add it with: doorward models add {target}")
    target.parent.mkdir(mode=0o700, exist_ok=True)
    for part in target.parent.glob(f"*{_PART}"):
        part.unlink(missing_ok=True)


async def download_model(
    url: str, target: Path, sha256: str, outbound: OutboundPolicy, *, keep_free: int, progress: OnProgress
) -> str:
    """Download a file to `target` and return its checksum. Nothing is left behind if that fails."""
    check_address(url)
    part = target.with_name(target.name + _PART)
    client = HttpClient(outbound, url)
    try:
        answer = await client.request("GET", url, {"Accept": "application/octet-stream"})
        size = _check_answer(answer, url)
        _check_space(target.parent, size or 0, keep_free)
        found = await _save(answer, part, size, keep_free, progress)
        if sha256 and found != sha256:
            raise CommandFailed(f"The downloaded file has another checksum: expected sha256 {sha256}, got {found}.")
        os.replace(part, target)
        fsync_folder(target.parent)
        return found
    except Unreachable as error:
        raise CommandFailed(f"The model could not be downloaded: {error}") from None
    except OSError as error:
        raise CommandFailed(f"The model could not be stored in {target.parent}: {error.strerror}.") from None
    finally:
        client.close()
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def hash_file(file: Path, progress: OnProgress) -> str:
    """Return the checksum of a file. This call blocks."""
    total, done, found = file.stat().st_size, 0, hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(_BLOCK):
            found.update(block)
            done += len(block)
            progress(done / max(total, 1), f"checking {done // MB} of {total // MB} MB")
    return found.hexdigest()


def _check_answer(answer: HttpAnswer, url: str) -> int | None:
    """Return the announced size; None if there is none. Raises `CommandFailed` if there is no file to download."""
    if answer.status != 200:
        raise CommandFailed(
            f"The model could not be downloaded: {redact_url(url)} answers with status {answer.status}."
        )
    if answer.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise CommandFailed("The model could not be downloaded: the server compresses it although it was asked not to.")
    announced = answer.headers.get("content-length", "")
    return int(announced) if announced.isascii() and announced.isdigit() and len(announced) < 16 else None


def _check_space(folder: Path, needed: int, keep_free: int) -> None:
    free = shutil.disk_usage(folder).free - keep_free
    if needed > free:
        raise CommandFailed(
            f"There is not enough space in {folder}: the model has {needed // MB} MB, and {max(free, 0) // MB} MB can "
            f"be used ({keep_free // MB} MB stay free)."
        )


async def _save(answer: HttpAnswer, part: Path, size: int | None, keep_free: int, progress: OnProgress) -> str:
    done, checked, head = 0, 0, b""
    with contextlib.closing(_PartFile(part)) as stored:
        pieces = answer.pieces()
        while True:
            try:
                async with asyncio.timeout(_PIECE_SECONDS):
                    piece = await anext(pieces, b"")
            except TimeoutError:
                raise CommandFailed(f"The server sent nothing for {_PIECE_SECONDS:g} seconds.") from None
            if not piece:
                break
            if len(head) < len(_MAGIC):
                head += piece[: len(_MAGIC)]
                if not _MAGIC.startswith(head[: len(_MAGIC)]):
                    raise CommandFailed("The address does not lead to a GGUF file: those begin with the letters GGUF.")
            done += len(piece)
            if done - checked > _BLOCK:
                checked = done
                _check_space(part.parent, 0, keep_free)
            await asyncio.to_thread(stored.write, piece)
            progress(done / size if size else None, f"{done // MB} of {size // MB} MB" if size else f"{done // MB} MB")
        found = await asyncio.to_thread(stored.finish)
    if size is not None and done != size:
        raise CommandFailed(f"The download is not complete: {done} of {size} bytes arrived.")
    if len(head) < len(_MAGIC):
        raise CommandFailed("The address does not lead to a GGUF file: it is empty or too short.")
    return found


class _PartFile:
    """A file that is being written, with its checksum. Everything here blocks."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._file = open(descriptor, "wb")  # noqa: SIM115 - closed by `close`
        self._sum = hashlib.sha256()

    def write(self, piece: bytes) -> None:
        self._file.write(piece)
        self._sum.update(piece)

    def finish(self) -> str:
        """Write everything to the disk and return the checksum."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._sum.hexdigest()

    def close(self) -> None:
        self._file.close()
