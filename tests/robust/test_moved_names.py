"""Heads that are known by names, and move: their names lead to other addresses then.

All machines of a lab have one file of hosts, which the test rewrites, as a DNS server would get other records.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from net.lab import ROBUST, Lab, unavailable
from net.machine import Machine
from processes import until
from steadywork import CALLS

_WHY = unavailable()
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.skipif(bool(_WHY), reason=_WHY)]
LIMIT_S = 90.0
NAMES = {"h1": "a", "h2": "b", "h3": "c"}


class Moving:
    """Three heads with names on the machines a, b and c, and nodes on d and e."""

    def __init__(self, lab: Lab, place: Path) -> None:
        self.lab, self.place = lab, place
        self.addresses = {name: lab.machines[letter].address for name, letter in NAMES.items()}
        self.hosts = place / "hosts"
        self.tell()
        lab.run("mount", "--bind", str(self.hosts), "/etc/hosts")
        self.token = place / "token"
        self.token.write_text(os.urandom(32).hex())
        self.token.chmod(0o600)
        self.start("h1", '--system-config={"node_timeout": 60}')
        for name in ("h2", "h3"):
            self.start(name, "--address=h1:6379")
        until(lambda: "3 of 3 voters are healthy" in self.heads(lab.machines["a"]), LIMIT_S, "three heads with a vote")

    def tell(self) -> None:
        """Has the names lead to where the heads are. The file stays the same one, since it is mounted."""
        lines = [f"{address} {name}" for name, address in self.addresses.items()]
        self.hosts.write_text("\n".join(["127.0.0.1 localhost", *lines]) + "\n")

    def start(self, name: str, *flags: str) -> None:
        """Starts a head, at first or again."""
        words = (f"--node-ip-address={name}", f"--node-name={name}", f"--state-dir={self.place / name}", *flags)
        self.machine(name)("start", "--head", "--port=6379", "--num-cpus=0", *self.usual, *words)

    @property
    def usual(self) -> tuple[str, ...]:
        """Flags of each start."""
        return (f"--token-file={self.token}", "--object-store-memory=100000000")

    def machine(self, name: str) -> Machine:
        """The machine of a head."""
        return self.lab.machines[NAMES[name]]

    def node(self, letter: str, address: str) -> Machine:
        """Starts a node that is told of heads at some addresses."""
        machine = self.lab.machines[letter]
        machine("start", f"--address={address}", f"--node-name={letter}", "--num-cpus=1", *self.usual)
        return machine

    def heads(self, machine: Machine) -> str:
        """What ``eagleray heads list`` says there."""
        return machine.ask("heads", "list", f"--token-file={self.token}") or ""

    def move(self, name: str) -> None:
        """Gives the machine of a head, which is stopped meanwhile, another address."""
        machine = self.machine(name)
        machine("stop")
        number = machine.address.split(".")[2]
        router, new = f"10.78.{number}.1", f"10.78.{number}.2"
        self.lab.run("ip", "address", "add", f"{router}/30", "dev", f"to-{machine.name}")
        self.lab.run(*machine.inside, "ip", "address", "flush", "dev", "eth0")
        self.lab.run(*machine.inside, "ip", "address", "add", f"{new}/30", "dev", "eth0")
        self.lab.run(*machine.inside, "ip", "route", "add", "default", "via", router)
        machine.address = self.addresses[name] = new
        self.tell()
        self.start(name)


@pytest.fixture
def moving(tmp_path: Path) -> Iterator[Moving]:
    with Lab(5) as lab:
        yield Moving(lab, tmp_path)
        for letter in "edcba":
            lab.machines[letter]("stop", "--grace-period=20")


def says(program: subprocess.Popen[str], wanted: str) -> None:
    assert program.stdout
    said = program.stdout.readline()
    assert said == wanted, said + (program.stdout.read() if program.poll() is not None else "")


def goes_on(program: subprocess.Popen[str], n: int) -> None:
    assert program.stdin
    program.stdin.write("\n")
    program.stdin.flush()
    says(program, f"[{n}, 1]\n")


def test_heads_move_and_their_names_are_followed(moving: Moving, tmp_path: Path) -> None:
    keyload = str(tmp_path / "keyload")
    words = ["go", "build", "-o", keyload, "./tests/robust/keyload"]
    subprocess.run(words, cwd=ROBUST.parents[1], env={**os.environ, "CGO_ENABLED": "0"}, check=True)
    old = ",".join(f"{address}:6379" for address in moving.addresses.values())
    d = moving.node("d", "h1:6379,h2:6379")
    e = moving.node("e", old)  # it has heard no name from anybody but the heads
    programs = [d.python(CALLS), e.python(CALLS)]
    for program in programs:
        says(program, "1\n")

    moving.lab.run("ip", "link", "set", "to-d", "down")  # d hears nothing of what follows
    for name in NAMES:
        moving.move(name)
        until(lambda: "3 of 3 voters are healthy" in moving.heads(e), LIMIT_S, f"{name} has moved")
    goes_on(programs[1], 2)
    moving.lab.run("ip", "link", "set", "to-d", "up")
    goes_on(programs[0], 2)  # the node lives, and what it begins now needs the head that leads
    until(lambda: "3 of 3 voters are healthy" in moving.heads(d), LIMIT_S, "d has found the heads")

    histories = [tmp_path / f"{machine.name}.history" for machine in (d, e)]
    for machine, history in zip((d, e), histories, strict=True):
        for name in NAMES:
            program = machine.python(CALLS, f"{name}:6379")
            says(program, "1\n")
            goes_on(program, 2)
            program.communicate(timeout=LIMIT_S)
        flags = (f"--out={history}", f"--name={machine.name}", "--rate=500")
        service = machine.popen("env", "EAGLERAY_ADDRESS=h2:6379", keyload, "load", *flags)
        assert service.stdout and "ready" in service.stdout.readline()
        until(lambda h=history: h.exists() and h.stat().st_size > 0, LIMIT_S, "changes of a service in Go")
        service.communicate("", timeout=LIMIT_S)
    judged = subprocess.run([keyload, "judge", *map(str, histories)], capture_output=True, text=True, check=False)
    verdict = json.loads(judged.stdout)
    assert not verdict["wrong"] and verdict["writes"] > 0
    for program in programs:
        program.communicate(timeout=LIMIT_S)
        assert program.returncode == 0
