"""The system calls that sandboxed programs may make, with the reason for each group.

The worker that starts programs runs under the same filter, because a filter cannot be removed. Besides the calls that
programs need, it needs only `unshare` and `setns` for PID namespaces.
"""

from __future__ import annotations

from doorward.sandbox.seccomp.alone import ALONE, ALONE_WITH_NETWORK
from doorward.sandbox.seccomp.filter_files import FilterKind
from doorward.sandbox.seccomp.rules import (
    ALL_NAMESPACES,
    CREATES,
    FAMILIES,
    FAMILY_UNIX,
    NEW_PIDS,
    NODE_HARMLESS,
    NODE_KIND,
    PERSONALITY_LINUX,
    PERSONALITY_QUERY,
    PR_SET_MM,
    SET_ID,
    TERMINAL_INPUT,
    TYPE_MASK,
    TYPE_PACKET,
    ArgumentHasBits,
    ArgumentIs,
    ArgumentIsLong,
    CallDecision,
    CallGroup,
    collect_decisions,
    make_case,
)

ALLOWED = (
    CallGroup(
        "Read, write and manage files. Mounts and Landlock decide which files.",
        "read write close stat fstat lstat lseek pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 access"
        " faccessat faccessat2 pipe pipe2 dup dup2 dup3 sendfile copy_file_range splice tee vmsplice fcntl flock fsync"
        " fdatasync sync syncfs sync_file_range truncate ftruncate fallocate fadvise64 readahead cachestat getdents"
        " getdents64 getcwd chdir fchdir rename renameat renameat2 mkdir mkdirat rmdir link linkat unlink unlinkat"
        " symlink symlinkat readlink readlinkat chown fchown lchown fchownat umask utime utimes futimesat utimensat"
        " statfs fstatfs newfstatat statx setxattr lsetxattr fsetxattr setxattrat getxattr lgetxattr fgetxattr"
        " getxattrat listxattr llistxattr flistxattr listxattrat removexattr lremovexattr fremovexattr removexattrat"
        " inotify_init inotify_init1 inotify_add_watch inotify_rm_watch close_range memfd_create",
        "allow",
    ),
    CallGroup(
        "Wait for several events at once.",
        "poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd"
        " eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime io_setup io_destroy io_getevents"
        " io_submit io_cancel io_pgetevents",
        "allow",
    ),
    CallGroup(
        "Manage the program's own memory.",
        "mmap mprotect munmap brk mremap msync mincore madvise mlock mlock2 munlock mlockall munlockall mseal"
        " pkey_mprotect pkey_alloc pkey_free map_shadow_stack mbind set_mempolicy get_mempolicy"
        " set_mempolicy_home_node membarrier",
        "allow",
    ),
    CallGroup(
        "Start, wait for and end programs and threads, within limits set before the program starts.",
        "fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill pidfd_open pidfd_send_signal"
        " set_tid_address set_robust_list get_robust_list futex futex_waitv futex_wake futex_wait futex_requeue rseq"
        " arch_prctl restart_syscall getpid getppid gettid getpgid getpgrp setpgid getsid setsid",
        "allow",
    ),
    CallGroup(
        "Receive signals.",
        "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo"
        " rt_sigsuspend sigaltstack pause alarm getitimer setitimer",
        "allow",
    ),
    CallGroup(
        "Read clocks and sleep.",
        "nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times timer_create timer_settime"
        " timer_gettime timer_getoverrun timer_delete",
        "allow",
    ),
    CallGroup(
        "Resource limits and scheduling. Without capabilities a program can only lower them.",
        "getrlimit setrlimit prlimit64 getrusage getpriority setpriority ioprio_get ioprio_set sched_yield"
        " sched_setparam sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max"
        " sched_get_priority_min sched_rr_get_interval sched_setaffinity sched_getaffinity sched_setattr sched_getattr"
        " getcpu",
        "allow",
    ),
    CallGroup(
        "User and group ids. Without capabilities a program cannot change to another user.",
        "getuid geteuid getgid getegid setuid setgid setreuid setregid setresuid getresuid setresgid getresgid setfsuid"
        " setfsgid getgroups setgroups capget capset",
        "allow",
    ),
    CallGroup(
        "Further self-confinement. A second filter or Landlock ruleset can only restrict more.",
        "seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self",
        "allow",
    ),
    CallGroup(
        "Use sockets. The socket call decides which kinds exist, and namespaces decide what they reach.",
        "connect accept accept4 sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown bind listen getsockname"
        " getpeername setsockopt getsockopt",
        "allow",
    ),
    CallGroup("Harmless facts about the system.", "uname sysinfo getrandom", "allow"),
    CallGroup(
        "The kernel injects these calls when an administrator traces a program. Otherwise they fail.",
        "uretprobe uprobe",
        "allow",
    ),
)

