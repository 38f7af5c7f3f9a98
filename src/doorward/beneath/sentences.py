"""What the system's errors mean, as sentences for whoever asked."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from doorward.errors import BadParams, CommandFailed, Conflict, DoorwardError, NotFound

_REFUSALS: dict[int, tuple[type[DoorwardError], str]] = {
    errno.ENOENT: (NotFound, "There is no {path} in the workspace; file/list shows what there is."),
    errno.ENOTDIR: (BadParams, "A part of {path} is no folder; give a path whose every part but the last is one."),
    errno.EISDIR: (BadParams, "{path} is a folder; give the path of a file."),
    errno.EXDEV: (BadParams, "{path} leads out of the workspace through a symlink; give one that stays inside."),
    errno.ELOOP: (BadParams, "{path} is a symlink that may not be followed here; name the file it stands for."),
    errno.ENAMETOOLONG: (BadParams, "A name in {path} is too long for this disk; names of up to 255 bytes are valid."),
    errno.ENXIO: (BadParams, "{path} is a pipe, socket or device; only regular files are valid."),
    errno.ENODEV: (BadParams, "{path} is a pipe, socket or device; only regular files are valid."),
    errno.EEXIST: (Conflict, "{path} appeared in the meantime; look again and retry."),
}
_FAILURES = {
    errno.EAGAIN: "its folders are being moved all the time; try again when that has ended",
    errno.EACCES: "its permissions, or those of its folder, do not allow it to this account",
    errno.EPERM: "its permissions, or those of its folder, do not allow it to this account",
    errno.EROFS: "the disk is mounted read-only",
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EFBIG: "the system does not allow files of that size",
    errno.EMFILE: "too many files are open; try again later",
    errno.ENFILE: "too many files are open; try again later",
}


@contextlib.contextmanager
def telling(doing: str, path: str) -> Iterator[None]:
    """Turn what the system says into a sentence of ours."""
    try:
        yield
    except OSError as error:
        code = error.errno or errno.EIO
        shown = repr(path)
        if code in _REFUSALS:
            refusal, sentence = _REFUSALS[code]
            raise refusal(sentence.format(path=shown)) from error
        why = _FAILURES.get(code, f"the system says {os.strerror(code)!r}")
        raise CommandFailed(f"Could not {doing} {shown}: {why}.") from error
