"""The task socket between a caller and an actor breaks while both processes live on."""

from __future__ import annotations

import os
import socket
import stat
import struct
from pathlib import Path
from typing import Any

import msgpack
import pytest
from pace import becomes


def entries(name: str) -> int:
    """How many entries a table of this process has."""
    from eagleray._private.state import process

    return int(msgpack.unpackb(process.require().hot.rpc("footprint", msgpack.packb({"here": True}), 5000))[name])


def task_socket(pid: int) -> int:
    """The descriptor of this process's only socket to another process."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            copy = socket.socket(fileno=os.dup(int(name)))
        except OSError:  # it is closed already
            continue
        with copy:
            if copy.family != socket.AF_UNIX:
                continue
            peer, _, _ = struct.unpack("3i", copy.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if peer == pid:
                found.append(int(name))
    assert len(found) == 1, found
    return found[0]


def test_an_answer_that_its_caller_never_read_holds_nothing(ray: Any, tmp_path: Path) -> None:
    """The actor answers with a reference. The socket breaks with the answer in it, and the actor frees the value."""
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    os.mkfifo(begun)
    os.mkfifo(gate)

    @ray.remote(num_cpus=0)
    class Maker:
        def pid(self) -> int:
            return os.getpid()

        def make(self) -> list[Any]:
            ref = ray.put("what the answer refers to")
            begun.write_bytes(b"x")
            gate.read_bytes()
            return [ref]

        def entries(self, name: str) -> int:
            return entries(name)

    @ray.remote(num_cpus=0)
    class Witness:
        def __init__(self, maker: Any) -> None:
            self.maker = maker

        def entries(self, name: str) -> int:
            return int(ray.get(self.maker.entries.remote(name)))

    maker = Maker.remote()
    pid = ray.get(maker.pid.remote())
    witness = Witness.remote(maker)
    owned = ray.get(witness.entries.remote("n_owned"))
    assert ray.get(witness.entries.remote("n_held")) == 0

    fd = task_socket(pid)
    lost = maker.make.remote()
    begun.read_bytes()
    # The answer stays unread: what this process reads from instead is another socket, in which nothing comes.
    real = os.dup(fd)
    here, there = socket.socketpair()
    here.setblocking(False)
    os.dup2(here.fileno(), fd, inheritable=False)
    here.close()
    try:
        gate.write_bytes(b"x")
        assert ray.get(witness.entries.remote("n_held")) == 1
        there.close()  # this process reads the end of the socket
        with pytest.raises(ray.exceptions.ActorUnavailableError):
            ray.get(lost)
        assert ray.get(maker.pid.remote()) == pid
        assert ray.get(witness.entries.remote("n_held")) == 1
    finally:
        there.close()
        os.close(real)  # the actor's end breaks, with the answer in it
    becomes(lambda: ray.get(witness.entries.remote("n_held")), 0)
    becomes(lambda: ray.get(witness.entries.remote("n_owned")), owned)