CONDITIONAL = (
    CallGroup(
        "The worker gives each program its own PID namespace. Any other new namespace exposes parts of the kernel"
        " that otherwise only administrators can reach.",
        "unshare",
        "EPERM",
        (make_case("allow", ArgumentIsLong(0, NEW_PIDS)),),
    ),
    CallGroup(
        "The worker returns to its own PID namespace before it creates the next.",
        "setns",
        "EPERM",
        (make_case("allow", ArgumentIs(1, (NEW_PIDS,))),),
    ),
    CallGroup(
        "clone creates processes and threads, but could also create namespaces. The flags are in the lower half.",
        "clone",
        "allow",
        (make_case("EPERM", ArgumentHasBits(0, ALL_NAMESPACES)),),
    ),
    CallGroup(
        "PR_SET_MM changes how a process appears to observers. All other options are harmless or only restrict.",
        "prctl",
        "allow",
        (make_case("EPERM", ArgumentIs(0, (PR_SET_MM,))),),
    ),
    CallGroup(
        "Other personalities disable address randomization or make all memory executable.",
        "personality",
        "EPERM",
        (make_case("allow", ArgumentIs(0, (PERSONALITY_LINUX, PERSONALITY_QUERY))),),
    ),
    CallGroup(
        "These inject input into a terminal or change how its input is read. The kernel reads the request as 32 bits.",
        "ioctl",
        "allow",
        (make_case("EPERM", ArgumentIs(1, TERMINAL_INPUT)),),
    ),
    CallGroup(
        "Programs may create files, pipes and sockets, but not devices or set-user-id files.",
        "mknod",
        "EPERM",
        (make_case("EPERM", ArgumentHasBits(1, SET_ID)), make_case("allow", ArgumentIs(1, NODE_HARMLESS, NODE_KIND))),
    ),
    CallGroup(
        "The same rule, relative to a folder descriptor.",
        "mknodat",
        "EPERM",
        (make_case("EPERM", ArgumentHasBits(2, SET_ID)), make_case("allow", ArgumentIs(2, NODE_HARMLESS, NODE_KIND))),
    ),
    CallGroup(
        "A file with a set-user-id or set-group-id bit in a workspace would give its owner's rights to anybody who"
        " runs it outside.",
        "chmod fchmod creat",
        "allow",
        (make_case("EPERM", ArgumentHasBits(1, SET_ID)),),
    ),
    CallGroup(
        "The same rule, relative to a folder descriptor.",
        "fchmodat fchmodat2",
        "allow",
        (make_case("EPERM", ArgumentHasBits(2, SET_ID)),),
    ),
    CallGroup(
        "The same rule when opening creates a file. Otherwise the kernel ignores the mode.",
        "open",
        "allow",
        (make_case("EPERM", ArgumentHasBits(1, CREATES), ArgumentHasBits(2, SET_ID)),),
    ),
    CallGroup(
        "The same rule, relative to a folder descriptor.",
        "openat",
        "allow",
        (make_case("EPERM", ArgumentHasBits(2, CREATES), ArgumentHasBits(3, SET_ID)),),
    ),
    CallGroup(
        "Kernel vulnerabilities are often in rarely used socket families. The type SOCK_PACKET is an old way to request"
        " raw packets through an ordinary family.",
        "socket",
        "EAFNOSUPPORT",
        (
            make_case("EAFNOSUPPORT", ArgumentIs(1, (TYPE_PACKET,), TYPE_MASK)),
            make_case("allow", ArgumentIs(0, FAMILIES)),
        ),
    ),
    CallGroup(
        "Socket pairs exist only in this family; other requests would only load kernel modules.",
        "socketpair",
        "EAFNOSUPPORT",
        (make_case("allow", ArgumentIs(0, (FAMILY_UNIX,))),),
    ),
)

