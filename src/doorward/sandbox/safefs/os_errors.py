"""Messages for file-system errors."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from doorward.core.errors import BadParams, CommandFailed, Conflict, DoorwardError, NotFound

_CALLER_ERRORS: dict[int, tuple[type[DoorwardError], str]] = {
    errno.ENOENT: (NotFound, "There is no {path} in the workspace; file/list shows what there is."),
    errno.ENOTDIR: (BadParams, "A part of {path} is not a folder; every part but the last must be a folder."),
    errno.EISDIR: (BadParams, "{path} is a folder; give the path of a file."),
    errno.EXDEV: (BadParams, "{path} leads out of the workspace through a symlink; give one that stays inside."),
    errno.ELOOP: (BadParams, "{path} is a symlink, which is not followed here; give the path of its target."),
    errno.ENAMETOOLONG: (BadParams, "A name in {path} is too long for this disk; names of up to 255 bytes are valid."),
    errno.ENXIO: (BadParams, "{path} is a pipe, socket or device; only regular files are valid."),
    errno.ENODEV: (BadParams, "{path} is a pipe, socket or device; only regular files are valid."),
    errno.EEXIST: (Conflict, "{path} was created in the meantime; read it and try again."),
}
_FAILURES = {
    errno.EAGAIN: "its folders keep being renamed; try again later",
    errno.EACCES: "the permissions of the file or its folder do not allow it for this account",
    errno.EPERM: "the permissions of the file or its folder do not allow it for this account",
    errno.EROFS: "the disk is mounted read-only",
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EFBIG: "the system does not allow files of that size",
    errno.EOVERFLOW: "a draft cannot copy files and folders that belong to another user or group than Doorward's own",
    errno.EMFILE: "too many files are open; try again later",
    errno.ENFILE: "too many files are open; try again later",
}


@contextlib.contextmanager
def translate_os_errors(doing: str, path: str) -> Iterator[None]:
    """Turn an OSError of the block into a Doorward error with a plain message."""
    try:
        yield
    except OSError as error:
        code = error.errno or errno.EIO
        shown = repr(path)
        if code in _CALLER_ERRORS:
            refusal, sentence = _CALLER_ERRORS[code]
            raise refusal(sentence.format(path=shown)) from error
        why = _FAILURES.get(code, f"the system reports {os.strerror(code)!r}")
        raise CommandFailed(f"Could not {doing} {shown}: {why}.") from error
