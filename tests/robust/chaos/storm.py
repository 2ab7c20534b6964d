"""Thousands of tasks and many actors while a worker is killed every so often: nothing wrong, nothing left behind.

``python -m chaos.storm --seed 1`` in ``tests/robust`` runs the full size.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import secrets
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import eagleray as ray
from processes import until

from chaos import LIMIT
from chaos.audit import Audit, holders
from chaos.killer import Killer
from chaos.pace import slowness
from chaos.piece import Piece
from chaos.recovery import RecoveryMonitor
from chaos.spread import judge, make_huge
from chaos.works import KINDS, Kinds, compute

#: Pieces of work that are under way at a time.
AHEAD = 150
#: Bytes of the object store: some of the large objects have to go to disk.
STORE = 80_000_000


#: Seconds in which a killed worker is replaced, on a quiet machine.
REPLACED = 0.1
TASKS, ACTORS = "a task's worker, among nothing else", "an actor's worker, among nothing else"
STORM = "an actor's worker, in the storm"


@dataclass
class Gaps:
    """How long killed workers of one kind were missed."""

    seconds: list[float]
    #: How many times slower than a quiet one the machine was: what else ran on it takes its part of the time.
    slow: float
    #: Whether the bound holds for nearly all, and not for half of them only: a storm keeps all cores busy by itself.
    alone: bool = True

    def at(self, part: float) -> float:
        """The time in which that part of them was replaced."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * part))]

    @property
    def late(self) -> bool:
        """Whether replacing took longer than it may."""
        return bool(self.seconds) and self.at(0.95 if self.alone else 0.5) > REPLACED * self.slow

    def told(self, kind: str) -> str:
        """In words."""
        if not self.seconds:
            return f"replaced {kind}: no kill was measured"
        times = [round(1000 * self.at(part)) for part in (0.5, 0.95, 1)]
        bound = f"{'95 %' if self.alone else 'the median'} may be {1000 * REPLACED * self.slow:.0f} ms"
        return (
            f"replaced {kind}: {times[0]} ms (median), {times[1]} ms (95 %), {times[2]} ms (longest) of "
            f"{len(self.seconds)}; {bound} while the machine is {self.slow:.1f} times slower than a quiet one"
        )


@dataclass
class Outcome:
    """What came of a run."""

    seed: int
    pieces: dict[str, int] = field(default_factory=collections.Counter)
    again: int = 0
    kills: int = 0
    spilled: dict[str, int] = field(default_factory=dict)
    held: list[str] = field(default_factory=list)
    seconds: float = 0
    gaps: dict[str, Gaps] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    leaks: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """The report."""
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.pieces.items()))
        disk = self.spilled
        found = [
            f"seed {self.seed}: {sum(self.pieces.values())} pieces of work in {self.seconds:.1f} s, "
            f"{self.kills} workers killed, {self.again} pieces begun again (the owner of their objects was killed)",
            f"  {kinds}",
            f"  {disk['spill_objects']} objects went to disk ({disk['spill_stored_bytes'] >> 20} MiB), "
            f"{disk['restore_objects']} came back",
        ]
        found += ["  " + gaps.told(kind) for kind, gaps in self.gaps.items()]
        found += [f"  WRONG: {one}" for one in self.wrong[:10]]
        found += [f"  LEFT BEHIND: {what}: {was} before, {now} after" for what, (was, now) in self.leaks.items()]
        found += [f"    {one}" for one in self.held]
        if not self.wrong and not self.leaks:
            found.append("  every result right; no object, descriptor, process or shared memory left behind")
        return found