REFUSED = (
    CallGroup(
        "Mounts are set up before a program starts and must not change.",
        "mount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick"
        " mount_setattr",
        "EPERM",
    ),
    CallGroup("Programs fall back to /proc when these are missing.", "statmount listmount listns", "ENOSYS"),
    CallGroup(
        "These inspect other processes or take their memory and descriptors.",
        "ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd move_pages migrate_pages",
        "EPERM",
    ),
    CallGroup(
        "Large parts of the kernel that ordinary programs do not need and that attacks are often built on.",
        "bpf perf_event_open userfaultfd modify_ldt fanotify_init fanotify_mark",
        "EPERM",
    ),
    CallGroup("Kernel keys belong to the account and are not namespaced.", "keyctl add_key request_key", "EPERM"),
    CallGroup(
        "Requests through an io_uring ring bypass seccomp filters.",
        "io_uring_setup io_uring_enter io_uring_register",
        "ENOSYS",
    ),
    CallGroup(
        "Their arguments are in memory, where a filter cannot see them. Libraries fall back to clone and openat.",
        "clone3 openat2",
        "ENOSYS",
    ),
    CallGroup(
        "This memory and these messages outlive the program and are not covered by its limits. Libraries share memory"
        " through files instead.",
        "shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink"
        " mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
        "ENOSYS",
    ),
    CallGroup(
        "A file handle opens a file without its path and bypasses mounts.",
        "open_by_handle_at name_to_handle_at",
        "EPERM",
    ),
    CallGroup(
        "System administration.",
        "kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff iopl ioperm"
        " settimeofday clock_settime clock_adjtime adjtimex acct quotactl quotactl_fd syslog sethostname setdomainname"
        " vhangup",
        "EPERM",
    ),
    CallGroup(
        "Memory that even the kernel cannot read, and an obsolete way to remap memory.",
        "memfd_secret remap_file_pages",
        "ENOSYS",
    ),
    CallGroup(
        "Too new or too special for programs to depend on.",
        "process_mrelease lsm_get_self_attr lsm_set_self_attr lsm_list_modules file_getattr file_setattr",
        "ENOSYS",
    ),
    CallGroup(
        "Obsolete calls, or calls that were never implemented.",
        "uselib sysfs ustat lookup_dcookie nfsservctl _sysctl create_module get_kernel_syms query_module getpmsg"
        " putpmsg afs_syscall tuxcall security vserver epoll_ctl_old epoll_wait_old set_thread_area get_thread_area",
        "ENOSYS",
    ),
)

FULL = ALLOWED + CONDITIONAL + REFUSED

LAYERS: dict[FilterKind, tuple[tuple[CallGroup, ...], ...]] = {
    "full": (FULL,),
    "alone": (FULL, ALONE),
    "alone-network": (FULL, ALONE, ALONE_WITH_NETWORK),
}
"""The layers of each kind of filter. When two layers name a call, the later one decides."""


def build_policy(kind: FilterKind) -> dict[str, CallDecision]:
    """The decision for every call that this kind of filter lists, by name."""
    return collect_decisions(LAYERS[kind])
