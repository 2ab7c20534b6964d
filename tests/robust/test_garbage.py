"""Nonsense on every socket of a session: it is refused, and nobody else notices."""

from __future__ import annotations

import os
import random
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from processes import marked, private, until
from sockets import (
    FAILURE,
    HELLO,
    LIMIT,
    PUSH,
    REPLY,
    REQUEST,
    VERSION,
    Sockets,
    closed,
    frame,
    hello,
    message,
    owner,
    send,
)

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def sockets(session: Any) -> Sockets:
    """The sockets of the shared session."""
    import eagleray

    return Sockets(eagleray)


EVERY = pytest.mark.parametrize("name", ["daemon", "driver", "actor"])


FIRST: dict[str, Callable[[], bytes]] = {
    "random": lambda: os.urandom(2000),
    "text": lambda: b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a length of 2 GB": lambda: struct.pack("<I", 2**31 - 1) + b"abc",
    "a length of 4 GB": lambda: b"\xff\xff\xff\xff" + bytes(100),
    "just too long": lambda: frame(bytes(4097)),
    "empty frame": lambda: frame(b""),
    "no message": lambda: frame(msgpack.packb({"a": 1})),
    "no hello": lambda: message(REQUEST, 60, {"Key": b"x"}),
    "a push": lambda: message(PUSH, HELLO, {"Version": VERSION, "Role": "driver"}),
    "another version": lambda: message(REQUEST, HELLO, {"Version": VERSION + 1, "Role": "driver", "OwnerID": owner()}),
    "another frame version": lambda: message(REQUEST, HELLO, {"Version": VERSION, "Role": "driver"}, version=99),
    "no role": lambda: hello("king", OwnerID=owner()),
    "no token": lambda: hello("worker", Token="guessed"),
    "wrong types": lambda: message(REQUEST, HELLO, {"Version": "x", "Role": 5, "OwnerID": [1]}),
    "a short owner": lambda: hello("control", OwnerID=b"abc"),
    "deep": lambda: frame(b"\x91" * 4000),
    "a huge array": lambda: frame(b"\xdd\xff\xff\xff\xff"),
    "a huge string": lambda: frame(b"\x96\x01\x01\x01\x01\x00\xdb\xff\xff\xff\xff"),
}


@EVERY
@pytest.mark.parametrize("what", FIRST)
def test_nonsense_instead_of_a_hello(sockets: Sockets, name: str, what: str) -> None:
    with sockets.connection(name) as connection:
        send(connection, FIRST[what]())
        connection.shutdown(socket.SHUT_WR)
        assert closed(connection)
    sockets.works()


@EVERY
def test_those_who_say_nothing(sockets: Sockets, name: str) -> None:
    """Half a frame, or none: others get in, and after five seconds it is over."""
    lines = []
    for number in range(200):
        line = socket.socket(socket.AF_UNIX)
        line.settimeout(LIMIT)
        line.connect(str(sockets.paths[name]))
        send(line, b"\x10\x00\x00\x00abc"[: number % 8])
        lines.append(line)
    sockets.works()
    lines[-1].setblocking(False)
    with pytest.raises(BlockingIOError):
        lines[-1].recv(1)  # still open, so the others did not wait for its end
    lines[-1].settimeout(LIMIT)
    for line in lines:
        assert closed(line)
        line.close()


ROLES = {
    "daemon": {"driver": {}},
    "driver": {"control": {}},
    "actor": {"control": {}, "actor": {"ActorID": bytes(16)}, "lease": {"LeaseID": 7}},
}


@pytest.mark.parametrize(("name", "role"), [(name, role) for name, roles in ROLES.items() for role in roles])
def test_nonsense_after_a_hello(sockets: Sockets, name: str, role: str) -> None:
    """Frames that are no messages end the connection; lengths are not believed before the bytes are there."""
    before = private(sockets.daemon_pid)
    for data in (
        os.urandom(5000),
        b"\xff\xff\xff\xff" + bytes(1000),
        frame(b""),
        frame(os.urandom(500)),
        frame(msgpack.packb([10, 1, 0, 5, [[0, b"", []]]])),
        frame(b"\x95\x0a\x01\x00\x01\xdd\xff\xff\xff\xff"),
        frame(msgpack.packb([3, 0, 2**40, 1, [0, b"x"], []])),
        frame(msgpack.packb([2, 0, 0, b"", "f", "m", 2**31, 1, 0, b"blob"]))
        + frame(msgpack.packb([3, 0, 0, 1, [9, b"x"], []])),
    ):
        with sockets.connection(name) as connection:
            send(connection, hello(role, OwnerID=owner(), Addr="/nowhere", **ROLES[name][role]))
            send(connection, data)
            connection.shutdown(socket.SHUT_WR)
            assert closed(connection)
        sockets.works()
    with sockets.connection(name) as connection:  # an announced frame that never comes costs nothing
        send(connection, hello(role, OwnerID=owner(), Addr="/nowhere", **ROLES[name][role]))
        send(connection, struct.pack("<I", 60 << 20) + b"abc")
        sockets.works()
    assert private(sockets.daemon_pid) < before + (100 << 20)


