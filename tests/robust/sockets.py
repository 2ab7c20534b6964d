"""Speaking the wire protocol by hand, to all sockets of a session."""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack
from processes import alive

LIMIT = 60.0
_FRAME = (Path(__file__).parents[2] / "core/internal/wire/frame.go").read_text()


def _constant(name: str) -> int:
    """A constant of this checkout's protocol, from the file that sets it."""
    return int(re.findall(rf"^(?:const|var) {name} = (\d+)\b", _FRAME, re.MULTILINE)[0])


#: The version of the messages, which a hello names, and that of the six fields around the body of each message.
VERSION, ENVELOPE = _constant("Version"), _constant("EnvelopeVersion")
REQUEST, REPLY, FAILURE, PUSH = 1, 2, 3, 4
HELLO = 1


def frame(payload: bytes) -> bytes:
    """A length and what it announces."""
    return struct.pack("<I", len(payload)) + payload


def message(kind: int, type: int, body: Any, version: int = ENVELOPE, number: int = 1) -> bytes:
    """A control message."""
    return frame(msgpack.packb([version, kind, type, number, 0, body]))


def hello(role: str, **more: Any) -> bytes:
    """The first message of a connection."""
    return message(REQUEST, HELLO, {"Version": VERSION, "Role": role, "Pid": os.getpid(), **more})


def owner() -> bytes:
    """Some process's id."""
    return os.urandom(12)


class Sockets:
    """Those of the session: the daemon's, this driver's, a pooled worker's, an actor's."""

    def __init__(self, ray: Any) -> None:
        from eagleray._private.state import process

        session = process.require()

        @ray.remote(num_cpus=0)
        class Actor:
            def addr(self) -> tuple[str, int]:
                from eagleray._private.state import process

                return process.require().addr, os.getpid()

            def add(self, x: int) -> int:
                return x + 1

        self.ray = ray
        self.actor = Actor.remote()
        addr, self.actor_pid = ray.get(self.actor.addr.remote(), timeout=LIMIT)
        self.folder = Path(session.session_dir)
        self.paths = {
            "daemon": self.folder / "d.sock",
            "driver": self.folder / "p" / f"{session.addr}.sock",
            "actor": self.folder / "p" / f"{addr}.sock",
        }
        self.daemon_pid = session.daemon_pid

        @ray.remote
        def add(x: int) -> int:
            return x + 1

        self.add = add
        self.works()

    def works(self) -> None:
        """Everything that was there still is, and still answers."""
        ray = self.ray
        assert ray.get([self.add.remote(i) for i in range(30)], timeout=LIMIT) == list(range(1, 31))
        assert ray.get(self.actor.add.remote(1), timeout=LIMIT) == 2
        assert len(ray.get(ray.put(bytes(300_000)))) == 300_000
        assert alive(self.daemon_pid)

    @contextmanager
    def connection(self, name: str) -> Iterator[socket.socket]:
        """A connection to one of them."""
        with socket.socket(socket.AF_UNIX) as made:
            made.settimeout(LIMIT)
            made.connect(str(self.paths[name]))
            yield made


def closed(connection: socket.socket) -> bool:
    """Whether the other end hangs up, whatever it says before."""
    try:
        while connection.recv(65536):
            pass
    except (ConnectionResetError, BrokenPipeError):
        return True
    except TimeoutError:
        return False
    return True


def send(connection: socket.socket, data: bytes) -> None:
    """Sends; the other end may have hung up already."""
    try:
        connection.sendall(data)
    except (ConnectionResetError, BrokenPipeError):
        pass
