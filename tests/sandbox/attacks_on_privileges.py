"""Attacks that ask for more rights: of other users, of the administrator, of the kernel's rarely used parts."""

from __future__ import annotations

from attack import Attack, lends_rights, reveals

_PRIVATE = ("--mount", "--propagation", "private")
_POWERFUL = ("--fork",)
"""In no namespaces but, for an ordinary user, one in which it is root."""

_KINDS = {
    "mounts": 0x0002_0000,
    "host names": 0x0400_0000,
    "IPC": 0x0800_0000,
    "processes": 0x2000_0000,
    "network": 0x4000_0000,
    "cgroups": 0x0200_0000,
}

SET_ID_FILES = (
    Attack("make a set-user-id file by chmod", """os.chmod("mine", 0o4755)""", lends_rights),
    Attack("make a set-group-id file by chmod", """os.chmod("mine", 0o2755)""", lends_rights),
    Attack(
        "make a set-user-id file by its descriptor", """os.fchmod(os.open("mine", os.O_RDWR), 0o4755)""", lends_rights
    ),
    Attack("make a set-user-id file by fchmodat2", """call("fchmodat2", -100, b"mine", 0o4755, 0)""", lends_rights),
    Attack(
        "make a set-user-id file by opening it", """os.open("new", os.O_CREAT | os.O_WRONLY, 0o4755)""", lends_rights
    ),
    Attack("make a set-user-id file as a node", """os.mknod("new", stat.S_IFREG | 0o4755)""", lends_rights),
    Attack(
        "make a set-user-id file that has no name at first",
        """
nameless = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o4755)
call("linkat", -100, f"/proc/self/fd/{nameless}".encode(), -100, b"new", 0x400)
""",
        lends_rights,
    ),
    Attack(
        "make a set-user-id file with install", """run("install", "-m", "4755", "/bin/true", "new")""", lends_rights
    ),
    Attack(
        "unpack a set-user-id file",
        """
with tarfile.open("a.tar", "w") as archive:
    entry = tarfile.TarInfo("new"); entry.mode = 0o4755; archive.addfile(entry)
run("tar", "-xpf", "a.tar", "--no-same-owner")
""",
        lends_rights,
    ),
    Attack(
        "run a set-user-id program",
        """
if run("./lent", "-u").strip() == "0": print("ESCAPED")
""",
        who="lent",
    ),
    Attack(
        "give a file capabilities",
        """os.setxattr("mine", "security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))
print("ESCAPED")""",
        who="root",
        rare=True,
    ),
)

BECOMING = (
    Attack("become root", """os.setresuid(0, 0, 0); print("ESCAPED")""", apart=_POWERFUL),
    Attack("join the group of root", """os.setgroups([0]); print("ESCAPED")""", who="root"),
    Attack(
        "become root with su",
        """if run("su", "-c", "id -u").strip() == "0": print("ESCAPED")""",
        who="root",
        rare=True,
    ),
    Attack(
        "take all capabilities",
        """
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
sets = (ctypes.c_uint32 * 6)(1 << 21, 1 << 21, 0, 0, 0, 0)
checked(libc.capset(ctypes.byref(header), ctypes.byref(sets)), "capset"); print("ESCAPED")
""",
        apart=_POWERFUL,
    ),
    Attack(
        "hand on a capability",
        """
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
sets = (ctypes.c_uint32 * 6)(1 << 21, 1 << 21, 1 << 21, 0, 0, 0)
libc.capset(ctypes.byref(header), ctypes.byref(sets))
checked(libc.prctl(47, 2, 21, 0, 0), "ambient"); print("ESCAPED")
""",
        apart=_POWERFUL,
    ),
    Attack("make a user namespace", """checked(libc.unshare(0x10000000), "unshare"); print("ESCAPED")"""),
    Attack(
        "make a user namespace with a process",
        """
child = call("clone", 0x10000000 | signal.SIGCHLD, None, None, None, None)
if not child: os._exit(0)
os.waitpid(child, 0); print("ESCAPED")
""",
    ),
    Attack(
        "make a user namespace by clone3",
        """
asked = ctypes.create_string_buffer(struct.pack("8Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0))
child = call("clone3", asked, 64)
if not child: os._exit(0)
os.waitpid(child, 0); print("ESCAPED")
""",
    ),
    *(
        Attack(
            f"make a namespace of {name}",
            f"""checked(libc.unshare({flag}), "unshare"); print("ESCAPED")""",
            apart=_POWERFUL,
        )
        for name, flag in _KINDS.items()
    ),
    Attack("make namespaces with unshare", """run("unshare", "--user", "--map-root-user", "true"); print("ESCAPED")"""),
    Attack(
        "make a sandbox in the sandbox",
        """run("bwrap", "--unshare-user", "--ro-bind", "/", "/", "--proc", "/proc", "true"); print("ESCAPED")""",
    ),
    Attack(
        "join the namespaces of another process",
        """
checked(libc.setns(os.open(f"/proc/{T['victim']}/ns/mnt", os.O_RDONLY), 0), "setns"); print("ESCAPED")
""",
        who="root",
        victim=True,
    ),
    Attack(
        "join the namespaces of a process by its descriptor",
        """checked(libc.setns(os.pidfd_open(T["victim"]), 0x00020000), "setns"); print("ESCAPED")""",
        who="root",
        victim=True,
    ),
)

