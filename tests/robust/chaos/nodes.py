"""Work on five nodes while one of them is struck every 10 seconds: every result right, nothing left on any node.

``python -m chaos.nodes --seed 1`` in ``tests/robust`` runs the full size. The nodes are in network namespaces of their
own (package ``net``). The first one has the head and the program; the blows go to the others.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from net.lab import Lab, unavailable
from net.machine import Machine
from processes import until

NODES = 5
INTERVAL_S = 10.0
#: How long a blow lasts that a node survives. Nodes that are silent for longer are not declared dead yet.
BLOW_S = 3.0
#: Within which something has to end. A connection without a word is given up after 60 s.
PATIENCE_S = 150.0
GONE_S = 30.0
SMALL = ("--num-cpus=2", "--num-gpus=0", "--object-store-memory=150000000", '--resources={"work": 8}')
#: Keeps the disk of a folder busy: writes and syncs until it is killed.
BUSY = """
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o600)
while True:
    os.pwrite(fd, os.urandom(1 << 22), 0)
    os.fsync(fd)
"""


@dataclass
class Field:
    """The cluster that is struck."""

    lab: Lab
    head: tuple[str, str]

    def join(self, machine: Machine) -> None:
        machine.join(self.head, *SMALL)

    def kill(self, machine: Machine) -> None:
        """Kills the daemon; the node comes back as a new one."""
        machine.signal(signal.SIGKILL)
        until(lambda: not machine.members(), GONE_S, f"the processes of the killed node {machine.name} end")
        self.join(machine)

    def pause(self, machine: Machine) -> None:
        """Stops all of the node for a while, as a machine that swaps or is moved."""
        pids = list(machine.members())
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in pids:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    continue
            if number == signal.SIGSTOP:
                time.sleep(BLOW_S)

    def cut_one_way(self, machine: Machine) -> None:
        """What the node sends is lost for a while, and what it gets is not."""
        others = self.lab.machines.keys() - {machine.name}
        for other in others:
            self.lab.cut(machine.name, other, both=False)
        time.sleep(BLOW_S)
        for other in others:
            self.lab.heal(machine.name, other, both=False)

    def cut_both_ways(self, machine: Machine) -> None:
        """The node is alone for a while."""
        self.lab.isolate(machine.name)
        time.sleep(BLOW_S)
        self.lab.rejoin(machine.name)

    def slow_disk(self, machine: Machine) -> None:
        """The disk is busy for a while, where the node keeps its session, and where the head keeps its state."""
        files = [str(one.folder / "busy") for one in (machine, self.lab.machines["a"])]
        busy = [subprocess.Popen([sys.executable, "-c", BUSY, file]) for file in files]
        time.sleep(BLOW_S)
        for process in busy:
            process.kill()
            process.wait()
        for file in files:
            os.unlink(file)

    def blows(self) -> list[Callable[[Machine], None]]:
        return [self.kill, self.pause, self.cut_one_way, self.cut_both_ways, self.slow_disk]


class Striker:
    """Strikes one node each interval, in all ways before one comes again; a seed says which nodes, in which order."""

    def __init__(self, field: Field, seed: int, only: list[str]) -> None:
        self._field, self._chance = field, random.Random(seed)
        self._only, self._over = only, threading.Event()
        self.struck: list[str] = []
        self.error = ""
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Striker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        ways: list[Callable[[Machine], None]] = []
        while not self._over.wait(INTERVAL_S):
            if not ways:
                ways = [way for way in self._field.blows() if not self._only or way.__name__ in self._only]
                self._chance.shuffle(ways)
            way, name = ways.pop(), self._chance.choice("bcde")
            self.struck.append(f"{way.__name__} {name}")
            print(f"  {time.strftime('%H:%M:%S')} {self.struck[-1]}", flush=True)
            try:
                way(self._field.lab.machines[name])
            except Exception as error:
                self.error = f"{self.struck[-1]}: {type(error).__name__}: {error}"
                return


def _has_ended(machine: Machine) -> Callable[[], bool]:
    return lambda: not machine.members()


def left(machines: list[Machine]) -> list[str]:
    """Stops all nodes, and says what of them is there afterwards."""
    found = []
    for machine in reversed(machines):
        machine("stop")
    sockets = machines[0].lab.run("cat", "/proc/net/unix")
    for machine in machines:
        try:
            until(_has_ended(machine), GONE_S)
        except TimeoutError:
            found += [f"process {pid} of {machine.name}: {line}" for pid, line in machine.members().items()]
        if str(machine.folder) in sockets:
            found.append(f"sockets of {machine.name}")
        found += [f"{path} of {machine.name}" for path in machine.folder.glob("eagleray-*/s-*/spill*/*")]
    return found


def strike(given: argparse.Namespace, lab: Lab, folder: Path) -> list[str]:
    """Runs the work under the blows. Returns what was wrong."""
    machines = list(lab.machines.values())
    flags = [flag for flag in SMALL if not flag.startswith("--resources")]
    field = Field(lab, machines[0].start_head(*flags))
    for machine in machines[1:]:
        field.join(machine)
    runs = folder / "runs"
    sizes = {"seed": given.seed, "seconds": given.seconds, "pieces": given.pieces, "actors": given.actors}
    words = [f"--{name}={value}" for name, value in sizes.items()]
    words += [f"--patience={PATIENCE_S}", f"--runs={runs}"]
    program = machines[0].popen(sys.executable, str(Path(__file__).with_name("nodeswork.py")), *words)
    assert program.stdout
    said = [program.stdout.readline()]
    assert said[0] == "begun\n", said[0] + program.stdout.read()
    with Striker(field, given.seed, given.only) as striker:
        said += program.stdout.readlines()
    status = program.wait()
    told = [line[5:] for line in said if line.startswith("told ")]
    wrong = [striker.error] if striker.error else []
    if status or not told:
        wrong.append(f"the program ended with status {status}: {''.join(said)[-2000:]}")
    else:
        result = json.loads(told[0])
        wrong += result["wrong"]
        done = ", ".join(f"{count} {kind}" for kind, count in sorted(result["done"].items()))
        print(f"  {done}; {result['again']} tasks ran again; the longest piece took {result['longest']:.1f} s")
        for missing in result["missing"]:
            print(f"  not there yet: {missing}")
        if not wrong and not sum(result["done"].values()):
            wrong.append("nothing was done")
    print(f"  {len(striker.struck)} blows")
    return wrong + [f"left: {one}" for one in left(machines)]


def main(words: list[str]) -> int:
    """Runs it; 1 when something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"))
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--pieces", type=int, default=2000, help="pieces of work, at least; most are three tasks")
    parser.add_argument("--actors", type=int, default=50)
    parser.add_argument("--only", nargs="*", default=[], help="ways to strike: kill, pause, cut_one_way, ...")
    given = parser.parse_args(words)
    if why := unavailable():
        print(why)
        return 1
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="er", dir="/tmp") as folder, Lab(NODES) as lab:
        wrong = strike(given, lab, Path(folder))
    for one in wrong[:20]:
        print(f"  WRONG: {one}")
    verdict = "FAILED" if wrong else "every result right, nothing left on any node"
    print(f"nodes: seed {given.seed}, {time.monotonic() - start:.0f} s: {verdict}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
