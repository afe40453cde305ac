"""Ports for the servers of tests that run at the same time."""

from __future__ import annotations

import secrets
import socket
from contextlib import ExitStack, suppress

# Below those that the system gives to a program that asks for any port (Linux: from 32768 on): no other
# program gets one of them between this choice and the server's start.
RANGE = range(15_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Different ports of 127.0.0.1 that no one listens on."""
    with ExitStack() as held:
        ports: list[int] = []
        while len(ports) < count:
            port = secrets.choice(RANGE)  # tests may seed `random`
            with suppress(OSError):  # in use
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
                ports.append(port)
        return ports
