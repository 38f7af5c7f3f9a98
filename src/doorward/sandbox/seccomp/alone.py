"""Extra restrictions without namespaces, when only Landlock and seccomp confine programs.

Landlock decides which files can be opened, created and removed. It does not control file metadata, it covers little of
sockets, and it does not cover other ways in which processes communicate.
"""

from __future__ import annotations

from doorward.sandbox.seccomp.rules import (
    ACCESS_MODE,
    CREATES,
    CUT_MASK,
    CUT_WHILE_READING,
    EVERYBODY,
    FAMILY_INET,
    FAMILY_INET6,
    FAMILY_UNIX,
    IO_PRIORITY_OF_GROUP,
    IO_PRIORITY_OF_PROCESS,
    NEITHER_READ_NOR_WRITE,
    OWN,
    OWNER_OF_SIGNALS,
    OWNER_OF_SOCKET_SIGNALS,
    PR_SCHED_CORE,
    PR_SET_MM,
    PRIORITY_OF_GROUP,
    PRIORITY_OF_PROCESS,
    REQUEST_KIND,
    REQUESTS_OF_FILES,
    REQUESTS_OF_TERMINALS_AND_SOCKETS,
    SET_ID,
    TERMINAL_INPUT,
    TYPE_MASK,
    TYPE_PACKET,
    TYPE_SEQUENCED,
    TYPE_STREAM,
    ArgumentHasBits,
    ArgumentIs,
    ArgumentIsLong,
    CallCase,
    CallGroup,
    make_case,
)


def _open_cases(flags: int, mode: int) -> tuple[CallCase, ...]:
    return (
        make_case("EPERM", ArgumentIs(flags, (NEITHER_READ_NOR_WRITE,), ACCESS_MODE)),
        make_case("EPERM", ArgumentIs(flags, (CUT_WHILE_READING,), CUT_MASK)),
        make_case("EPERM", ArgumentHasBits(flags, CREATES), ArgumentHasBits(mode, SET_ID)),
    )


ALONE = (
    CallGroup("Programs may not create or join namespaces.", "unshare setns", "EPERM"),
    CallGroup(
        "Landlock does not stop an owner from changing the mode, owner and attributes of any file.",
        "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat setxattr lsetxattr fsetxattr setxattrat"
        " removexattr lremovexattr fremovexattr removexattrat",
        "EPERM",
    ),
    CallGroup("It does not stop them from changing file times either.", "utime utimes futimesat", "EPERM"),
    CallGroup(
        "Times may be set on an open file, which Landlock has allowed. In that case the path argument is null.",
        "utimensat",
        "EPERM",
        (make_case("allow", ArgumentIsLong(1, 0)),),
    ),
    CallGroup(
        "Early versions of Landlock do not control truncation by path. Programs can use ftruncate on open files.",
        "truncate",
        "EPERM",
    ),
    CallGroup(
        "Early versions of Landlock also miss O_TRUNC on a file opened for reading, and no version checks a file opened"
        " for neither reading nor writing. Set-user-id and set-group-id bits are refused as in namespaces.",
        "open",
        "allow",
        _open_cases(1, 2),
    ),
    CallGroup("The same rule, relative to a folder descriptor.", "openat", "allow", _open_cases(2, 3)),
    CallGroup(
        "Some requests change the metadata of a file opened for reading, so only known requests pass.",
        "ioctl",
        "ENOTTY",
        (
            make_case("EPERM", ArgumentIs(1, (*TERMINAL_INPUT, *OWNER_OF_SOCKET_SIGNALS))),
            make_case("allow", ArgumentIs(1, REQUESTS_OF_TERMINALS_AND_SOCKETS, REQUEST_KIND)),
            make_case("allow", ArgumentIs(1, REQUESTS_OF_FILES)),
        ),
    ),
    CallGroup(
        "Watching a folder reveals names that Landlock would not let the program list. Programs fall back to polling.",
        "inotify_init inotify_init1",
        "ENOSYS",
    ),
    CallGroup("Without a network namespace, any socket could reach the network.", "socket", "EPERM"),
    CallGroup(
        "A connected pair reaches only itself. Datagram pairs could be redirected to a socket outside.",
        "socketpair",
        "EPERM",
        (make_case("allow", ArgumentIs(0, (FAMILY_UNIX,)), ArgumentIs(1, (TYPE_STREAM, TYPE_SEQUENCED), TYPE_MASK)),),
    ),
    CallGroup(
        "This sends a signal to all processes of the account. Landlock confines single signals since version 6.",
        "kill",
        "allow",
        (make_case("EPERM", ArgumentIs(0, (EVERYBODY,))),),
    ),
    CallGroup(
        "Without a PID namespace these name any process of the account. A program may read the limits of others, and"
        " change its own.",
        "prlimit64",
        "EPERM",
        (make_case("allow", ArgumentIs(0, (OWN,))), make_case("allow", ArgumentIsLong(2, 0))),
    ),
    CallGroup(
        "A program may change its own scheduling only.",
        "sched_setparam sched_setscheduler sched_setaffinity sched_setattr",
        "EPERM",
        (make_case("allow", ArgumentIs(0, (OWN,))),),
    ),
    CallGroup(
        "The same rule for priorities, of the caller or of its process group.",
        "setpriority",
        "EPERM",
        (make_case("allow", ArgumentIs(0, (PRIORITY_OF_PROCESS, PRIORITY_OF_GROUP)), ArgumentIs(1, (OWN,))),),
    ),
    CallGroup(
        "The same rule for disk priorities.",
        "ioprio_set",
        "EPERM",
        (make_case("allow", ArgumentIs(0, (IO_PRIORITY_OF_PROCESS, IO_PRIORITY_OF_GROUP)), ArgumentIs(1, (OWN,))),),
    ),
    CallGroup(
        "These requests let the kernel send signals to any process.",
        "fcntl",
        "allow",
        (make_case("EPERM", ArgumentIs(1, OWNER_OF_SIGNALS)),),
    ),
    CallGroup(
        "PR_SCHED_CORE groups any process with others for scheduling. PR_SET_MM is refused as in namespaces.",
        "prctl",
        "allow",
        (make_case("EPERM", ArgumentIs(0, (PR_SET_MM, PR_SCHED_CORE))),),
    ),
)

ALONE_WITH_NETWORK = (
    CallGroup(
        "Internet sockets are allowed; Unix sockets are not.",
        "socket",
        "EPERM",
        (
            make_case("EPERM", ArgumentIs(1, (TYPE_PACKET,), TYPE_MASK)),
            make_case("allow", ArgumentIs(0, (FAMILY_INET, FAMILY_INET6))),
        ),
    ),
)