MOUNTING = (
    Attack(
        "mount a folder from outside",
        """
os.mkdir("here")
checked(libc.mount(T["outside"].encode(), b"here", None, ctypes.c_ulong(0x1000), None), "mount")
print(open("here/secret.txt").read())
""",
        reveals,
        apart=_PRIVATE,
    ),
    Attack(
        "mount a new file system",
        """checked(libc.mount(b"tmpfs", b".", b"tmpfs", ctypes.c_ulong(0), None), "mount"); print("ESCAPED")""",
        apart=_PRIVATE,
    ),
    Attack("mount with mount", """run("mount", "-t", "tmpfs", "tmpfs", "."); print("ESCAPED")""", apart=_PRIVATE),
    Attack(
        "mount another view of processes",
        """
checked(libc.mount(b"proc", b"/proc", b"proc", ctypes.c_ulong(0), None), "mount"); print("ESCAPED")
""",
        apart=("--mount", "--pid", "--fork"),
    ),
    Attack(
        "take a mount away that hides something",
        """
checked(libc.umount2(b"/proc", 2), "umount")
for other in others(): show(f"/proc/{other}/environ")
""",
        reveals,
        victim=True,
        apart=_PRIVATE,
        prepared="mount -t tmpfs tmpfs /proc",
    ),
    Attack("open a tree of mounts", """call("open_tree", -100, b"/", 0x8001); print("ESCAPED")""", apart=_PRIVATE),
    Attack("open a new file system", """call("fsopen", b"tmpfs", 0); print("ESCAPED")""", apart=_PRIVATE),
    Attack(
        "change the root of everything",
        """call("pivot_root", b".", b"."); print("ESCAPED")""",
        apart=_PRIVATE,
        prepared='mount --bind "$PWD" "$PWD"',
    ),
    Attack("change its own root", """os.chroot("."); print("ESCAPED")""", apart=_POWERFUL),
)

OF_THE_MACHINE = (
    Attack(
        "make a device",
        """os.mknod("device", stat.S_IFCHR | 0o666, os.makedev(1, 5)); print("ESCAPED")""",
        who="root",
        rare=True,
    ),
    Attack(
        "change the name of the machine",
        """checked(libc.sethostname(b"escaped", 7), "sethostname"); print("ESCAPED")""",
        apart=("--uts",),
    ),
    Attack(
        "set the clock",
        """time.clock_settime(time.CLOCK_REALTIME, time.time()); print("ESCAPED")""",
        who="root",
        rare=True,
    ),
    Attack(
        "arm the reset key",
        """
word = 0x89ABCDEF if open("/proc/sys/kernel/ctrl-alt-del").read().strip() == "1" else 0
call("reboot", ctypes.c_int(0xFEE1DEAD - (1 << 32)), 672274793, ctypes.c_uint(word), None); print("ESCAPED")
""",
        who="root",
        rare=True,
    ),
    Attack(
        "change a setting of the kernel",
        """
file = "/proc/sys/kernel/ctrl-alt-del"; value = open(file).read()
open(file, "w").write(value); print("ESCAPED")
""",
        who="root",
        rare=True,
    ),
    Attack(
        "read the log of the kernel",
        """call("syslog", 3, ctypes.create_string_buffer(100), 100); print("ESCAPED")""",
        who="root",
        rare=True,
    ),
    Attack(
        "keep a key in the kernel",
        """call("add_key", b"user", b"left", b"x", 1, -2); print("ESCAPED")""",
        rare=True,
    ),
    Attack(
        "join the keys of the session",
        """call("keyctl", 0, -4, 1); print("ESCAPED")""",
        rare=True,
    ),
    Attack(
        "load a program into the kernel",
        """call("bpf", 0, ctypes.create_string_buffer(struct.pack("5I", 2, 4, 4, 1, 0), 128), 128); print("ESCAPED")""",
        who="root",
        rare=True,
    ),
    Attack(
        "measure with the kernel's counters",
        """
asked = ctypes.create_string_buffer(struct.pack("IIQQQQQ", 1, 128, 1, 0, 0, 0, 1 << 5 | 1 << 6), 128)
call("perf_event_open", asked, 0, -1, -1, 0); print("ESCAPED")
""",
        rare=True,
    ),
    Attack(
        "handle page faults itself",
        """call("userfaultfd", 1); print("ESCAPED")""",
        rare=True,
    ),
    Attack(
        "ask through a ring in memory",
        """call("io_uring_setup", 1, ctypes.create_string_buffer(120)); print("ESCAPED")""",
        rare=True,
    ),
    Attack(
        "listen to all files",
        """call("fanotify_init", 0, 0); print("ESCAPED")""",
        who="root",
        rare=True,
    ),
    Attack("switch off the placing of memory", """call("personality", 0x0040000); print("ESCAPED")"""),
    Attack(
        "type into a terminal",
        """
ours, theirs = os.openpty()
child = os.fork()
if not child:
    os.setsid()
    try:
        fcntl.ioctl(theirs, 0x540E, 0)
        fcntl.ioctl(theirs, 0x5412, b"x")
    except OSError:
        os._exit(9)
    os._exit(0)
if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
    raise Held("TIOCSTI")
print("ESCAPED")
""",
        who="root",
        rare=True,
    ),
    Attack(
        "keep what a crash leaves",
        """limit(resource.RLIMIT_CORE, 1000000); print("ESCAPED")""",
    ),
    Attack("raise the limit of memory", """limit(resource.RLIMIT_AS, 1 << 33); print("ESCAPED")"""),
    Attack("raise the limit of files", """limit(resource.RLIMIT_NOFILE, 200); print("ESCAPED")"""),
    Attack(
        "raise its own importance",
        """os.setpriority(os.PRIO_PROCESS, 0, -5); print("ESCAPED")""",
        who="root",
        rare=True,
    ),
    Attack(
        "run before everybody else",
        """os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)); print("ESCAPED")""",
        who="root",
        rare=True,
    ),
)

PRIVILEGES = SET_ID_FILES + BECOMING + MOUNTING + OF_THE_MACHINE
