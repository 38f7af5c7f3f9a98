"""Extra restrictions without namespaces, when only Landlock and seccomp confine programs.

Landlock decides which files can be opened, created and removed. It does not control file metadata, it covers little of
sockets, and it does not cover other ways in which processes communicate.
"""

from __future__ import annotations

from doorward.sandbox.seccomp.constants import (
    ACCESS_MODE,
    CREATES,
    CUT_MASK,
    CUT_WHILE_READING,
    EVERYBODY,
    FAMILY_INET,
    FAMILY_INET6,
    FAMILY_UNIX,
    IO_PRIORITY_OF_USER,
    NEITHER_READ_NOR_WRITE,
    PRIORITY_OF_USER,
    REQUEST_KIND,
    REQUESTS_OF_FILES,
    REQUESTS_OF_TERMINALS_AND_SOCKETS,
    SET_ID,
    TERMINAL_INPUT,
    TYPE_MASK,
    TYPE_PACKET,
    TYPE_SEQUENCED,
    TYPE_STREAM,
)
from doorward.sandbox.seccomp.rules import Case, Group, Has, Is, IsLong, case


def _opening(flags: int, mode: int) -> tuple[Case, ...]:
    return (
        case("EPERM", Is(flags, (NEITHER_READ_NOR_WRITE,), ACCESS_MODE)),
        case("EPERM", Is(flags, (CUT_WHILE_READING,), CUT_MASK)),
        case("EPERM", Has(flags, CREATES), Has(mode, SET_ID)),
    )


ALONE = (
    Group("Programs may not create or join namespaces.", "unshare setns", "EPERM"),
    Group(
        "Landlock does not stop an owner from changing the mode, owner and attributes of any file.",
        "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat setxattr lsetxattr fsetxattr setxattrat"
        " removexattr lremovexattr fremovexattr removexattrat",
        "EPERM",
    ),
    Group("It does not stop them from changing file times either.", "utime utimes futimesat", "EPERM"),
    Group(
        "Times may be set on an open file, which Landlock has allowed. In that case the path argument is null.",
        "utimensat",
        "EPERM",
        (case("allow", IsLong(1, 0)),),
    ),
    Group(
        "Early versions of Landlock do not control truncation by path. Programs can use ftruncate on open files.",
        "truncate",
        "EPERM",
    ),
    Group(
        "Early versions of Landlock also miss O_TRUNC on a file opened for reading, and no version checks a file opened"
        " for neither reading nor writing. Set-user-id and set-group-id bits are refused as in namespaces.",
        "open",
        "allow",
        _opening(1, 2),
    ),
    Group("The same rule, relative to a folder descriptor.", "openat", "allow", _opening(2, 3)),
    Group(
        "Some requests change the metadata of a file opened for reading, so only known requests pass.",
        "ioctl",
        "ENOTTY",
        (
            case("EPERM", Is(1, TERMINAL_INPUT)),
            case("allow", Is(1, REQUESTS_OF_TERMINALS_AND_SOCKETS, REQUEST_KIND)),
            case("allow", Is(1, REQUESTS_OF_FILES)),
        ),
    ),
    Group(
        "Watching a folder reveals names that Landlock would not let the program list. Programs fall back to polling.",
        "inotify_init inotify_init1",
        "ENOSYS",
    ),
    Group("Without a network namespace, any socket could reach the network.", "socket", "EPERM"),
    Group(
        "A connected pair reaches only itself. Datagram pairs could be redirected to a socket outside.",
        "socketpair",
        "EPERM",
        (case("allow", Is(0, (FAMILY_UNIX,)), Is(1, (TYPE_STREAM, TYPE_SEQUENCED), TYPE_MASK)),),
    ),
    Group(
        "This sends a signal to all processes of the account. Landlock confines single signals since version 6.",
        "kill",
        "allow",
        (case("EPERM", Is(0, (EVERYBODY,))),),
    ),
    Group(
        "This changes all processes of the account.",
        "setpriority",
        "allow",
        (case("EPERM", Is(0, (PRIORITY_OF_USER,))),),
    ),
    Group(
        "This changes all processes of the account.",
        "ioprio_set",
        "allow",
        (case("EPERM", Is(0, (IO_PRIORITY_OF_USER,))),),
    ),
)

ALONE_WITH_NETWORK = (
    Group(
        "Internet sockets are allowed; Unix sockets are not.",
        "socket",
        "EPERM",
        (
            case("EPERM", Is(1, (TYPE_PACKET,), TYPE_MASK)),
            case("allow", Is(0, (FAMILY_INET, FAMILY_INET6))),
        ),
    ),
)
