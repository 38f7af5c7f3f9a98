"""What else is refused where there are no namespaces: the reach of programs is then kept by Landlock and this alone.

Landlock decides which files can be opened, made and removed. It does not see who looks at or changes the facts about
a file, and it knows little of sockets and nothing of the other ways in which processes talk.
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
    Group("There are no namespaces to make or to join.", "unshare setns", "EPERM"),
    Group(
        "Landlock lets an owner change the mode, owner and attributes of every file that there is.",
        "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat setxattr lsetxattr fsetxattr setxattrat"
        " removexattr lremovexattr fremovexattr removexattrat",
        "EPERM",
    ),
    Group("It lets them change the times as well.", "utime utimes futimesat", "EPERM"),
    Group(
        "Times can be set on a file that Landlock let be opened: then there is no name.",
        "utimensat",
        "EPERM",
        (case("allow", IsLong(1, 0)),),
    ),
    Group(
        "Early versions of Landlock do not see that a file is cut. Opened files can be, by ftruncate.",
        "truncate",
        "EPERM",
    ),
    Group(
        "Nor do they see it when the file is cut while it is opened for reading. And no version sees a file opened for"
        " neither reading nor writing. Set-user-id and set-group-id bits are refused as they are in namespaces.",
        "open",
        "allow",
        _opening(1, 2),
    ),
    Group("The same with a folder before the name.", "openat", "allow", _opening(2, 3)),
    Group(
        "Some requests change the facts about a file that was opened for reading, so only known ones pass.",
        "ioctl",
        "ENOTTY",
        (
            case("EPERM", Is(1, TERMINAL_INPUT)),
            case("allow", Is(1, REQUESTS_OF_TERMINALS_AND_SOCKETS, REQUEST_KIND)),
            case("allow", Is(1, REQUESTS_OF_FILES)),
        ),
    ),
    Group(
        "Watching a folder shows names in it that Landlock would not let be listed. Programs fall back to looking.",
        "inotify_init inotify_init1",
        "ENOSYS",
    ),
    Group("Without a network namespace every socket could reach out.", "socket", "EPERM"),
    Group(
        "A pair can talk to itself only. Pairs that send single messages could be pointed at a socket outside.",
        "socketpair",
        "EPERM",
        (case("allow", Is(0, (FAMILY_UNIX,)), Is(1, (TYPE_STREAM, TYPE_SEQUENCED), TYPE_MASK)),),
    ),
    Group(
        "One signal to all processes of the account. Landlock keeps single signals in, from its sixth version on.",
        "kill",
        "allow",
        (case("EPERM", Is(0, (EVERYBODY,))),),
    ),
    Group(
        "All processes of the account at once.", "setpriority", "allow", (case("EPERM", Is(0, (PRIORITY_OF_USER,))),)
    ),
    Group("The same.", "ioprio_set", "allow", (case("EPERM", Is(0, (IO_PRIORITY_OF_USER,))),)),
)

ALONE_WITH_NETWORK = (
    Group(
        "The network, and still no socket that is a file.",
        "socket",
        "EPERM",
        (
            case("EPERM", Is(1, (TYPE_PACKET,), TYPE_MASK)),
            case("allow", Is(0, (FAMILY_INET, FAMILY_INET6))),
        ),
    ),
)