def body(chance: random.Random, depth: int = 0) -> Any:
    """Some value; now and then with the names that messages have."""
    kinds: list[Callable[[], Any]] = [
        lambda: None,
        lambda: chance.getrandbits(chance.randint(1, 63)),
        lambda: -chance.getrandbits(40),
        lambda: chance.random() < 0.5,
        lambda: chance.randbytes(chance.choice([0, 1, 12, 16, 24, 28, 28, 40])),
        lambda: "x" * chance.randint(0, 30),
        lambda: chance.random(),
    ]
    if depth < 3:
        names = [
            "ObjectID",
            "ObjectIDs",
            "ActorID",
            "OwnerID",
            "Key",
            "Value",
            "Namespace",
            "Name",
            "Size",
            "ClassID",
            "Want",
            "LeaseID",
            "Resources",
            "EnvKey",
            "TaskID",
            "Token",
            "Spec",
            "JobID",
            "Reason",
            "After",
            "Incarnation",
            "Env",
            "Python",
        ]
        kinds += [
            lambda: [body(chance, depth + 1) for _ in range(chance.randint(0, 4))],
            lambda: {chance.choice(names): body(chance, depth + 1) for _ in range(chance.randint(0, 5))},
        ] * (1 if depth else 6)
    return chance.choice(kinds)()


#: All but those that end the cluster or its parts by design: TShutdown, TJobEnd of a driver.
TYPES = [
    *range(10, 19),
    20,
    *range(22, 40),
    *range(50, 57),
    *range(60, 64),
    *range(70, 76),
    *range(90, 95),
    0,
    999,
    65535,
]


@pytest.mark.parametrize(("name", "role"), [("daemon", "driver"), ("driver", "control"), ("actor", "control")])
def test_messages_with_bodies_made_at_random(sockets: Sockets, name: str, role: str) -> None:
    chance = random.Random(name)
    for _ in range(40):
        with sockets.connection(name) as connection:
            send(connection, hello(role, OwnerID=owner(), Addr="/nowhere"))
            for number in range(30):
                send(
                    connection,
                    message(
                        chance.choice([REQUEST, PUSH, REPLY, FAILURE]),
                        chance.choice(TYPES),
                        body(chance),
                        number=number,
                    ),
                )
            connection.shutdown(socket.SHUT_WR)
            assert closed(connection)
    sockets.works()


@EVERY
def test_values_within_values(sockets: Sockets, name: str) -> None:
    """A message of 40 million nested arrays: reading it must not take a stack of that depth."""
    role = next(iter(ROLES[name]))
    for opening in (b"\x91", b"\x81\xa1x"):
        deep = b"\x96\x01\x01\x3c\x01\x00" + opening * (40_000_000 // len(opening)) + b"\xc0"
        with sockets.connection(name) as connection:
            send(connection, hello(role, OwnerID=owner(), Addr="/nowhere"))
            send(connection, frame(deep))
            connection.shutdown(socket.SHUT_WR)
            assert closed(connection)
        sockets.works()


def test_one_that_asks_and_does_not_read(sockets: Sockets) -> None:
    """What is to be said to it does not grow without end, and others are served meanwhile."""
    ask = message(REQUEST, 20, None) * 2000  # cluster information

    def shout(connection: socket.socket) -> None:
        connection.settimeout(3)
        try:
            while True:
                connection.sendall(ask)
        except OSError:
            pass

    with sockets.connection("daemon") as connection:
        send(connection, hello("driver"))
        thread = threading.Thread(target=shout, args=[connection])
        thread.start()
        for _ in range(10):
            sockets.works()
        thread.join(LIMIT)
        assert not thread.is_alive()
        assert private(sockets.daemon_pid) < 1500 << 20  # 256 MiB may wait for one reader
    sockets.works()


def test_the_rest_of_the_session_is_as_it_was(sockets: Sockets) -> None:
    """After all that: no process more, no descriptor more, no memory that stays."""
    until(lambda: len(os.listdir(f"/proc/{sockets.daemon_pid}/fd")) < 60, LIMIT)
    assert len(marked(os.environ["EAGLERAY_ROBUST_MARK"])) < 10
    until(lambda: len(os.listdir(sockets.folder / "p")) < 10, LIMIT)
