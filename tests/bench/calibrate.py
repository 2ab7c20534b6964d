"""Loops that cost what the machine makes them cost and nothing of ours: what the short form's figures are divided by.

They are never to change: a stored ratio is to one of them. Each does in plain Python what the figures beside it do in
the runtime, so that a slower clock, a neighbour on the core's other half or an emptied cache changes both alike:

- objects: makes, pickles and unpickles small objects; one process.
- trips: one pickled call to another process and its answer at a time, over a socket; two processes.
- batches: the same, a hundred calls to a message.

`calibrate.py answer FD` is the other process.
"""

from __future__ import annotations

import os
import pickle
import socket
import struct
import subprocess
import sys
import time
from typing import Any

BATCH = 100
_LENGTH = struct.Struct("<I")


def cpu_of(pid: int) -> float:
    """CPU seconds of all threads of a process, to the nanosecond.

    Raises:
        OSError: it has ended.
    """
    return time.clock_gettime((~pid << 3) | 2)  # how Linux numbers the clock of a process


class Loops:
    """The loops; each method runs one `count` times and returns CPU seconds for each."""

    def __init__(self) -> None:
        mine, its = socket.socketpair()
        with its:
            self._other = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), "answer", str(its.fileno())], pass_fds=(its.fileno(),)
            )
        self._socket = mine

    def close(self) -> None:
        """Ends the other process."""
        self._socket.close()
        self._other.wait(10)

    def objects(self, count: int) -> float:
        begin = time.process_time()
        kept: dict[int, Any] = {}
        for number in range(count):
            kept[number & 255] = (number, str(number))
            pickle.loads(pickle.dumps(((number,), {}), 5))
        return (time.process_time() - begin) / count

    def trips(self, count: int) -> float:
        return self._calls(count, 1)

    def batches(self, count: int) -> float:
        return self._calls(count // BATCH, BATCH) / BATCH

    def _calls(self, count: int, each: int) -> float:
        begin = time.process_time() + cpu_of(self._other.pid)
        for _ in range(count):
            _send(self._socket, [pickle.dumps((b"nothing", (), {}), 5) for _ in range(each)])
            assert [pickle.loads(answer) for answer in _receive(self._socket)] == [None] * each
        return (time.process_time() + cpu_of(self._other.pid) - begin) / count


def _send(to: socket.socket, parts: list[bytes]) -> None:
    body = b"".join(_LENGTH.pack(len(part)) + part for part in parts)
    to.sendall(_LENGTH.pack(len(body)) + body)


def _receive(source: socket.socket) -> list[bytes]:
    """The parts of a message; none at the end."""
    head = source.recv(_LENGTH.size, socket.MSG_WAITALL)
    if len(head) < _LENGTH.size:
        return []
    body = source.recv(_LENGTH.unpack(head)[0], socket.MSG_WAITALL)
    parts: list[bytes] = []
    at = 0
    while at < len(body):
        end = at + _LENGTH.size + _LENGTH.unpack_from(body, at)[0]
        parts.append(body[at + _LENGTH.size : end])
        at = end
    return parts


def _answer(fd: int) -> None:
    functions = {b"nothing": lambda: None}
    with socket.socket(fileno=fd) as peer:
        while calls := _receive(peer):
            answers: list[bytes] = []
            for call in calls:
                name, args, kwargs = pickle.loads(call)
                answers.append(pickle.dumps(functions[name](*args, **kwargs), 5))
            _send(peer, answers)


if __name__ == "__main__" and sys.argv[1:2] == ["answer"]:
    _answer(int(sys.argv[2]))
