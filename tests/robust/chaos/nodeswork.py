"""The program that ``chaos.nodes`` runs beside the head: work for all nodes, each result of which is known.

Prints a line when it has begun, and at its end one JSON object: what was done, and what was wrong.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import eagleray as ray
import numpy as np
from processes import until

from chaos import nodeskept, tokens

#: Something on a node that may be lost; the head's node has none of it.
WORK = {"work": 1}
#: Runs of one task, at most: its first and its retries.
RETRIES = 20
AHEAD = 40
ELEMENTS = 60_000  # of 8 bytes: an object in the store
PARTS = 6
#: How a task that is not tried again may fail with its node.
LOST = (ray.exceptions.NodeDiedError, ray.exceptions.WorkerCrashedError, ray.exceptions.ObjectLostError)
#: Pumps under way, each of which calls all exclusive actors for so long, with pauses between the calls of an actor.
PUMPS, PUMP_S, PUMP_PAUSE_S = 4, 8.0, 0.1


@ray.remote(num_cpus=0.5, resources=WORK, max_retries=RETRIES)
def make(runs: str, number: int) -> Any:
    note(runs, f"make {number}")
    return np.full(ELEMENTS, number)


@ray.remote(num_cpus=0.5, resources=WORK, max_retries=0)
def once(runs: str, number: int) -> Any:
    """A task that is not tried again, so it may fail, but only with a node that dies meanwhile."""
    note(runs, f"once {number}")
    return np.full(ELEMENTS, number)


@ray.remote(num_cpus=0.5, resources=WORK, max_retries=RETRIES)
def add(runs: str, number: int, left: Any, inside: list[Any]) -> Any:
    note(runs, f"add {number}")
    return left + ray.get(inside[0])


@ray.remote(num_cpus=0.5, resources=WORK, max_retries=RETRIES)
def part(runs: str, number: int, seed: int) -> list[Any]:
    """One row of a shuffle: its numbers by their remainder."""
    note(runs, f"part {number}.{seed}")
    values = np.random.default_rng(seed).integers(0, 1 << 40, ELEMENTS)
    return [values[values % PARTS == remainder] for remainder in range(PARTS)]


@ray.remote(num_cpus=0.5, resources=WORK, max_retries=RETRIES)
def gather(runs: str, number: int, *parts: Any) -> int:
    note(runs, f"gather {number}")
    return int(sum(one.sum() for one in parts))


class Counter:
    """An actor that may be restarted: each call is answered by itself, so a lost state is no wrong answer."""

    def double(self, value: int) -> int:
        return 2 * value

    def where(self) -> str:
        return str(ray.get_runtime_context().get_node_id())


def _incarnation() -> int:
    from eagleray._private.context import here

    return here.actor.incarnation


class Single:
    """An actor that may be there only once at a time: each call writes down which incarnation has begun it."""

    def __init__(self, calls: str, name: str) -> None:
        self.calls, self.name = calls, name

    def double(self, value: int) -> int:
        tokens.note(self.calls, self.name, _incarnation())
        return 2 * value

    def where(self) -> str:
        return str(ray.get_runtime_context().get_node_id())


@ray.remote(num_cpus=0, resources={"work": 0.01}, max_retries=RETRIES, scheduling_strategy="SPREAD")
def pump(singles: list[Any], number: int) -> int:
    """Calls exclusive actors from some node, so that one that is cut off with its actor has calls for it, too."""
    end = time.monotonic() + PUMP_S

    def drive(actor: Any) -> int:
        value = number
        while time.monotonic() < end:
            found = ray.get(actor.double.remote(value))
            if found != 2 * value:
                raise ValueError(f"{found}, not {2 * value}")
            value += 1
            time.sleep(PUMP_PAUSE_S)
        return 1

    with ThreadPoolExecutor(len(singles)) as pool:
        return sum(pool.map(drive, singles))


def dead() -> int:
    """How many nodes have died so far."""
    return sum(not row["Alive"] for row in ray.nodes())


def died_since(count: int) -> bool:
    """Whether more nodes have died than that. The news may come a little later than what follows from the death."""
    with contextlib.suppress(TimeoutError):
        until(lambda: dead() > count, 5)
    return dead() > count


def note(runs: str, what: str) -> None:
    """Writes down that a task runs. Lines of one write do not mix."""
    with open(runs, "a") as f:
        f.write(what + "\n")


class Work:
    """Pieces of work that are under way, with what each is to give."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.chance, self.runs = random.Random(given.seed), given.runs
        self.waiting: dict[Any, tuple[str, Any, float, int]] = {}  # kind, result, begin, nodes that were dead then
        self.done: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self.longest = 0.0
        self.number = self.tasks = 0
        self.actors = self._actors(Counter, [()] * given.actors)
        names = [(given.calls, f"x{number}") for number in range(given.singles)]
        self.singles = self._actors(Single, names, exclusive=True)

    def _actors(self, kind: type, made: list[tuple[Any, ...]], **options: Any) -> list[Any]:
        options |= {"num_cpus": 0, "resources": {"work": 0.01}, "scheduling_strategy": "SPREAD"}
        maker = ray.remote(max_restarts=-1, max_task_retries=-1, **options)(kind)
        found = [maker.remote(*words) for words in made]
        ray.get([actor.where.remote() for actor in found], timeout=120)
        return found

    def begin(self) -> None:
        """Begins one piece of work."""
        self.number += 1
        kind = self.chance.choice(["add"] * 6 + ["once"] * 4 + ["call"] * 2 + ["single"] + ["shuffle"])
        pumps = sum(kind == "pump" for kind, *_ in self.waiting.values())
        getattr(self, "pump" if pumps < PUMPS and self.singles else kind)(self.number)

    def add(self, number: int) -> None:
        self.tasks += 3
        one, other = make.remote(self.runs, number), make.remote(self.runs, number + 10**9)
        self._await(add.remote(self.runs, number, one, [other]), "add", (2 * number + 10**9) * ELEMENTS)

    def once(self, number: int) -> None:
        self.tasks += 1
        self._await(once.remote(self.runs, number), "once", number * ELEMENTS)

    def call(self, number: int) -> None:
        self._await(self.chance.choice(self.actors).double.remote(number), "call", 2 * number)

    def single(self, number: int) -> None:
        self._await(self.chance.choice(self.singles or self.actors).double.remote(number), "single", 2 * number)

    def pump(self, number: int) -> None:
        self.tasks += 1
        self._await(pump.remote(self.singles, number), "pump", len(self.singles))

    def shuffle(self, number: int) -> None:
        self.tasks += 4 + PARTS
        seeds = [number * 100 + row for row in range(4)]
        rows = [part.options(num_returns=PARTS).remote(self.runs, number, seed) for seed in seeds]
        columns = [
            gather.remote(self.runs, number * 100 + column, *row) for column, row in enumerate(zip(*rows, strict=True))
        ]
        values = [np.random.default_rng(seed).integers(0, 1 << 40, ELEMENTS) for seed in seeds]
        for column, ref in enumerate(columns):
            self._await(ref, "shuffle", int(sum(row[row % PARTS == column].sum() for row in values)))

    def _await(self, ref: Any, kind: str, expected: Any) -> None:
        self.waiting[ref] = kind, expected, time.monotonic(), dead() if kind == "once" else 0

    def finish(self, limit: float) -> None:
        """Takes what has ended; one piece at least, within a limit."""
        ready, _ = ray.wait(list(self.waiting), timeout=limit)
        if not ready:
            kinds = collections.Counter(kind for kind, *_ in self.waiting.values())
            self.wrong.append(f"nothing ended within {limit:.0f} s; under way are {dict(kinds)}")
            self.waiting.clear()
            return
        for ref in ready:
            kind, expected, began, dead_then = self.waiting.pop(ref)
            self.longest = max(self.longest, time.monotonic() - began)
            try:
                value = ray.get(ref, timeout=limit)  # what is ready may be lost, and be made again
                found = value if isinstance(value, int) else int(value.sum())
            except Exception as error:
                if kind == "once" and isinstance(error, LOST) and died_since(dead_then):
                    self.done["lost with a node"] += 1
                    continue
                self.wrong.append(f"{kind}: {type(error).__name__}: {error}"[:500])
                continue
            self.done[kind] += 1
            if found != expected:
                self.wrong.append(f"{kind}: {found}, not {expected}")

    def run(self, seconds: float, tasks: int, patience: float) -> None:
        """Works until the time is over and enough is done, or something was wrong."""
        end = time.monotonic() + seconds

        def goes_on() -> bool:
            return (time.monotonic() < end or self.tasks < tasks) and not self.wrong

        while self.waiting or goes_on():
            while len(self.waiting) < AHEAD and goes_on():
                self.begin()
            if self.waiting:
                self.finish(patience)

    def end(self) -> None:
        """Lets go of everything. Actors end with their handles."""
        self.waiting.clear()
        self.actors, self.singles = [], []


