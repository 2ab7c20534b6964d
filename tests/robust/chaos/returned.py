"""A node that was declared dead comes back: nothing that it had may go on.

``python -m chaos.returned --seed 1`` in ``tests/robust``. A plain detached actor works on one of two nodes and may
restart on the other one. Its node falls silent until it is declared dead, and the actor has restarted. Then the node
comes back. All processes that it had have to end soon, except for its warden, and a new node of that name has to join.
The actor writes lines all the time, so that a process of it that goes on shows what it does.

Exclusive actors are of no use here. They begin no call while the cluster does not count on their node, so the most that
a node which goes on does with them is to wait.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import eagleray as ray
from net.lab import ROBUST, Lab, unavailable
from net.machine import Machine
from processes import until

from chaos import tokens
from chaos.blows import Field
from chaos.nodes import SMALL, WORK
from chaos.nodesleft import left

#: A node is dead after so much silence, and each node is silent for so much longer than it takes to declare that.
TIMEOUT_S, SILENT_S = 5.0, 5.0
#: Within which what the returned node had has to end, and the new node to join.
ENDS_S = 20.0
BEAT_S = 0.05
WAYS = ("pause", "cut_both_ways", "cut_one_way")


@ray.remote(num_cpus=0, resources={"work": 1}, max_restarts=-1, max_task_retries=-1, lifetime="detached", name="beats")
class Beats:
    """Writes lines with its token for as long as its process lives, whoever calls it."""

    def __init__(self, lines: str) -> None:
        from eagleray._private.context import here

        self.token = here.actor.incarnation
        threading.Thread(target=self._beat, args=(lines,), daemon=True).start()

    def _beat(self, lines: str) -> None:
        while True:
            tokens.note(lines, "beats", self.token)
            time.sleep(BEAT_S)

    def where(self) -> tuple[str, int]:
        """The address of its node, and its token."""
        return ray.util.get_node_ip_address(), self.token


def program(lines: str) -> None:
    """Runs on the head's node: makes the actor, and says where it is whenever it is asked."""
    ray.init(log_to_driver=False, namespace="returned")
    actor = Beats.remote(lines)
    print(*ray.get(actor.where.remote(), timeout=60), flush=True)
    for _ in sys.stdin:
        print(*ray.get(actor.where.remote(), timeout=60), flush=True)
    ray.kill(actor)


class Check:
    """The cluster with the actor's program."""

    def __init__(self, lab: Lab, lines: Path) -> None:
        self.lab, self.lines = lab, lines
        machines = list(lab.machines.values())
        for machine in machines:  # workers import from here, too
            machine.env["PYTHONPATH"] = os.pathsep.join([str(ROBUST), *filter(None, [os.environ.get("PYTHONPATH")])])
        head = machines[0].start_head(*SMALL, f'--system-config={{"node_timeout": {TIMEOUT_S}}}')
        self.field = Field(lab, head, (*SMALL, *WORK), TIMEOUT_S)
        for machine in machines[1:]:
            self.field.join(machine)
        self.program = machines[0].popen(sys.executable, "-u", "-m", "chaos.returned", "--program", str(lines))
        self.place, self.token = self._said()

    def _said(self) -> tuple[Machine, int]:
        """Where the actor is: its machine and its token."""
        assert self.program.stdout
        line = self.program.stdout.readline()
        try:
            address, token = line.split()
            return next(one for one in self.lab.machines.values() if one.address == address), int(token)
        except (ValueError, StopIteration):
            raise AssertionError(f"the program has ended: {line}{self.program.stdout.read()}") from None

    def _moves(self) -> None:
        """Waits until the actor runs elsewhere."""
        assert self.program.stdin
        self.program.stdin.write("where\n")
        self.program.stdin.flush()
        place, token = self._said()
        assert place is not self.place and token > self.token, f"it runs on {place.name} with token {token}"
        self.place, self.token = place, token

    def strike(self, way: str) -> list[str]:
        """Strikes the actor's node in that way until the actor runs elsewhere. Returns what was wrong afterwards."""
        machine, token = self.place, self.token
        warden = machine.pid("warden.pid")
        (before,) = self.field.living()[machine.name]
        had = machine.members().keys() - {warden}
        blow = threading.Thread(target=getattr(self.field, way), args=(machine, TIMEOUT_S + SILENT_S))
        blow.start()
        try:
            until(lambda: before not in self.field.living().get(machine.name, []), TIMEOUT_S + SILENT_S, "it is dead")
            self._moves()
        finally:
            blow.join()
        back = tokens.now()

        def ended() -> bool:
            ids = self.field.living().get(machine.name, [])
            return not had & machine.members().keys() and len(ids) == 1 and ids[0] != before

        try:
            until(ended, ENDS_S)
            return []
        except TimeoutError:
            wrong = [f"process {pid} goes on: {line}" for pid, line in machine.members().items() if pid in had]
        lines = sum(one.token <= token and one.began > back for one in tokens.read(self.lines))
        if lines:
            wrong.insert(0, f"the actor's process with token {token} has written {lines} lines since")
        return wrong[:5] or ["no new node of that name has joined"]

    def end(self) -> None:
        """Ends the program, which kills the actor."""
        try:
            said, _ = self.program.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.program.kill()
            raise
        assert self.program.returncode == 0, said


def run(ways: list[str]) -> list[str]:
    """Strikes in each of the ways, until one goes wrong. Returns what was wrong."""
    with tempfile.TemporaryDirectory(prefix="er", dir="/tmp") as folder, Lab(3) as lab:
        check = Check(lab, Path(folder) / "lines")
        for way in ways:
            began, name = time.monotonic(), check.place.name
            wrong = check.strike(way)
            print(f"  {way} {name}: {time.monotonic() - began:.1f} s", flush=True)
            if wrong:
                return [f"{way}: {name} was declared dead, and has come back: {one}" for one in wrong]
        check.end()
        return [f"left: {one}" for one in left(list(lab.machines.values()))]


def main(words: list[str]) -> int:
    """Runs it; 1 when something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"), help="gives the same order")
    parser.add_argument("--only", nargs="*", default=list(WAYS), choices=WAYS, help="ways to fall silent")
    parser.add_argument("--program", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.program:
        program(given.program)
        return 0
    if why := unavailable():
        print(why)
        return 1
    start = time.monotonic()
    wrong = run(random.Random(given.seed).sample(given.only, len(given.only)))
    print(*(f"  WRONG: {one}" for one in wrong), sep="\n", end="\n" if wrong else "")
    verdict = "FAILED" if wrong else "nothing of a node that was declared dead goes on"
    print(f"returned: seed {given.seed}, {time.monotonic() - start:.0f} s: {verdict}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
