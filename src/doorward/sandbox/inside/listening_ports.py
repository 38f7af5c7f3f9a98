"""The ports on which the programs of a worker listen, from /proc."""

import contextlib
import os

_LISTEN = "0A"
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def list_programs() -> list[int]:
    """The processes of the program that this worker runs: all that its /proc shows, except itself."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    except OSError:
        return []


def list_ports() -> list[int]:
    """The TCP ports on which these processes listen. Other programs share the network, so each socket is checked."""
    ports: dict[str, int] = {}
    for table in _TABLES:
        with contextlib.suppress(OSError), open(table) as file:
            for line in list(file)[1:]:
                facts = line.split()
                if facts[3] == _LISTEN:
                    ports[f"socket:[{facts[9]}]"] = int(facts[1].rpartition(":")[2], 16)
    found = set()
    for process in list_programs() if ports else ():
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{process}/fd"):
                with contextlib.suppress(OSError):
                    found.add(ports.get(os.readlink(f"/proc/{process}/fd/{name}"), 0))
    return sorted(found - {0})