def main() -> None:
    """Does the work, and checks that nothing of it is kept on any node."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--tasks", type=int, required=True)
    parser.add_argument("--actors", type=int, required=True)
    parser.add_argument("--singles", type=int, required=True)
    parser.add_argument("--patience", type=float, required=True, help="seconds within which something ends")
    parser.add_argument("--runs", required=True, help="a file: the runs of all tasks")
    parser.add_argument("--calls", required=True, help="a file: the calls of exclusive actors")
    given = parser.parse_args()
    ray.init(log_to_driver=False)
    work = Work(given)
    print("begun", flush=True)
    work.run(given.seconds, given.tasks, given.patience)
    runs = collections.Counter(Path(given.runs).read_text().splitlines()) if os.path.exists(given.runs) else {}
    often = [
        f"{what}: {times} runs"
        for what, times in runs.items()
        if times > (1 if what.startswith("once ") else RETRIES + 1)
    ]
    told = {"done": work.done, "wrong": work.wrong[:20] + often[:5], "tasks": work.tasks, "longest": work.longest}
    print("worked", flush=True)
    sys.stdin.readline()  # until the node that was struck last lives again
    if not work.wrong:
        work.end()
        told["kept"] = nodeskept.kept(given.patience)
    print("told " + json.dumps(told | {"again": sum(times - 1 for times in runs.values())}), flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
