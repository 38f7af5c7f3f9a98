"""Attacks on other processes: those of the machine, and programs in the same sandbox at the same time."""

from __future__ import annotations

from attack import Attack, harms, reveals

_PIDS = ("--pid", "--fork", "--mount-proc")

_READY = """
print("ready", flush=True)
signal.pause()
"""


ON_ONE = (
    Attack(
        "see other processes",
        """for other in others(): show(f"/proc/{other}/cmdline")""",
        reveals,
        victim=True,
    ),
    Attack(
        "read the environment of other processes",
        """for other in others(): show(f"/proc/{other}/environ")""",
        reveals,
        victim=True,
    ),
    Attack("read the environment of whoever started it", """show(f"/proc/{os.getppid()}/environ")""", reveals),
    Attack("kill a process", """os.kill(T["victim"], signal.SIGKILL)""", harms, victim=True),
    Attack("stop a process", """os.kill(T["victim"], signal.SIGSTOP)""", harms, victim=True),
    Attack("kill a thread", """call("tgkill", T["victim"], T["victim"], 9)""", harms, victim=True),
    Attack(
        "send a signal with a message",
        """
info = ctypes.create_string_buffer(struct.pack("iiiiii", 9, 0, -1, 0, os.getpid(), os.getuid()), 128)
call("rt_sigqueueinfo", T["victim"], 9, info)
""",
        harms,
        victim=True,
    ),
    Attack(
        "kill a process by a descriptor of it",
        """call("pidfd_send_signal", os.pidfd_open(T["victim"]), 9, None, 0)""",
        harms,
        victim=True,
    ),
    Attack(
        "kill a process by its folder in /proc",
        """call("pidfd_send_signal", os.open(f"/proc/{T['victim']}", os.O_RDONLY), 9, None, 0)""",
        harms,
        victim=True,
    ),
    Attack(
        "kill every process in /proc by its folder",
        """
for name in others():
    try:
        call("pidfd_send_signal", os.open(f"/proc/{name}", os.O_RDONLY), 9, None, 0)
    except OSError:
        pass
""",
        harms,
        victim=True,
        apart=_PIDS,
    ),
    Attack("kill everybody", """os.kill(-1, signal.SIGKILL)""", harms, victim=True, apart=_PIDS),
    Attack(
        "trace a process and read its memory",
        """
call("ptrace", 16, T["victim"], None, None)
os.waitpid(T["victim"], 0x40000000)
words = []
for step in range(4):
    word = ctypes.c_long()
    call("ptrace", 2, T["victim"], ctypes.c_void_p(T["address"] + 8 * step), ctypes.byref(word))
    words.append(bytes(word))
print(b"".join(words))
""",
        reveals,
        victim=True,
    ),
    Attack(
        "seize a process",
        """call("ptrace", 0x4206, T["victim"], None, None); print("ESCAPED")""",
        victim=True,
    ),
    Attack(
        "read the memory of a process",
        """
class Piece(ctypes.Structure):
    _fields_ = (("at", ctypes.c_void_p), ("size", ctypes.c_size_t))
room = ctypes.create_string_buffer(32)
ours, theirs = Piece(ctypes.addressof(room), 32), Piece(T["address"], 32)
call("process_vm_readv", T["victim"], ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
print(room.value)
""",
        reveals,
        victim=True,
    ),
    Attack(
        "write the memory of a process",
        """
class Piece(ctypes.Structure):
    _fields_ = (("at", ctypes.c_void_p), ("size", ctypes.c_size_t))
room = ctypes.create_string_buffer(b"changed")
ours, theirs = Piece(ctypes.addressof(room), 7), Piece(T["address"], 7)
call("process_vm_writev", T["victim"], ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
""",
        harms,
        victim=True,
    ),
    Attack(
        "read the memory of a process as a file",
        """print(os.pread(os.open(f"/proc/{T['victim']}/mem", os.O_RDONLY), 32, T["address"]))""",
        reveals,
        victim=True,
    ),
    Attack(
        "write the memory of a process as a file",
        """os.pwrite(os.open(f"/proc/{T['victim']}/mem", os.O_RDWR), b"changed", T["address"])""",
        harms,
        victim=True,
    ),
    Attack(
        "take a descriptor of a process",
        """print(os.pread(call("pidfd_getfd", os.pidfd_open(T["victim"]), T["held"], 0), 100, 0))""",
        reveals,
        victim=True,
    ),
    Attack("slow a process down", """os.setpriority(os.PRIO_PROCESS, T["victim"], 7)""", harms, victim=True),
    Attack(
        "slow all processes of the account down",
        """os.setpriority(os.PRIO_USER, 0, 7)""",
        harms,
        victim=True,
        apart=_PIDS,
    ),
    Attack(
        "take a process's turn at the disk", """call("ioprio_set", 1, T["victim"], (3 << 13) | 7)""", harms, victim=True
    ),
    Attack(
        "take all processes' turn at the disk",
        """call("ioprio_set", 3, os.getuid(), (3 << 13) | 7)""",
        harms,
        victim=True,
        apart=_PIDS,
    ),
    Attack(
        "keep a process from processors",
        """os.sched_setaffinity(T["victim"], {min(os.sched_getaffinity(0))})""",
        harms,
        victim=True,
    ),
    Attack(
        "narrow the limits of a process",
        """resource.prlimit(T["victim"], resource.RLIMIT_NOFILE, (8, 8))""",
        harms,
        victim=True,
    ),
    Attack(
        "have a process killed when memory is short",
        """open(f"/proc/{T['victim']}/oom_score_adj", "w").write("999")""",
        harms,
        victim=True,
    ),
    Attack(
        "trace a child of its own",
        """
child = os.fork()
if not child:
    try:
        call("ptrace", 0, 0, None, None); os._exit(0)
    except OSError:
        os._exit(9)
if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
    raise Held("ptrace")
print("ESCAPED")
""",
    ),
)

