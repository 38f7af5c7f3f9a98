"""Attacks that use more than a program may have, outlive it, or leave something for the next one."""

from __future__ import annotations

from attack import Attack, reveals, survives

_IPC = ("--ipc",)
_MOUNTS = ("--mount",)
_IN_MEMORY = "mount -t tmpfs none ../../outside"
"""The canary's temporary folder is in memory, as a program's in the sandbox is: a disk takes files far more slowly."""

USING = (
    Attack("map 10 GB of memory", """mmap.mmap(-1, 10 << 30, mmap.MAP_PRIVATE | 0x4000); print("ESCAPED")"""),
    Attack("map 600 MB of memory", """mmap.mmap(-1, 600 << 20); print("ESCAPED")"""),
    Attack(
        "use 600 MB of memory in files without a name",
        """
held = []
for _ in range(10):
    memory = os.memfd_create("more"); held.append(memory)
    for _ in range(60): os.write(memory, bytes(1 << 20))
print("ESCAPED")
""",
    ),
    Attack(
        "keep 600 MB of memory in shared segments",
        """
libc.shmat.restype = ctypes.c_void_p
libc.shmget.argtypes = (ctypes.c_int, ctypes.c_size_t, ctypes.c_int)
for number in range(3):
    segment = checked(libc.shmget(0xD00 + number, 200 << 20, 0o1600), "shmget")
    at = libc.shmat(segment, None, 0)
    checked(-1 if at == 2**64 - 1 else 0, "shmat")
    ctypes.memset(at, 1, 200 << 20)
    libc.shmdt(ctypes.c_void_p(at))
print("ESCAPED")
""",
        apart=_IPC,
    ),
    Attack(
        "write a file of 10 GB",
        """os.pwrite(os.open("large", os.O_CREAT | os.O_WRONLY), b"x", 10 << 30); print("ESCAPED")""",
    ),
    Attack("grow a file to 10 GB", """os.truncate("mine", 10 << 30); print("ESCAPED")"""),
    Attack(
        "fill the temporary folder",
        """
for number in range(12):
    with open(f"{T['temporary']}/{number}", "wb") as file: file.write(bytes(9 << 20))
print("ESCAPED")
""",
        apart=_MOUNTS,
        prepared=_IN_MEMORY,
    ),
    Attack(
        "fill the temporary folder with empty files",
        """
for number in range(16500): os.close(os.open(f"{T['temporary']}/{number}", os.O_CREAT))
print("ESCAPED")
""",
        apart=_MOUNTS,
        prepared=_IN_MEMORY,
    ),
    Attack(
        "fill shared memory",
        """
paths = [f"/dev/shm/{T['marker']}-{number}" for number in range(12)]
try:
    for path in paths:
        with open(path, "wb") as file: file.write(bytes(9 << 20))
    print("ESCAPED")
finally:
    for path in glob.glob(f"/dev/shm/{T['marker']}-*"): os.unlink(path)
""",
    ),
    Attack(
        "start 40 processes",
        """
children = []
try:
    for _ in range(40):
        child = os.fork()
        if not child: signal.pause()
        children.append(child)
    time.sleep(3)  # as root they are not refused but seen, a moment later
    print("ESCAPED", flush=True)
finally:
    for child in children: os.kill(child, signal.SIGKILL)
""",
    ),
    Attack(
        "start 40 threads",
        """
over = threading.Event()
threads = [threading.Thread(target=over.wait) for _ in range(40)]
try:
    for thread in threads: thread.start()
    print("ESCAPED", flush=True)
finally:
    over.set()
""",
    ),
    Attack("open 100 files", """held = [os.open("mine", os.O_RDONLY) for _ in range(100)]; print("ESCAPED")"""),
    Attack(
        "lock 1 MB of memory",
        """
memory = mmap.mmap(-1, 1 << 20)
at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
checked(libc.mlock(ctypes.c_void_p(at), ctypes.c_size_t(1 << 20)), "mlock"); print("ESCAPED")
""",
    ),
)

