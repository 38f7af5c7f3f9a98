"""Attacks on files: reading, changing and making what lies outside the workspace, by every name it might have."""

from __future__ import annotations

from attack import Attack, changes, leaves, reveals, says

_PRIVATE = ("--mount", "--propagation", "private")

READING = (
    Attack("read a file by its absolute path", """print(open(T["canary"]).read())""", reveals),
    Attack("read a file by dots", """print(open("../" * 40 + T["canary"][1:]).read())""", reveals),
    Attack("read a file by a relative path", """print(open(T["relative"]).read())""", reveals),
    Attack("read through a symlink that was planted", """print(open("link").read())""", reveals),
    Attack(
        "read through a symlink of its own", """os.symlink(T["canary"], "own"); print(open("own").read())""", reveals
    ),
    Attack(
        "read through a folder that is a symlink",
        """print(open("folder-link/../outside/secret.txt").read())""",
        reveals,
    ),
    Attack("read through a hard link", """os.link(T["canary"], "hard"); print(open("hard").read())""", reveals),
    Attack(
        "read through a hard link to a symlink",
        """call("linkat", -100, b"link", -100, b"hard", 0x400); print(open("hard").read())""",
        reveals,
    ),
    Attack("read through its own root", """print(open("/proc/self/root" + T["canary"]).read())""", reveals),
    Attack("read through its own folder", """print(open("/proc/self/cwd/" + T["relative"]).read())""", reveals),
    Attack(
        "read through the root of the first process",
        """for other in (1, 2, T["victim"]): show(f"/proc/{other}/root" + T["canary"])""",
        reveals,
        victim=True,
    ),
    Attack(
        "read through the root of any process",
        """for other in others(): show(f"/proc/{other}/root" + T["canary"])""",
        reveals,
        victim=True,
    ),
    Attack(
        "read through the folder of another process",
        """print(open(f"/proc/{T['victim']}/cwd/secret.txt").read())""",
        reveals,
        victim=True,
    ),
    Attack(
        "read through the folder of any process",
        """for other in others(): show(f"/proc/{other}/cwd/secret.txt")""",
        reveals,
        victim=True,
    ),
    Attack(
        "read a descriptor of another process",
        """print(open(f"/proc/{T['victim']}/fd/{T['held']}").read())""",
        reveals,
        victim=True,
    ),
    Attack(
        "read every descriptor of every process",
        """
for path in glob.glob("/proc/[0-9]*/fd/*"):
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode) and os.stat(path).st_size < 1000
    except OSError:
        continue
    if regular:
        show(path)
""",
        reveals,
        victim=True,
    ),
    Attack(
        "read a descriptor that was left open",
        """
for name in os.listdir("/dev/fd"):
    if int(name) > 2:
        try:
            print(os.pread(int(name), 1000, 0))
        except OSError:
            pass
""",
        reveals,
    ),
    Attack(
        "read beneath a folder that was left open",
        """
for name in os.listdir("/proc/self/fd"):
    if int(name) > 2:
        try:
            print(open(os.open(T["canary"][1:], os.O_RDONLY, dir_fd=int(name))).read())
        except OSError:
            pass
""",
        reveals,
    ),
    Attack(
        "read by the kernel's handle of a file",
        """
kind, handle = T["handle"][0], bytes.fromhex(T["handle"][1])
named = ctypes.create_string_buffer(struct.pack("Ii", len(handle), kind) + handle)
here = os.open(".", os.O_RDONLY)
print(os.read(call("open_by_handle_at", here, named, os.O_RDONLY), 1000))
""",
        reveals,
        "root",
        rare=True,
    ),
    Attack(
        "read by a program that exists in memory only",
        """
memory = call("memfd_create", b"program", 0)
os.write(memory, open("/bin/cat", "rb").read())
words = [f"/proc/self/fd/{memory}", T["canary"]]
print(subprocess.run(words, pass_fds=[memory], capture_output=True, text=True).stdout)
""",
        reveals,
    ),
    Attack("read with a program of the system", """print(run("cat", T["canary"]))""", reveals),
    Attack("see the names in a folder outside", """print(os.listdir(T["home"]))""", reveals),
    Attack("see whether a file is there", """os.stat(T["canary"]); print("ESCAPED")"""),
    Attack(
        "watch a folder outside",
        """
watch = call("inotify_init1", 0)
call("inotify_add_watch", watch, T["outside"].encode(), 0x20); print("ESCAPED")
""",
    ),
)

