"""A cluster of several heads in a lab: who leads, and the ways to strike heads."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from net.lab import Lab
from net.machine import Machine
from processes import alive, until

from chaos import clock, disk

#: Within which all heads are healthy again after a blow.
BACK_S = 60.0
#: The size of a disk that can be filled, and within which its head needs more room than is left: a file of the log is
#: made whole, and has 2 MiB.
SMALL_MB, FULL_S = 24, 180.0
HEAD = ("--num-cpus=1", "--num-gpus=0", "--object-store-memory=100000000")
NODE = ("--num-cpus=2", "--num-gpus=0", "--object-store-memory=200000000")


@dataclass
class Dealt:
    """A blow that was dealt.

    Attributes:
        kind: How.
        at: When, in nanoseconds of the monotonic clock.
        over: When it was over; what was cut is whole again, and what was stopped goes on.
        healthy: When all heads were healthy again.
    """

    kind: str
    at: int
    over: int = 0
    healthy: int = 0


@dataclass
class Heads:
    """The machines of a lab: the first ones have a head and a node each, and the last one has a node with the work.

    Attributes:
        lab: The machines.
        count: How many heads there are.
        flags: More flags of the heads, for each machine.
        dealt: The blows.
        killed: The machines whose heads the last blow has killed, with the processes of these.
    """

    lab: Lab
    count: int
    flags: Callable[[Machine], tuple[str, ...]] = lambda _: ()
    dealt: list[Dealt] = field(default_factory=list)
    killed: dict[Machine, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.heads = list(self.lab.machines.values())[: self.count]
        self.work = list(self.lab.machines.values())[-1]
        self.where = self.heads[0].start_head(*HEAD, *self.flags(self.heads[0]))
        for machine in self.heads[1:]:
            machine.join(self.where, "--head", *HEAD, *self.flags(machine))
        self.work.join(self.where, *NODE)
        until(self.healthy, BACK_S, f"{self.count} heads vote and are healthy")

    def list(self, asked: list[Machine] | None = None) -> list[dict[str, Any]]:
        """What ``eagleray heads list`` shows when these heads are asked; nothing while no head leads."""
        where = ",".join(f"{machine.address}:6379" for machine in asked or self.heads)
        said = self.work.ask("heads", "list", "--json", f"--address={where}")
        if said is None:
            return []
        rows: list[dict[str, Any]] = json.loads(said)
        return rows

    def healthy(self, without: int = 0) -> bool:
        """Whether one leads, and all others vote and are healthy, but for some that are lost."""
        rows = self.list()
        well = [row for row in rows if row["healthy"] and row["role"] in ("leader", "voter")]
        return len(well) >= self.count - without and any(row["role"] == "leader" for row in rows)

    def leads(self, asked: list[Machine] | None = None) -> Machine | None:
        """The machine of the head that leads, if one does; as these heads know."""
        hosts = [row["addresses"][0] for row in self.list(asked) if row["role"] == "leader"]
        return next((m for m in self.heads if any(host.startswith(f"{m.address}:") for host in hosts)), None)

    def leader(self) -> Machine:
        """The machine of the head that leads, when one does."""
        until(self.leads, BACK_S, "a head leads")
        return self.leads() or self.leader()

    def deal(self, kind: str, chance: random.Random) -> Dealt:
        """Deals a blow, and waits until all heads are healthy again.

        Raises:
            TimeoutError: They are not.
        """
        leader = self.leader()
        others = [machine for machine in self.heads if machine is not leader]
        chance.shuffle(others)
        blow = Dealt(kind, 0)
        self.dealt.append(blow)
        self.killed = {}
        WAYS[kind](self, blow, [leader, *others], chance)
        blow.over = time.monotonic_ns()
        until(lambda: all(_again(*one) for one in self.killed.items()), BACK_S, "the killed heads run again")
        until(self.healthy, BACK_S, f"all heads are healthy again after {kind} of {leader.name}")
        blow.healthy = time.monotonic_ns()
        return blow


Way = Callable[[Heads, Dealt, list[Machine], random.Random], None]


def _kill(which: Callable[[list[Machine]], list[Machine]]) -> Way:
    """Kills processes of heads. Their wardens start them again."""

    def way(cluster: Heads, blow: Dealt, heads: list[Machine], _: random.Random) -> None:
        cluster.killed = {machine: machine.pid("head.pid") for machine in which(heads)}
        blow.at = time.monotonic_ns()
        for pid in cluster.killed.values():
            os.kill(pid, signal.SIGKILL)

    return way


def _again(machine: Machine, killed: int) -> bool:
    """Whether a head runs again in place of one that was killed. The other heads may not know that it was gone."""
    try:
        return machine.pid("head.pid") != killed
    except ProcessLookupError:
        return False


def _stop(_: Heads, blow: Dealt, heads: list[Machine], chance: random.Random) -> None:
    """Stops the leader's process for a while; then it believes for a moment that it leads."""
    pid = heads[0].pid("head.pid")
    blow.at = time.monotonic_ns()
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(chance.choice([0.5, 1, 2, 5, 12, 20]))
    finally:
        os.kill(pid, signal.SIGCONT)


def _stall(cluster: Heads, blow: Dealt, heads: list[Machine], chance: random.Random) -> None:
    """Has the disk of the leader not answer for a while. Another head has to lead before it answers again."""
    with disk.stalled(heads[0].folder, [heads[0].pid("head.pid")]):
        blow.at = time.monotonic_ns()
        until(
            lambda: cluster.leads(heads[1:]) not in (None, heads[0]), BACK_S, f"another head leads than {heads[0].name}"
        )
        time.sleep(chance.choice([0, 1, 5]))