OUTLIVING = (
    Attack(
        "live on as a daemon",
        """
if not os.fork():
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
    if not os.fork():
        null = os.open("/dev/null", os.O_RDWR)
        for target in (0, 1, 2): os.dup2(null, target)
        while True: signal.pause()
    os._exit(0)
""",
        survives,
    ),
    Attack(
        "live on behind a shell",
        """
script = "(trap '' TERM HUP; exec -a " + T["marker"] + " sleep 1000) >/dev/null 2>&1 &"
subprocess.Popen(["bash", "-c", script]).wait()
""",
        survives,
    ),
    Attack(
        "live on as a stopped process",
        """
child = os.fork()
if not child:
    null = os.open("/dev/null", os.O_RDWR)
    for target in (0, 1, 2): os.dup2(null, target)
    os.kill(os.getpid(), signal.SIGSTOP)
os.waitpid(child, os.WUNTRACED)
""",
        survives,
    ),
)

LEAVING = (
    Attack(
        "find what the last program left in the temporary folder",
        """print(open(T["temporary"] + "/left").read())""",
        reveals,
        first="""open(T["temporary"] + "/left", "w").write(T["left"])""",
    ),
    Attack(
        "find what the last program left in a hidden folder",
        """print(open(T["temporary"] + "/.config/left").read())""",
        reveals,
        first="""os.mkdir(T["temporary"] + "/.config"); open(T["temporary"] + "/.config/left", "w").write(T["left"])""",
    ),
    Attack(
        "find what the last program noted on the temporary folder itself",
        """print(os.getxattr(T["temporary"], "user.left"))""",
        reveals,
        first="""os.setxattr(T["temporary"], "user.left", T["left"].encode())""",
        rare=True,
    ),
    Attack(
        "find the times that the last program set on the temporary folder",
        """if os.stat(T["temporary"]).st_mtime_ns == 1_000_000_007: print("ESCAPED")""",
        first="""os.utime(T["temporary"], ns=(1_000_000_007, 1_000_000_007))""",
    ),
    Attack(
        "find what the last program left in shared memory",
        """
path = "/dev/shm/left-" + T["marker"]
print(open(path).read()); os.unlink(path)
""",
        reveals,
        first="""open("/dev/shm/left-" + T["marker"], "w").write(T["left"])""",
    ),
    Attack(
        "find what the last program left in a shared segment",
        """
libc.shmat.restype = ctypes.c_void_p
segment = checked(libc.shmget(T["key"], 4096, 0o600), "shmget")
print(ctypes.string_at(libc.shmat(segment, None, 0), 64))
libc.shmctl(segment, 0, None)
""",
        reveals,
        first="""
libc.shmat.restype = ctypes.c_void_p
segment = checked(libc.shmget(T["key"], 4096, 0o1600), "shmget")
ctypes.memmove(libc.shmat(segment, None, 0), T["left"].encode(), len(T["left"]))
""",
    ),
    Attack(
        "find what the last program left in a queue of messages",
        """
queue = checked(libc.msgget(T["key"], 0o600), "msgget")
room = ctypes.create_string_buffer(80)
checked(libc.msgrcv(queue, room, 64, 0, 0o4000), "msgrcv")
print(room.raw[8:])
libc.msgctl(queue, 0, None)
""",
        reveals,
        first="""
queue = checked(libc.msgget(T["key"], 0o1600), "msgget")
checked(libc.msgsnd(queue, struct.pack("l", 1) + T["left"].encode(), len(T["left"]), 0), "msgsnd")
""",
    ),
    Attack(
        "find what the last program left in a queue with a name",
        """
name = T["marker"].encode()
queue = call("mq_open", name, os.O_RDONLY | os.O_NONBLOCK, 0, None)
room = ctypes.create_string_buffer(8192)
call("mq_timedreceive", queue, room, 8192, None, None)
print(room.value)
call("mq_unlink", name)
""",
        reveals,
        first="""
facts = ctypes.create_string_buffer(struct.pack("4l", 0, 1, 8192, 0), 64)
queue = call("mq_open", T["marker"].encode(), os.O_CREAT | os.O_RDWR, 0o600, facts)
call("mq_timedsend", queue, T["left"].encode(), len(T["left"]), 0, None)
""",
    ),
    Attack(
        "find secrets in its environment",
        """print(dict(os.environ)); show("/proc/self/environ")""",
        reveals,
    ),
)

LIMITS = USING + OUTLIVING + LEAVING
