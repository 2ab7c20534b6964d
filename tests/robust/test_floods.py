"""Garbage from many connections at once, on every socket of a session that works: nobody else notices."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack
import pytest
from processes import until
from sockets import LIMIT, Sockets, closed, frame, hello, owner, send

pytestmark = pytest.mark.timeout(300)

#: What a connection may say it is, and to whom.
ROLES: dict[str, dict[str, dict[str, Any]]] = {
    "daemon": {
        "driver": {},
        "worker": {"Token": "x"},
        "successor": {"Token": "x"},
        "handover": {},
        "progress": {},
        "cli": {},
    },
    "driver": {"control": {}, "lease": {"LeaseID": 7}, "actor": {"ActorID": bytes(16)}},
    "actor": {"control": {}, "lease": {"LeaseID": 7}, "actor": {"ActorID": bytes(16)}},
}


@pytest.fixture(scope="module")
def sockets(session: Any) -> Sockets:
    """The sockets of the shared session."""
    import eagleray

    return Sockets(eagleray)


def open_files(pid: int) -> int:
    """How many descriptors a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def log_bytes(folder: Path) -> int:
    """How much the session has written into its logs."""
    return sum(path.stat().st_size for path in (folder / "logs").iterdir())


@contextmanager
def work(sockets: Sockets) -> Iterator[None]:
    """Tasks, calls and objects all the while; every answer is right."""
    end = threading.Event()
    wrong: list[BaseException] = []
    rounds = 0

    def go() -> None:
        nonlocal rounds
        try:
            while not end.is_set():
                sockets.works()
                rounds += 1
        except BaseException as problem:
            wrong.append(problem)

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join(LIMIT)
    assert not wrong
    assert rounds > 0
    assert not thread.is_alive()


@contextmanager
def nothing_stays(sockets: Sockets) -> Iterator[None]:
    """Every process has as many descriptors at the end as before, and the log is not full of it."""
    pids = [sockets.daemon_pid, os.getpid(), sockets.actor_pid]
    before, logged = [open_files(pid) for pid in pids], log_bytes(sockets.folder)
    yield
    for pid, count in zip(pids, before, strict=True):
        until(lambda pid=pid, count=count: open_files(pid) < count + 20, LIMIT, f"descriptors of {pid}")
    assert log_bytes(sockets.folder) - logged < 50_000


GARBAGE: list[Callable[[], bytes]] = [
    lambda: b"",
    lambda: os.urandom(300),
    lambda: b"\xff\xff\xff\xff" + bytes(100),
    lambda: frame(b""),
    lambda: frame(os.urandom(500))[:200],
    lambda: frame(msgpack.packb([10, 1, 0, 5, [[0, b"", []]]])),
    lambda: frame(b"\x95\x0a\x01\x00\x01\xdd\xff\xff\xff\xff"),
    lambda: frame(msgpack.packb([1, 4, 90, 3, 0, {"ObjectID": os.urandom(28)}])),
    lambda: frame(msgpack.packb([1, 1, 57, 3, 0, {"ActorID": os.urandom(16), "Incarnation": 2**63}])),
    lambda: frame(msgpack.packb([1, 4, 14, 3, 0, {"LeaseID": 2**63, "Unusable": True}])),
    lambda: frame(msgpack.packb([1, 4, 37, 3, 0, {"ActorID": os.urandom(16), "Spec": os.urandom(50)}])),
    lambda: struct.pack("<I", 60 << 20) + b"abc",
]


@pytest.mark.parametrize(("name", "role"), [(name, role) for name, roles in ROLES.items() for role in roles])
def test_each_role_with_each_garbage_while_others_work(sockets: Sockets, name: str, role: str) -> None:
    with nothing_stays(sockets), work(sockets):
        for make in GARBAGE:
            with sockets.connection(name) as connection:
                send(connection, hello(role, OwnerID=owner(), Addr="/nowhere", **ROLES[name][role]))
                send(connection, make())
                connection.shutdown(socket.SHUT_WR)
                assert closed(connection)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ROLES))
def test_a_thousand_connections_at_once(sockets: Sockets, name: str) -> None:
    """That say nothing, half of a hello, or nonsense."""
    with nothing_stays(sockets), work(sockets):
        lines = []
        first = hello("driver", OwnerID=owner())
        for number in range(1000):
            line = socket.socket(socket.AF_UNIX)
            line.settimeout(LIMIT)
            line.connect(str(sockets.paths[name]))
            if number % 3:
                send(line, first[: len(first) // 2] if number % 3 == 1 else os.urandom(100))
            lines.append(line)
        for line in lines:
            assert closed(line)
            line.close()