def _slow(which: int) -> Way:
    """Has a head wait a fifth of a second for each write to its disk, for a while; it goes on all the same."""

    def way(_: Heads, blow: Dealt, heads: list[Machine], chance: random.Random) -> None:
        machine = heads[which]
        with disk.slow(machine.folder, lambda: [machine.pid("head.pid")]):
            blow.at = time.monotonic_ns()
            time.sleep(chance.uniform(2, 10))

    return way


#: By how many seconds the clock of a machine is wrong: from what nobody notices to longer than a certificate holds.
JUMPS_S = (3, 300, 86_400, 40 * 86_400, 4000 * 86_400)


def _clock(which: int, kills: bool = False) -> Way:
    """Sets the clock of a machine to a wrong time of day, before or after the right one, and later back.

    Another head can be killed meanwhile: then it comes back and both look at certificates.
    """

    def way(_: Heads, blow: Dealt, heads: list[Machine], chance: random.Random) -> None:
        pids = [heads[which].pid(name) for name in ("head.pid", "pid", "warden.pid")]
        seconds = chance.choice(JUMPS_S) * chance.choice((1, -1))
        blow.at = time.monotonic_ns()
        try:
            for pid in pids:
                clock.jump(pid, seconds)
            if kills:
                heads[1 - which].signal(signal.SIGKILL, "head.pid")
            time.sleep(chance.uniform(1, 8))
        finally:
            for pid in pids:
                clock.jump(pid, 0)

    return way


def small_disk(machine: Machine) -> tuple[str, ...]:
    """Gives the head of a machine a small disk of its own for its state. Returns the flag that names it."""
    where = f"{machine.folder}/state"
    machine.lab.run("mkdir", where)
    machine.lab.run("mount", "-t", "tmpfs", "-o", f"size={SMALL_MB}m", "tmpfs", where)
    return (f"--state-dir={where}",)


def _fill(cluster: Heads, blow: Dealt, heads: list[Machine], chance: random.Random) -> None:
    """Fills the disk of the leader, or of another head, until its head has stopped; then there is room again."""
    machine = heads[chance.randrange(2)]
    pid, fill = machine.pid("head.pid"), f"{machine.folder}/state/fill"
    blow.at = time.monotonic_ns()
    cluster.lab.run("sh", "-c", f"dd if=/dev/zero of={fill} bs=4k 2>/dev/null || true")
    until(lambda: not alive(pid), FULL_S, f"the head of {machine.name} stops, whose disk is full")
    log = (machine.session() / "logs" / "head.log").read_text() + (
        machine.session() / "logs" / "warden.log"
    ).read_text()
    assert "Make room on its disk" in log, log[-2000:]
    until(lambda: cluster.healthy(without=1), BACK_S, "the other heads go on")
    cluster.lab.run("rm", fill)


def _cut(pairs: Callable[[Heads, list[Machine]], list[tuple[Machine, Machine]]], seconds: float) -> Way:
    """Drops what goes from one machine to another, for a while."""

    def way(cluster: Heads, blow: Dealt, heads: list[Machine], chance: random.Random) -> None:
        ways = pairs(cluster, heads)
        blow.at = time.monotonic_ns()
        for one, other in ways:
            cluster.lab.cut(one.name, other.name, both=False)
        try:
            time.sleep(chance.uniform(1, seconds))
        finally:
            for one, other in ways:
                cluster.lab.heal(one.name, other.name, both=False)

    return way


def _both(pairs: list[tuple[Machine, Machine]]) -> list[tuple[Machine, Machine]]:
    return pairs + [(other, one) for one, other in pairs]


WAYS: dict[str, Way] = {
    "kill_leader": _kill(lambda heads: heads[:1]),
    "kill_follower": _kill(lambda heads: heads[1:2]),
    "kill_two": _kill(lambda heads: heads[:2]),
    "kill_two_followers": _kill(lambda heads: heads[1:3]),
    "stop_leader": _stop,
    "stall_leader": _stall,
    "slow_leader": _slow(0),
    "slow_follower": _slow(1),
    "full_disk": _fill,
    "clock_leader": _clock(0),
    "clock_follower": _clock(1),
    "clock_and_kill_leader": _clock(1, kills=True),
    "clock_and_kill_follower": _clock(0, kills=True),
    # The leader is alone among the heads; then it is deaf, or mute; then it has lost one other head; then the machine
    # of the work has lost it.
    "cut_leader": _cut(lambda _, heads: _both([(heads[0], other) for other in heads[1:]]), 8),
    "deaf_leader": _cut(lambda _, heads: [(other, heads[0]) for other in heads[1:]], 8),
    "mute_leader": _cut(lambda _, heads: [(heads[0], other) for other in heads[1:]], 8),
    "cut_one_follower": _cut(lambda _, heads: _both([(heads[0], heads[1])]), 8),
    "cut_from_node": _cut(lambda cluster, heads: _both([(heads[0], cluster.work)]), 8),
    "cut_all_from_node": _cut(lambda cluster, heads: _both([(one, cluster.work) for one in heads]), 4),
}
#: Those for heads with disks of their own, and all others; and of these, those that leave a majority of three heads.
OF_SMALL_DISKS = ["full_disk"]
OF_FIVE = [way for way in WAYS if way not in OF_SMALL_DISKS]
OF_THREE = [way for way in OF_FIVE if not way.startswith("kill_two")]
#: Those that need what not every machine has, and why it is missing.
NEEDING: dict[str, Callable[[Heads], str]] = {
    "stall_leader": lambda cluster: disk.stalls(cluster.heads[0].folder),
    **{way: lambda _: clock.why_not() for way in WAYS if way.startswith("clock_")},
}
#: Those that cut machines off, and with them nodes.
CUTTING = [way for way in WAYS if way.startswith(("cut_", "deaf_", "mute_"))]
