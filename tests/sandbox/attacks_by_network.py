"""Attacks that try to reach somebody: over the network, and over sockets of the machine."""

from __future__ import annotations

from attack import Attack, reaches

_NETWORK = ("--net",)

NETWORK = (
    Attack(
        "connect to a port of the machine",
        """socket.create_connection(("127.0.0.1", T["tcp"]), 2).send(b"x")""",
        reaches,
    ),
    Attack(
        "connect to a port of the machine by IPv6",
        """socket.create_connection(("::1", T["tcp6"]), 2).send(b"x")""",
        reaches,
        rare=True,
    ),
    Attack(
        "connect to a port of the machine by an address in another",
        """
sock = socket.socket(socket.AF_INET6); sock.settimeout(20)
sock.connect(("::ffff:127.0.0.1", T["tcp"]))
""",
        reaches,
    ),
    Attack(
        "connect to a port by the address that means every one",
        """socket.create_connection(("0.0.0.0", T["tcp"]), 2).send(b"x")""",
        reaches,
    ),
    Attack(
        "connect while sending",
        """
sock = socket.socket(); sock.settimeout(20)
sock.sendto(b"x", 0x20000000, ("127.0.0.1", T["tcp"]))
""",
        reaches,
    ),
    Attack(
        "connect over several paths",
        """
sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); sock.settimeout(20)
sock.connect(("127.0.0.1", T["tcp"]))
""",
        reaches,
        rare=True,
    ),
    Attack(
        "connect with bash", """run("bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{T['tcp']} && echo x >&3")""", reaches
    ),
    Attack(
        "send a datagram",
        """socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", T["udp"]))""",
        reaches,
    ),
    Attack(
        "be reached from outside",
        """
sock = socket.create_server(("0.0.0.0", T["free"])); sock.settimeout(3)
if sock.accept()[0].recv(9): print("ESCAPED")
""",
        poked=True,
    ),
    Attack(
        "make a raw socket", """socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print("ESCAPED")""", apart=_NETWORK
    ),
    Attack(
        "make a packet socket",
        """socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0); print("ESCAPED")""",
        apart=_NETWORK,
    ),
    Attack(
        "make a packet socket by its old name",
        """socket.socket(socket.AF_INET, 10, 0x300); print("ESCAPED")""",
        apart=_NETWORK,
    ),
    Attack("speak with the kernel", """socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); print("ESCAPED")"""),
    Attack(
        "watch devices come and go",
        """
sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15); sock.bind((0, 1)); print("ESCAPED")
""",
        network=True,
    ),
    Attack(
        "speak with the host of a virtual machine",
        """socket.socket(40, socket.SOCK_STREAM); print("ESCAPED")""",
        rare=True,
    ),
    Attack(
        "speak with the host of a virtual machine, with the network granted",
        """socket.socket(40, socket.SOCK_STREAM); print("ESCAPED")""",
        network=True,
        rare=True,
    ),
    Attack(
        "connect to the control socket",
        """sock = socket.socket(socket.AF_UNIX); sock.connect(T["socket"])""",
        reaches,
    ),
    Attack(
        "connect to the control socket, with the network granted",
        """sock = socket.socket(socket.AF_UNIX); sock.connect(T["socket"])""",
        reaches,
        network=True,
    ),
    Attack(
        "connect to the control socket by dots",
        """sock = socket.socket(socket.AF_UNIX); sock.connect("../doorward.sock")""",
        reaches,
    ),
    Attack(
        "connect to the control socket by a symlink",
        """os.symlink(T["socket"], "sock"); socket.socket(socket.AF_UNIX).connect("sock")""",
        reaches,
    ),
    Attack(
        "connect to a socket by its name", """socket.socket(socket.AF_UNIX).connect("\\0" + T["abstract"])""", reaches
    ),
    Attack(
        "connect to a socket by its name, with the network granted",
        """socket.socket(socket.AF_UNIX).connect("\\0" + T["abstract"])""",
        reaches,
        network=True,
    ),
    Attack(
        "send a letter to a socket by its name, with the network granted",
        """socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "\\0" + T["letters"])""",
        reaches,
        network=True,
    ),
    Attack(
        "send a letter from one of a pair, with the network granted",
        """
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
one.sendto(b"x", "\\0" + T["letters"])
""",
        reaches,
        network=True,
    ),
    Attack(
        "see the sockets of the machine",
        """
if T["abstract"] in open("/proc/net/unix").read(): print("ESCAPED")
""",
    ),
    Attack(
        "see who is connected",
        """
if f":{T['tcp']:04X}" in open("/proc/net/tcp").read(): print("ESCAPED")
""",
    ),
)