CHANGING = (
    Attack("make a file outside", """open(T["outside"] + "/planted", "w").write("x")""", changes),
    Attack("make a file outside by dots", """open("../../outside/planted", "w").write("x")""", changes),
    Attack("make a file through a planted folder", """open("folder-link/planted", "w").write("x")""", changes),
    Attack("append through a planted symlink", """open("link", "a").write("x")""", changes),
    Attack("cut a file outside", """os.truncate(T["canary"], 1)""", changes),
    Attack("cut a file by opening it", """os.open(T["canary"], os.O_RDONLY | os.O_TRUNC)""", changes),
    Attack("remove a file outside", """os.unlink(T["canary"])""", changes),
    Attack("move a file outside into the workspace", """os.rename(T["movable"], "moved")""", changes),
    Attack("move a file of its own outside", """os.rename("mine", T["outside"] + "/planted")""", changes),
    Attack(
        "exchange a file of its own with one outside",
        """call("renameat2", -100, b"mine", -100, T["movable"].encode(), 2)""",
        changes,
    ),
    Attack("make a folder outside", """os.mkdir(T["outside"] + "/planted")""", changes),
    Attack("make a symlink outside", """os.symlink("/", T["outside"] + "/planted")""", changes),
    Attack("make a pipe outside", """os.mkfifo(T["outside"] + "/planted")""", changes),
    Attack("change the mode of a file outside", """os.chmod(T["canary"], 0o666)""", changes),
    Attack("change the times of a file outside", """os.utime(T["canary"], (1, 1))""", changes),
    Attack(
        "change a file through a hard link", """os.link(T["canary"], "hard"); open("hard", "a").write("x")""", changes
    ),
    Attack(
        "write to a program of the system",
        """open("/usr/local/planted", "w").write("x"); print("ESCAPED")""",
        apart=_PRIVATE,
        prepared="mount -t tmpfs tmpfs /usr/local",
    ),
    Attack(
        "add a user of the system",
        """open("/etc/passwd", "a").write("x::0:0::/:/bin/sh"); print("ESCAPED")""",
        apart=_PRIVATE,
        prepared="mount -t tmpfs tmpfs /etc; touch /etc/passwd",
    ),
    Attack(
        "add what every program loads",
        """open("/etc/ld.so.preload", "w").write("x"); print("ESCAPED")""",
        apart=_PRIVATE,
        prepared="mount -t tmpfs tmpfs /etc",
    ),
    Attack(
        "plant a job for later",
        """
os.makedirs("/var/spool/cron/crontabs", exist_ok=True)
open("/var/spool/cron/crontabs/agent", "w").write("* * * * * true"); print("ESCAPED")
""",
        apart=_PRIVATE,
        prepared="mount -t tmpfs tmpfs /var",
    ),
    Attack(
        "change the code of the helpers", """open(T["code"] + "/inside/worker.py", "a").write("#"); print("ESCAPED")"""
    ),
    Attack(
        "plant compiled code for the helpers",
        """
os.makedirs(T["code"] + "/inside/__pycache__", exist_ok=True)
open(T["code"] + "/inside/__pycache__/worker.cpython-311.pyc", "w").write("x"); print("ESCAPED")
""",
    ),
    Attack(
        "change the library of the interpreter",
        """
cache = os.path.dirname(json.__file__) + "/planted.py"
open(cache, "w").write("x"); print("ESCAPED")
""",
        apart=_PRIVATE,
        prepared='d=$(dirname "$("$PYTHON" -c "import json; print(json.__file__)")"); cp -r "$d" "$PWD/json";'
        ' mount --bind "$PWD/json" "$d"',
    ),
    Attack(
        "write to a workspace that is read-only", """open("planted", "w").write("x")""", leaves("planted"), files="read"
    ),
    Attack(
        "change the facts of a file in a workspace that is read-only",
        """os.chmod("mine", 0o777); os.rename("mine", "planted")""",
        leaves("planted"),
        files="read",
    ),
    Attack(
        "make a workspace writable that is read-only",
        """
checked(libc.mount(None, b".", None, ctypes.c_ulong(0x1020), None), "mount")
open("planted", "w").write("x"); print("ESCAPED")
""",
        says,
        files="read",
        apart=_PRIVATE,
        prepared='mount --bind "$PWD" "$PWD" && mount -o remount,bind,ro "$PWD"',
    ),
)

OF_DOORWARD = (
    Attack("read the secret of the house", """print(open(T["home"] + "/secret.key").read())""", reveals),
    Attack("read the secret beside the workspace", """print(open("../secret.key").read())""", reveals),
    Attack("read the database of the house", """print(open(T["home"] + "/doorward.db").read())""", reveals),
    Attack("change the database of the house", """open("../doorward.db", "a").write("x")""", changes),
    Attack("make the missing settings", """open(T["home"] + "/doorward.toml", "w").write("x")""", changes),
    Attack("make the missing settings by dots", """open("../doorward.toml", "w").write("x")""", changes),
    Attack("make a recipe", """open(T["home"] + "/recipes/all.json", "w").write("{}")""", changes),
    Attack("make a catalogue of commands", """open(T["home"] + "/commands.json", "w").write("{}")""", changes),
    Attack("move the recipes away", """os.rename("../recipes", "recipes")""", changes),
)

FILES = READING + CHANGING + OF_DOORWARD
