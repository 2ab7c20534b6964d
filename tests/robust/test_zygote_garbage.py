"""Whatever comes on its channel, a zygote ignores what is no order, keeps nothing of it, and goes on forking."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import until

LIMIT = 60.0
ORDER = {"op": "fork", "token": "t", "sock": "/nowhere/d.sock"}


class Zygote:
    """One that this test is the daemon of."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "said"
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel = ours
        ours.settimeout(LIMIT)
        setup = {"bare": True, "preload": [], "env": {}, "sys_path": sys.path, "cwd": str(folder)}
        # What a shell does with 3<&N: the channel has to be descriptor 3.
        start = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.execv(sys.executable, sys.argv[2:])"
        module = [sys.executable, "-m", "eagleray._private.worker.zygote", "--bare"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", start, str(its.fileno()), *module],
                pass_fds=[its.fileno()],
                stderr=log,
                stdout=log,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        its.close()
        memory = os.memfd_create("setup")
        os.write(memory, json.dumps(setup).encode())
        socket.send_fds(ours, [b'{"op":"setup"}'], [memory])
        os.close(memory)
        assert self.hear()["op"] == "ready"

    def hear(self) -> dict[str, Any]:
        """What it tells next."""
        packet, fds, _, _ = socket.recv_fds(self.channel, 1 << 16, 8)
        for fd in fds:
            os.close(fd)
        assert packet, f"the zygote is gone: {self.log.read_text()[-1000:]}"
        told: dict[str, Any] = json.loads(packet)
        return told

    def send(self, packet: bytes, fds: int) -> None:
        """Sends a packet with so many descriptors, which do nothing."""
        passed = [os.open(os.devnull, os.O_RDWR) for _ in range(fds)]
        socket.send_fds(self.channel, [packet], passed)
        for fd in passed:
            os.close(fd)

    def forks(self) -> None:
        """A proper order is carried out, however many others came before; the worker ends as it finds no daemon."""
        token = os.urandom(8).hex()
        self.send(json.dumps({**ORDER, "token": token}).encode(), 2)
        while (told := self.hear()).get("token") != token:
            assert told["op"] in {"forked", "failed", "exit"}
        assert told["op"] == "forked"
        pid = told["pid"]
        while (told := self.hear()) != {"op": "exit", "pid": pid, "status": told.get("status")}:
            assert told["op"] in {"forked", "exit"}

    def descriptors(self) -> int:
        """How many it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


@pytest.fixture
def zygote(tmp_path: Path) -> Iterator[Zygote]:
    """A zygote, ended with the test."""
    one = Zygote(tmp_path)
    yield one
    one.process.kill()
    one.process.wait()
    one.channel.close()


def mutated(chance: random.Random) -> bytes:
    """A packet that may once have been an order."""
    values: list[Any] = [None, 5, -1, [], {}, "", "x" * 300, True, 1e308, "\x00", {"op": "fork"}]
    order: dict[str, Any] = dict(ORDER)
    for _ in range(chance.randint(0, 2)):
        name = chance.choice([*order, "more"])
        if chance.random() < 0.3:
            order.pop(name, None)
        else:
            order[name] = chance.choice(values)
    packet = bytearray(json.dumps(chance.choice([order, [order], order.get("op")])).encode())
    for _ in range(chance.choice([0, 1, 1, 4])):
        at = chance.randrange(len(packet) + 1)
        how = chance.choice(["flip", "cut", "insert", "double", "nest"])
        if how == "flip" and at < len(packet):
            packet[at] ^= 1 << chance.randrange(8)
        elif how == "cut":
            del packet[at:]
        elif how == "insert":
            packet[at:at] = chance.randbytes(chance.randint(1, 20))
        elif how == "double":
            packet[at:at] = packet[:at]
        elif how == "nest":
            packet[at:at] = b"[" * chance.choice([3, 5000])
    return bytes(packet[: 60 << 10]) or b"{"


@pytest.mark.parametrize("packets", [120, pytest.param(5000, marks=pytest.mark.slow)])
@pytest.mark.timeout(600)
def test_mutated_orders(zygote: Zygote, packets: int) -> None:
    seed = int(os.environ.get("SEED", "0")) or int.from_bytes(os.urandom(3), "big")
    chance = random.Random(seed)
    zygote.forks()
    before = zygote.descriptors()
    for number in range(packets):
        packet = mutated(chance)
        zygote.send(packet, chance.choice([0, 0, 1, 2, 3, 8]))
        if number % 20 == 19:
            zygote.forks()  # and what it told of others is read: its channel never fills
        assert zygote.process.poll() is None, f"SEED={seed}: it ended: {zygote.log.read_text()[-1000:]}"
    zygote.forks()
    until(lambda: zygote.descriptors() == before, LIMIT, f"SEED={seed}: descriptors that came with packets are closed")
    assert zygote.log.read_text().count("a message that is not an order") == 1


def test_larger_than_a_packet_may_be(zygote: Zygote) -> None:
    """The rest of it is dropped, so it is no order."""
    zygote.channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    zygote.send(json.dumps({**ORDER, "more": "x" * (100 << 10)}).encode(), 2)
    zygote.forks()
    zygote.send(b'{"op":"end"}', 0)
    assert zygote.process.wait(LIMIT) == 0
