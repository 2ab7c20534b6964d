"""The blows that strike a node of a lab, and who deals them: which one comes when follows from a seed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from net.lab import Lab
from net.machine import Machine
from processes import until

from chaos import disk

#: Within which the processes of a killed node end, and a node that was struck lives again, as the same or as a new one.
GONE_S = 30.0
BACK_S = 60.0
#: Within which part of the silence that makes a node dead its end is told. From the half on it counts as unreachable.
TOLD = 0.4
WAYS = ("kill", "pause", "cut_one_way", "cut_both_ways", "slow_disk")


@dataclass(frozen=True)
class Blow:
    """One blow: how a node is struck, which, and for how long."""

    way: str
    node: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.way} {self.node}" + ("" if self.way == "kill" else f" {self.seconds:g} s")


def plan(seed: int, ways: list[str], nodes: str, seconds: tuple[float, ...]) -> Iterator[Blow]:
    """Blows without an end: all ways in some order, then all again in another one. A seed gives the same blows."""
    chance = random.Random(seed)
    while True:
        for way in chance.sample(ways, len(ways)):
            yield Blow(way, chance.choice(nodes), chance.choice(seconds))


@dataclass
class Field:
    """The cluster that is struck.

    Attributes:
        lab: Its machines. The first one has the head.
        head: The head's address and the file of the token.
        flags: With which the other nodes are started.
        timeout_s: After which silence a node is dead.
    """

    lab: Lab
    head: tuple[str, str]
    flags: tuple[str, ...]
    timeout_s: float

    def join(self, machine: Machine) -> None:
        machine.join(self.head, *self.flags)

    def living(self) -> dict[str, list[str]]:
        """The nodes that the head counts on: their ids by their names."""
        found: dict[str, list[str]] = {}
        for line in self.lab.machines["a"]("status").splitlines():
            row = line.split()
            if len(row) > 3 and row[0] == "alive" and row[1] in ("head", "node"):
                found.setdefault(row[3], []).append(row[2])
        return found

    def strike(self, blow: Blow) -> None:
        """Deals a blow and waits until the node lives again.

        Raises:
            TimeoutError: It does not, or its processes did not end.
            AssertionError: It was declared dead, though it was not silent for that long.
        """
        machine = self.lab.machines[blow.node]
        (before,) = self.living()[blow.node]
        getattr(self, blow.way)(machine, blow.seconds)
        dies = blow.way == "kill" or (blow.way != "slow_disk" and blow.seconds > self.timeout_s)
        # The end of a killed node is told. Its silence would tell it later.
        limit = min(BACK_S, TOLD * self.timeout_s) if blow.way == "kill" and self.timeout_s > 10 else BACK_S

        def back() -> bool:
            ids = self.living().get(blow.node, [])
            if not dies and ids and before not in ids:
                raise AssertionError(f"{blow.node} was declared dead, and is a new node now")
            return len(ids) == 1 and (ids[0] == before) != dies

        new = "as a new node" if dies else "as it was"
        until(back, limit, f"{blow.node} lives again, {new}, after {blow.way}")

    def kill(self, machine: Machine, _: float) -> None:
        """Kills the daemon; another node of that name is started."""
        machine.signal(signal.SIGKILL)
        until(lambda: not machine.members(), GONE_S, f"the processes of the killed node {machine.name} end")
        self.join(machine)

    def pause(self, machine: Machine, seconds: float) -> None:
        """Stops all of the node for a while, as a machine that swaps or is moved."""
        pids = list(machine.members())
        try:
            _send(pids, signal.SIGSTOP)
            time.sleep(seconds)
        finally:
            _send(pids, signal.SIGCONT)

    def cut_one_way(self, machine: Machine, seconds: float) -> None:
        """What the node sends is lost for a while, and what it gets is not."""
        others = sorted(self.lab.machines.keys() - {machine.name})
        for other in others:
            self.lab.cut(machine.name, other, both=False)
        time.sleep(seconds)
        for other in others:
            self.lab.heal(machine.name, other, both=False)

    def cut_both_ways(self, machine: Machine, seconds: float) -> None:
        """The node is alone for a while."""
        self.lab.isolate(machine.name)
        time.sleep(seconds)
        self.lab.rejoin(machine.name)

    def slow_disk(self, machine: Machine, seconds: float) -> None:
        """The disk is slow for a while, for the node with its workers, and for the node with the head and its state."""
        with contextlib.ExitStack() as stack:
            for one in (machine, self.lab.machines["a"]):
                stack.enter_context(disk.slow(one.folder, lambda one=one: list(one.members())))  # type: ignore[misc]
            time.sleep(seconds)


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class Striker:
    """Deals the blows of a plan, one each interval, or when the node that was struck last lives again if that is later.

    Attributes:
        struck: The blows that were dealt.
        error: What was wrong; "" is nothing.
    """

    def __init__(self, field: Field, blows: Iterator[Blow], interval_s: float) -> None:
        self._field, self._blows, self._interval_s = field, blows, interval_s
        self._over = threading.Event()
        self.struck: list[Blow] = []
        self.error = ""
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Striker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        next_s = time.monotonic() + self._interval_s
        while not self._over.wait(max(0, next_s - time.monotonic())):
            next_s = time.monotonic() + self._interval_s
            blow = next(self._blows, None)
            if blow is None:
                return
            self.struck.append(blow)
            began = time.monotonic()
            print(f"  {time.strftime('%H:%M:%S')} {blow}", end="", flush=True)
            try:
                self._field.strike(blow)
            except Exception as error:
                self.error = f"{blow}: {type(error).__name__}: {error}"
                print(flush=True)
                return
            print(f": back after {time.monotonic() - began:.1f} s", flush=True)