ON_NEIGHBOURS = (
    Attack(
        "see the arguments of a program beside it",
        """for other in others(): show(f"/proc/{other}/cmdline")""",
        reveals,
        neighbour=_READY,
    ),
    Attack(
        "read the environment of a program beside it",
        """for other in others(): show(f"/proc/{other}/environ")""",
        reveals,
        neighbour=_READY,
    ),
    Attack(
        "read the memory of a program beside it",
        """
for other in T["candidates"]:
    try:
        spaces = [line.split() for line in open(f"/proc/{other}/maps") if "[heap]" in line or "[stack]" in line]
    except OSError:
        continue
    if other == os.getpid() or str(other) == os.readlink("/proc/self"):
        continue
    memory = os.open(f"/proc/{other}/mem", os.O_RDONLY)
    for space in spaces:
        first, last = (int(end, 16) for end in space[0].split("-"))
        sys.stdout.buffer.write(os.pread(memory, last - first, first))
""",
        reveals,
        neighbour=_READY,
    ),
    Attack(
        "kill a program beside it",
        """
for other in T["candidates"]:
    if other != os.getpid():
        try:
            os.kill(other, signal.SIGKILL)
        except OSError:
            pass
""",
        harms,
        neighbour=_READY,
    ),
    Attack(
        "read temporary files of a program beside it",
        """print(open(T["temporary"] + "/note-" + T["marker"]).read())""",
        reveals,
        neighbour="""open(T["temporary"] + "/note-" + T["marker"], "w").write(T["private"])""" + _READY,
    ),
    Attack(
        "read shared memory of a program beside it",
        """print(open("/dev/shm/note-" + T["marker"]).read())""",
        reveals,
        neighbour="""
path = "/dev/shm/note-" + T["marker"]
open(path, "w").write(T["private"])
signal.signal(signal.SIGTERM, lambda *_: (os.unlink(path), os._exit(0)))
"""
        + _READY,
    ),
    Attack(
        "connect to a named socket of a program beside it",
        """
sock = socket.socket(socket.AF_UNIX); sock.connect("\\0" + T["marker"])
print(sock.recv(100))
""",
        reveals,
        neighbour="""
sock = socket.socket(socket.AF_UNIX); sock.bind("\\0" + T["marker"]); sock.listen()
print("ready", flush=True)
sock.accept()[0].send(T["private"].encode())
""",
    ),
)

PROCESSES = ON_ONE + ON_NEIGHBOURS
