"""A process that attacks are aimed at: it holds secrets, answers when it is spoken to, and does nothing else.

It is told its secret on standard input, so that the secret is in its memory alone.
"""

import ctypes
import os
import sys

_PR_SET_PTRACER, _ANYBODY = 0x5961_6D61, -1


def main() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_long(_ANYBODY), 0, 0, 0)  # where others of the account may not
    held = os.open(sys.argv[1], os.O_RDONLY)
    memory = ctypes.create_string_buffer(sys.stdin.buffer.readline().strip(), 64)
    print(ctypes.addressof(memory), held, flush=True)
    for _ in sys.stdin.buffer:
        print(memory.value.decode(errors="replace"), flush=True)


if __name__ == "__main__":
    main()