class Storm:
    """One run in a session of its own.

    Args:
        seed: Chooses work and victims.
        pieces: How many pieces of work there are.
        actors: How many actors take part.
        interval: Seconds between two kills.
        replaced: How many kills of task workers there are before, and as many of actors, while nothing else is done.
    """

    def __init__(self, seed: int, pieces: int, actors: int, interval: float, replaced: int = 60) -> None:
        self.outcome = Outcome(seed)
        self._chance = random.Random(seed)
        self._pieces = pieces
        self._replaced = replaced
        self._actors = actors
        self._interval = interval
        self._under_way: dict[Any, Piece] = {}
        self._tag = 0

    def run(self, session: Any, monitor: RecoveryMonitor) -> Outcome:
        """Works, takes stock, and tells."""
        ray.get([compute.remote(0, large, 0.01) for large in [False, True] * 10], timeout=LIMIT)
        ray.get(judge.remote(make_huge.remote(100), 100), timeout=LIMIT)  # now the daemon has what it makes but once
        audit = Audit(session)
        slow = slowness()
        tasks = self._replace_tasks(session, monitor) if self._replaced else []
        kinds = Kinds(self._actors)
        ray.get([actor.where.remote() for actor in kinds.actors], timeout=LIMIT)
        actors = self._replace_actors(session, monitor, kinds) if self._replaced else []
        slow = max(slow, slowness())
        self.outcome.gaps = {TASKS: Gaps(tasks, slow), ACTORS: Gaps(actors, slow)}
        killer = Killer(session.daemon_pid, monitor, self.outcome.seed, self._interval)
        start = time.monotonic()
        killer.start()
        try:
            self._work(kinds)
        finally:
            killer.stop()
        self.outcome.seconds = time.monotonic() - start
        if not monitor.wait_recovered(LIMIT):
            self.outcome.wrong.append(f"a killed actor is not back within {LIMIT:.0f} s")
        monitor.forget_missing()
        self._finish(kinds)
        self.outcome.kills = killer.killed
        self.outcome.gaps[STORM] = Gaps(monitor.take("actor"), max(slow, slowness()), alone=False)
        self.outcome.leaks = audit.leaks()
        self.outcome.held = holders() if self.outcome.leaks else []
        self.outcome.spilled = audit.spilled()
        return self.outcome

    def _replace_actors(self, session: Any, monitor: RecoveryMonitor, kinds: Kinds) -> list[float]:
        """Kills workers of actors that nobody calls."""
        killer = Killer(session.daemon_pid, monitor, self.outcome.seed, self._interval)
        killer.start()
        until(lambda: killer.killed >= self._replaced, LIMIT)
        killer.stop()
        if not monitor.wait_recovered(LIMIT):
            self.outcome.wrong.append(f"a killed actor is not back within {LIMIT:.0f} s")
        monitor.forget_missing()
        ray.get([actor.where.remote() for actor in kinds.actors], timeout=LIMIT)
        return monitor.take("actor")

    def _replace_tasks(self, session: Any, monitor: RecoveryMonitor) -> list[float]:
        """Kills workers of one stream of tasks that keeps all of them busy."""
        killer = Killer(session.daemon_pid, monitor, self.outcome.seed, self._interval, busy=True)
        refs = [compute.remote(self._tag, False, 0.005) for _ in range(AHEAD)]
        killer.start()
        end = time.monotonic() + LIMIT
        while killer.killed < self._replaced and time.monotonic() < end:
            ready, refs = ray.wait(refs, timeout=LIMIT)
            if not ready:
                break
            self._same(ready)
            refs.append(compute.remote(self._tag, False, 0.005))
        killer.stop()
        monitor.forget_missing()
        ready, late = ray.wait(refs, num_returns=len(refs), timeout=LIMIT)
        self._same(ready)
        if late:
            self.outcome.wrong.append(f"{len(late)} of {AHEAD} tasks are not done within {LIMIT:.0f} s")
        return monitor.take("task")

    def _same(self, refs: list[Any]) -> None:
        for found in ray.get(refs, timeout=LIMIT):
            if found != self._tag:
                self.outcome.wrong.append("a task among nothing else: a wrong value")

    def _work(self, kinds: Kinds) -> None:
        names, weights = zip(*KINDS.items(), strict=True)
        for _ in range(self._pieces):
            self._begin(kinds, self._chance.choices(names, weights)[0])
            if len(self._under_way) >= AHEAD:
                self._take(kinds, 1)
        self._drain(kinds)
        while kinds.kept and not self.outcome.wrong:
            for piece in kinds.rest():
                self._wait_for(piece, "large")
            self._drain(kinds)

    def _drain(self, kinds: Kinds) -> None:
        while self._under_way and len(self.outcome.wrong) < 10:
            self._take(kinds, 1)

    def _begin(self, kinds: Kinds, kind: str) -> None:
        self._tag += 1
        self._wait_for(getattr(kinds, kind)(self._chance, self._tag * 100), kind)

    def _wait_for(self, piece: Piece, kind: str) -> None:
        piece.kind = kind
        self._under_way[piece.ref] = piece

    def _take(self, kinds: Kinds, number: int) -> None:
        ready, _ = ray.wait(list(self._under_way), num_returns=number, timeout=LIMIT)
        if not ready:
            stuck = collections.Counter(piece.kind for piece in self._under_way.values())
            self.outcome.wrong.append(f"nothing got ready in {LIMIT:.0f} s: {dict(stuck)}")
            self._under_way.clear()
        for ref in ready:
            piece = self._under_way.pop(ref)
            try:
                right = piece.look()
            except piece.excused:
                self.outcome.again += 1
                self._begin(kinds, piece.kind)
                continue
            except Exception as error:
                self.outcome.wrong.append(f"{piece.kind}: {type(error).__name__}: {str(error)[:300]}")
                continue
            if isinstance(right, Piece):
                self._wait_for(right, piece.kind)
                continue
            self.outcome.pieces[piece.kind] += 1
            if not right:
                self.outcome.wrong.append(f"{piece.kind}: a wrong value")

    def _finish(self, kinds: Kinds) -> None:
        """Every actor answers in the end, and goes."""
        try:
            found = ray.get([actor.where.remote() for actor in kinds.actors], timeout=LIMIT)
            if found != list(range(self._actors)):
                self.outcome.wrong.append("an actor is another one")
        except Exception as error:
            self.outcome.wrong.append(f"an actor that does not answer any more: {type(error).__name__}: {error}")
        kinds.close()


def main(words: list[str]) -> int:
    """Runs the storms that the command line asks for; 1 when one went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--actors", type=int, default=100)
    parser.add_argument("--interval", type=float, default=0.1)
    parser.add_argument("--replaced", type=int, default=60, help="kills by which replacement is measured alone")
    given = parser.parse_args(words)
    os.environ["EAGLERAY_ROBUST_MARK"] = secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="er-", dir="/tmp") as folder:
        os.environ["EAGLERAY_TMPDIR"] = folder
        monitor = RecoveryMonitor(Path(folder))
        with ray.init(address="local", num_cpus=2, object_store_memory=STORE, log_to_driver=False):
            from eagleray._private.state import process

            storm = Storm(given.seed, given.tasks, given.actors, given.interval, given.replaced)
            outcome = storm.run(process.require(), monitor)
        monitor.close()
    print(*outcome.lines(), sep="\n")
    for kind, gaps in outcome.gaps.items():
        if gaps.late:
            print(f"  WRONG: replacing {kind} takes too long")
    if outcome.wrong or outcome.leaks or any(gaps.late for gaps in outcome.gaps.values()):
        print(f"repeat it with: make robust SEED={given.seed}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
