"""Ports for servers of tests."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

# The system gives connections, and servers that ask for any port, those of 32768 and above.
# So nobody gets one of these by chance.
_FIRST, _END = 20_000, 32_000


def free_ports(count: int) -> list[int]:
    """Different ports of this machine at which nothing listens, and which the system gives nobody by itself."""
    with ExitStack() as held:
        ports: list[int] = []
        while len(ports) < count:
            port = random.randrange(_FIRST, _END)
            one = held.enter_context(socket.socket())
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.append(port)
    return ports


def free_port() -> int:
    """A port of this machine at which nothing listens."""
    (port,) = free_ports(1)
    return port
