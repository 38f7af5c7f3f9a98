"""The network namespace of a room: created once, held open by Doorward, and joined by each sandbox of the room."""

import os
import socket
import sys

from . import messages, system
from .messages import CONTROL

USER_FD, NETWORK_FD = 7, 8
"""Descriptors of the namespaces to join."""
PROXY_PORT = 3128
"""The port of the proxy on the room's loopback."""


def create() -> None:
    """Hand this process's namespaces to Doorward, with a socket that is bound to the proxy's port, and end."""
    control = socket.socket(fileno=CONTROL)
    user = os.open("/proc/self/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    network = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as proxy:
        proxy.bind(("127.0.0.1", PROXY_PORT))
        messages.send(control, messages.encode({"ready": True}), (user, network, proxy.fileno()))


def hand_out_sockets() -> None:
    """Enter the namespaces, then give Doorward a new TCP socket for each message, until it closes."""
    _enter()
    control = socket.socket(fileno=CONTROL)
    while True:
        message, _ = messages.receive(control)
        if message is None:
            return
        with socket.socket(message["family"], socket.SOCK_STREAM) as made:
            messages.send(control, messages.encode({"ready": True}), (made.fileno(),))


def _enter() -> None:
    # First the user namespace: it has the right to enter the network namespace that belongs to it.
    system.join_namespace(USER_FD, system.NEW_USERS)
    system.join_namespace(NETWORK_FD, system.NEW_NETWORK)
    os.close(USER_FD)
    os.close(NETWORK_FD)


def join() -> None:
    """Enter the namespaces, then run the command line that starts the sandbox."""
    _enter()
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - the argv is the sandbox to start
