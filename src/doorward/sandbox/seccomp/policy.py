"""What programs may ask of the kernel inside the sandbox, with the reason for each group of calls.

The worker that starts programs lives under the same filter, since a filter can never be taken off again: it needs
`unshare` and `setns` for PID namespaces, and nothing else that a program could not be given.
"""

from __future__ import annotations

from doorward.sandbox.seccomp.alone import ALONE, ALONE_WITH_NETWORK
from doorward.sandbox.seccomp.constants import (
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
)
from doorward.sandbox.seccomp.rules import Decision, Group, Has, Is, IsLong, case, decisions
from doorward.sandbox.seccomp.shipped import Kind

ALLOWED = (
    Group(
        "Reading, writing and arranging files: which ones is decided by mounts and Landlock.",
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
    Group(
        "Waiting for several things at once.",
        "poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd"
        " eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime io_setup io_destroy io_getevents"
        " io_submit io_cancel io_pgetevents",
        "allow",
    ),
    Group(
        "A program's own memory.",
        "mmap mprotect munmap brk mremap msync mincore madvise mlock mlock2 munlock mlockall munlockall mseal"
        " pkey_mprotect pkey_alloc pkey_free map_shadow_stack mbind set_mempolicy get_mempolicy"
        " set_mempolicy_home_node membarrier",
        "allow",
    ),
    Group(
        "Starting programs and threads, waiting for them and ending them, within limits set before they start.",
        "fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill pidfd_open pidfd_send_signal"
        " set_tid_address set_robust_list get_robust_list futex futex_waitv futex_wake futex_wait futex_requeue rseq"
        " arch_prctl restart_syscall getpid getppid gettid getpgid getpgrp setpgid getsid setsid",
        "allow",
    ),
    Group(
        "Being told of things by signals.",
        "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo"
        " rt_sigsuspend sigaltstack pause alarm getitimer setitimer",
        "allow",
    ),
    Group(
        "Reading clocks, and sleeping.",
        "nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times timer_create timer_settime"
        " timer_gettime timer_getoverrun timer_delete",
        "allow",
    ),
    Group(
        "Limits and the order in which programs get the processor; without capabilities they can only be narrowed.",
        "getrlimit setrlimit prlimit64 getrusage getpriority setpriority ioprio_get ioprio_set sched_yield"
        " sched_setparam sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max"
        " sched_get_priority_min sched_rr_get_interval sched_setaffinity sched_getaffinity sched_setattr sched_getattr"
        " getcpu",
        "allow",
    ),
    Group(
        "Who a program is. Without capabilities it can become nobody else.",
        "getuid geteuid getgid getegid setuid setgid setreuid setregid setresuid getresuid setresgid getresgid setfsuid"
        " setfsgid getgroups setgroups capget capset",
        "allow",
    ),
    Group(
        "Locking oneself in further: a second filter or a second set of Landlock rules can only take away.",
        "seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self",
        "allow",
    ),
    Group(
        "Using sockets. Which there can be is decided where they are made, and whom they reach by the namespaces.",
        "connect accept accept4 sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown bind listen getsockname"
        " getpeername setsockopt getsockopt",
        "allow",
    ),
    Group("Harmless facts about the system.", "uname sysinfo getrandom", "allow"),
    Group(
        "The kernel makes programs call these when an administrator traces them; called otherwise they fail.",
        "uretprobe uprobe",
        "allow",
    ),
)

ALLOWED_SOMETIMES = (
    Group(
        "The worker gives each program a PID namespace of its own. Any other new namespace opens parts of the kernel"
        " that only administrators can otherwise reach.",
        "unshare",
        "EPERM",
        (case("allow", IsLong(0, NEW_PIDS)),),
    ),
    Group(
        "The worker goes back to its own PID namespace before it makes the next.",
        "setns",
        "EPERM",
        (case("allow", Is(1, (NEW_PIDS,))),),
    ),
    Group(
        "Processes and threads are made with clone, and so could namespaces be. The flags are in the lower half.",
        "clone",
        "allow",
        (case("EPERM", Has(0, ALL_NAMESPACES)),),
    ),
    Group(
        "PR_SET_MM changes what a process looks like to those who watch it. All else either is harmless or narrows.",
        "prctl",
        "allow",
        (case("EPERM", Is(0, (PR_SET_MM,))),),
    ),
    Group(
        "Other personalities switch off the random placing of memory or make all of it executable.",
        "personality",
        "EPERM",
        (case("allow", Is(0, (PERSONALITY_LINUX, PERSONALITY_QUERY))),),
    ),
    Group(
        "These type into a terminal as if its owner did, or change how its input is read. The kernel takes the request"
        " as 32 bits.",
        "ioctl",
        "allow",
        (case("EPERM", Is(1, TERMINAL_INPUT)),),
    ),
    Group(
        "Files, pipes and sockets may be made, devices not; and a file made here has a mode like any other.",
        "mknod",
        "EPERM",
        (case("EPERM", Has(1, SET_ID)), case("allow", Is(1, NODE_HARMLESS, NODE_KIND))),
    ),
    Group(
        "The same with a folder before the name.",
        "mknodat",
        "EPERM",
        (case("EPERM", Has(2, SET_ID)), case("allow", Is(2, NODE_HARMLESS, NODE_KIND))),
    ),
    Group(
        "A file with a set-user-id or set-group-id bit, left in a workspace, would lend the rights of its owner to"
        " whoever runs it outside.",
        "chmod fchmod creat",
        "allow",
        (case("EPERM", Has(1, SET_ID)),),
    ),
    Group("The same with a folder before the name.", "fchmodat fchmodat2", "allow", (case("EPERM", Has(2, SET_ID)),)),
    Group(
        "The same when a file is made by opening it. Otherwise the mode means nothing, and may be anything.",
        "open",
        "allow",
        (case("EPERM", Has(1, CREATES), Has(2, SET_ID)),),
    ),
    Group(
        "The same with a folder before the name.",
        "openat",
        "allow",
        (case("EPERM", Has(2, CREATES), Has(3, SET_ID)),),
    ),
    Group(
        "Rarely used families of sockets are where holes in the kernel are found. An old way to ask for raw packets"
        " hides in the type of an ordinary family.",
        "socket",
        "EAFNOSUPPORT",
        (case("EAFNOSUPPORT", Is(1, (TYPE_PACKET,), TYPE_MASK)), case("allow", Is(0, FAMILIES))),
    ),
    Group(
        "Pairs of sockets exist in this family; asking for others only loads modules.",
        "socketpair",
        "EAFNOSUPPORT",
        (case("allow", Is(0, (FAMILY_UNIX,))),),
    ),
)

REFUSED = (
    Group(
        "The files a program sees are arranged before it starts, and stay so.",
        "mount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick"
        " mount_setattr",
        "EPERM",
    ),
    Group("Programs read the same from /proc when these are missing.", "statmount listmount listns", "ENOSYS"),
    Group(
        "Looking into other processes, and taking their memory and descriptors.",
        "ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd move_pages migrate_pages",
        "EPERM",
    ),
    Group(
        "Large parts of the kernel that ordinary programs do without, and that attacks on it are built from.",
        "bpf perf_event_open userfaultfd modify_ldt fanotify_init fanotify_mark",
        "EPERM",
    ),
    Group(
        "Keys of the kernel belong to the account, and no namespace holds them.", "keyctl add_key request_key", "EPERM"
    ),
    Group(
        "What is asked for through a ring in memory never passes a filter.",
        "io_uring_setup io_uring_enter io_uring_register",
        "ENOSYS",
    ),
    Group(
        "The arguments are in memory, where no filter can see them. Libraries fall back to clone and openat.",
        "clone3 openat2",
        "ENOSYS",
    ),
    Group(
        "Memory and messages that outlive the program and count towards none of its limits. Libraries share memory by"
        " files instead.",
        "shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink"
        " mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
        "ENOSYS",
    ),
    Group("A handle names a file without its path, past every mount.", "open_by_handle_at name_to_handle_at", "EPERM"),
    Group(
        "The machine belongs to its administrator.",
        "kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff iopl ioperm"
        " settimeofday clock_settime clock_adjtime adjtimex acct quotactl quotactl_fd syslog sethostname setdomainname"
        " vhangup",
        "EPERM",
    ),
    Group(
        "Memory that even the kernel cannot read, and memory mapped in an order that it no longer supports.",
        "memfd_secret remap_file_pages",
        "ENOSYS",
    ),
    Group(
        "Too new or too special for programs to depend on; they do without.",
        "process_mrelease lsm_get_self_attr lsm_set_self_attr lsm_list_modules file_getattr file_setattr",
        "ENOSYS",
    ),
    Group(
        "Left over from old kernels, or never there.",
        "uselib sysfs ustat lookup_dcookie nfsservctl _sysctl create_module get_kernel_syms query_module getpmsg"
        " putpmsg afs_syscall tuxcall security vserver epoll_ctl_old epoll_wait_old set_thread_area get_thread_area",
        "ENOSYS",
    ),
)

FULL = ALLOWED + ALLOWED_SOMETIMES + REFUSED

LAYERS: dict[Kind, tuple[tuple[Group, ...], ...]] = {
    "full": (FULL,),
    "alone": (FULL, ALONE),
    "alone-network": (FULL, ALONE, ALONE_WITH_NETWORK),
}
"""What each kind of filter is made of. Where two layers name a call, the later one decides."""


def policy(kind: Kind) -> dict[str, Decision]:
    """The decision on every call that this kind of filter knows, by its name."""
    return decisions(LAYERS[kind])
