"""Holds packets back: reads them from a device to which the router sends what is to be late, and sends them on in time.

Each line of its standard input is a way and its delay: two addresses and milliseconds. It answers each with a line, and
ends when the input closes.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import struct
import sys
import time
from collections import deque

DEVICE = b"er-delay"
_TUNSETIFF, _TUN_WITHOUT_HEADER = 0x400454CA, 0x1001
_MTU = 1 << 16


def device() -> int:
    """Makes the device; it goes with its descriptor."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH", DEVICE, _TUN_WITHOUT_HEADER))
    return fd


class Ways:
    """The packets that wait, one row for each direction, in which none overtakes another."""

    def __init__(self) -> None:
        self.delays: dict[bytes, float] = {}
        self._rows: dict[bytes, deque[tuple[float, bytes]]] = {}

    def learn(self, line: str) -> None:
        """Takes the delay of a way: FROM TO MILLISECONDS."""
        source, target, milliseconds = line.split()
        self.delays[socket.inet_aton(source) + socket.inet_aton(target)] = float(milliseconds) / 1e3

    def came(self, packet: bytes, now: float) -> None:
        """Puts an IPv4 packet into its row; bytes 12 to 20 are its source and its target."""
        way = packet[12:20]
        self._rows.setdefault(way, deque()).append((now + self.delays.get(way, 0.0), packet))

    def due(self, now: float) -> list[bytes]:
        """Takes out the packets whose time has come."""
        found = []
        for row in self._rows.values():
            while row and row[0][0] <= now:
                found.append(row.popleft()[1])
        return found

    def next_ms(self, now: float) -> float | None:
        """How long nothing is due; None when nothing waits."""
        firsts = [row[0][0] for row in self._rows.values() if row]
        return max(0.0, (min(firsts) - now) * 1e3) if firsts else None


def main() -> None:
    """Holds packets back until the input closes."""
    tun, ways, poll = device(), Ways(), select.poll()
    poll.register(tun, select.POLLIN)
    poll.register(sys.stdin.fileno(), select.POLLIN)
    print("ready", flush=True)
    while True:
        for fd, _ in poll.poll(ways.next_ms(time.monotonic())):
            if fd != tun:
                text = os.read(fd, 4096).decode()
                if not text:
                    return
                for line in text.splitlines():
                    ways.learn(line)
                    print("known", flush=True)
                continue
            try:
                while True:
                    ways.came(os.read(tun, _MTU), time.monotonic())
            except BlockingIOError:
                pass
        for packet in ways.due(time.monotonic()):
            os.write(tun, packet)


if __name__ == "__main__":
    main()
