"""The program that ``chaos.nodes`` runs beside the head: work for all nodes, each result of which is known.

Prints a line when it has begun, and at its end one JSON object: what was done, and what was wrong.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import time
from pathlib import Path
from typing import Any

import eagleray as ray
import numpy as np

#: Something on a node that may be lost; the head's node has none of it.
WORK = {"work": 1}
#: Runs of one task, at most: its first and its retries.
RETRIES = 20
AHEAD = 40
ELEMENTS = 60_000  # of 8 bytes: an object in the store
PARTS = 6


@ray.remote(num_cpus=0.5, resources=WORK, max_retries=RETRIES)
def make(runs: str, number: int) -> Any:
    note(runs, f"make {number}")
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


def note(runs: str, what: str) -> None:
    """Writes down that a task runs. Lines of one write do not mix."""
    with open(runs, "a") as f:
        f.write(what + "\n")


class Work:
    """Pieces of work that are under way, with what each is to give."""

    def __init__(self, seed: int, runs: str, actors: int) -> None:
        self.chance, self.runs = random.Random(seed), runs
        self.waiting: dict[Any, tuple[str, Any, float]] = {}
        self.done: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self.missing: list[str] = []
        self.longest = 0.0
        self.number = 0
        self.actors = self._actors(actors)

    def _actors(self, count: int) -> list[Any]:
        made = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Counter)
        try:
            found = [made.options(resources={"work": 0.01}).remote() for _ in range(count)]
        except ray.exceptions.ActorUnschedulableError:
            self.missing.append("actors on other nodes")
            found = [made.remote() for _ in range(min(count, 4))]
        ray.get([actor.where.remote() for actor in found], timeout=120)
        return found

    def begin(self) -> None:
        """Begins one piece of work."""
        self.number += 1
        kind = self.chance.choice(["add"] * 6 + ["call"] * 3 + ["shuffle"])
        getattr(self, kind)(self.number)

    def add(self, number: int) -> None:
        one, other = make.remote(self.runs, number), make.remote(self.runs, number + 10**9)
        self._await(add.remote(self.runs, number, one, [other]), "add", (2 * number + 10**9) * ELEMENTS)

    def call(self, number: int) -> None:
        self._await(self.chance.choice(self.actors).double.remote(number), "call", 2 * number)

    def shuffle(self, number: int) -> None:
        seeds = [number * 100 + row for row in range(4)]
        rows = [part.options(num_returns=PARTS).remote(self.runs, number, seed) for seed in seeds]
        columns = [
            gather.remote(self.runs, number * 100 + column, *row) for column, row in enumerate(zip(*rows, strict=True))
        ]
        values = [np.random.default_rng(seed).integers(0, 1 << 40, ELEMENTS) for seed in seeds]
        for column, ref in enumerate(columns):
            self._await(ref, "shuffle", int(sum(row[row % PARTS == column].sum() for row in values)))

    def _await(self, ref: Any, kind: str, expected: Any) -> None:
        self.waiting[ref] = kind, expected, time.monotonic()

    def finish(self, limit: float) -> None:
        """Takes what has ended; one piece at least, within a limit."""
        ready, _ = ray.wait(list(self.waiting), timeout=limit)
        if not ready:
            kinds = collections.Counter(kind for kind, _, _ in self.waiting.values())
            self.wrong.append(f"nothing ended within {limit:.0f} s; under way are {dict(kinds)}")
            self.waiting.clear()
            return
        for ref in ready:
            kind, expected, began = self.waiting.pop(ref)
            self.longest = max(self.longest, time.monotonic() - began)
            try:
                value = ray.get(ref)
                found = value if isinstance(value, int) else int(value.sum())
            except Exception as error:
                self.wrong.append(f"{kind}: {type(error).__name__}: {error}"[:500])
                continue
            self.done[kind] += 1
            if found != expected:
                self.wrong.append(f"{kind}: {found}, not {expected}")


def main() -> None:
    """Works until the time is over and enough is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--pieces", type=int, required=True)
    parser.add_argument("--actors", type=int, required=True)
    parser.add_argument("--patience", type=float, required=True)
    parser.add_argument("--runs", required=True)
    given = parser.parse_args()
    ray.init(log_to_driver=False)
    work = Work(given.seed, given.runs, given.actors)
    print("begun", flush=True)
    end = time.monotonic() + given.seconds
    while work.waiting or ((time.monotonic() < end or work.number < given.pieces) and not work.wrong):
        while len(work.waiting) < AHEAD and (time.monotonic() < end or work.number < given.pieces) and not work.wrong:
            work.begin()
        if work.waiting:
            work.finish(given.patience)
    runs = collections.Counter(Path(given.runs).read_text().splitlines()) if os.path.exists(given.runs) else {}
    often = [f"{what}: {times} runs" for what, times in runs.items() if times > RETRIES + 1]
    told = {"done": work.done, "wrong": work.wrong[:20] + often[:5], "missing": work.missing, "longest": work.longest}
    print("told " + json.dumps(told | {"again": sum(times - 1 for times in runs.values())}), flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
