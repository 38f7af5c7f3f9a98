"""Makes system calls that name a process, with seeded random arguments, aimed at processes outside the sandbox.

    naming_processes.py GIVEN SERVER

GIVEN is JSON: the numbers of system calls, the process of the victim, and the seed. It prints `tried` at its end.
"""

import ctypes
import json
import os
import random
import sys

_TRIES = 80
"""Tries of each call."""
_CALLS = {
    "kill": (0,),
    "tkill": (0,),
    "tgkill": (0, 1),
    "rt_sigqueueinfo": (0,),
    "rt_tgsigqueueinfo": (0, 1),
    "prlimit64": (0,),
    "sched_setparam": (0,),
    "sched_setscheduler": (0,),
    "sched_setattr": (0,),
    "sched_setaffinity": (0,),
    "setpriority": (1,),
    "ioprio_set": (1,),
    "setpgid": (0,),
    "ptrace": (1,),
    "process_vm_writev": (0,),
    "process_madvise": (0,),
    "move_pages": (0,),
    "migrate_pages": (0,),
    "kcmp": (0, 1),
    "capset": (0,),
    "fcntl": (2,),
    "prctl": (2,),
}
"""The arguments of each call that name a process."""
_REQUESTS = {"fcntl": (1, (8, 10, 15)), "prctl": (0, (62,))}
"""Arguments that select what a call does, with the values that name a process."""


def main() -> None:
    given, server = json.loads(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(given["seed"])
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    memory = ctypes.create_string_buffer(256)
    read, write = os.pipe()
    os.set_blocking(write, False)

    def make_argument() -> int:
        near = chance.randrange(32)
        return chance.choice(
            (near, near, ctypes.addressof(memory), ctypes.addressof(memory), 0, chance.getrandbits(32))
        )

    for call, named in _CALLS.items():
        if call not in given["numbers"]:
            continue
        for target in (given["victim"], server):
            for _ in range(_TRIES):
                memory.raw = bytes(chance.choices((0, 0, 0, 1, 2, 48, 255), k=32)) * 8
                arguments = [make_argument() for _ in range(6)]
                for place in named:
                    arguments[place] = target
                if call in _REQUESTS:
                    place, values = _REQUESTS[call]
                    arguments[place] = chance.choice(values)
                if call == "fcntl":
                    arguments[0] = read
                syscall(given["numbers"][call], *(ctypes.c_ulong(argument) for argument in arguments))
    handle = os.pidfd_open(given["victim"])
    for number in range(1, 65):
        syscall(given["numbers"]["pidfd_send_signal"], handle, number, None, 0)
    os.write(write, b"x")
    print("tried")


if __name__ == "__main__":
    main()
