"""Mixed load for a long time: driver, daemon, zygotes and long-lived actors end as large as they were after minutes.

``python -m chaos.soak --minutes 30`` in ``tests/robust``.
"""

from __future__ import annotations

import argparse
import csv
import gc
import itertools
import os
import random
import secrets
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eagleray as ray
import numpy as np
from processes import name, pss

from chaos import LIMIT
from chaos.killer import children, workers

LARGE = 50_000
#: Seconds from one measurement to the next.
PACE = 5.0
#: How much larger than at the settled minute a process may end: a part of it, and at least some bytes.
PART, SLACK = 0.05, 2 << 20


@ray.remote(max_retries=-1)
def plus(x: Any, y: int) -> Any:
    return x + y


@ray.remote(max_retries=-1)
def nest(depth: int) -> Any:
    return [ray.put(np.ones(LARGE)), *([nest.remote(depth - 1)] if depth else [])]


@ray.remote(max_retries=0)
def fails() -> None:
    raise ValueError("as it should")


@ray.remote(max_retries=0)
def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@ray.remote(max_retries=0)
def sleeps() -> None:
    time.sleep(60)


@ray.remote(num_cpus=0)
class Keeper:
    """Lives for the whole run."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def pid(self) -> int:
        return os.getpid()

    def keep(self, box: list[Any]) -> float:
        self.kept = [*self.kept[-3:], *box]
        return float(sum(np.sum(ray.get(ref)) for ref in box))


@ray.remote(num_cpus=0)
class Brief:
    def add(self, x: int) -> int:
        return x + 1


def small_tasks(_: random.Random) -> None:
    assert ray.get([plus.remote(i, 1) for i in range(100)], timeout=LIMIT) == list(range(1, 101))


def large_values(_: random.Random) -> None:
    ref = ray.put(np.ones(LARGE))
    for _ in range(3):
        ref = plus.remote(ref, 1)
    assert ray.get(ref, timeout=LIMIT)[-1] == 4


def nested(_: random.Random) -> None:
    box = nest.remote(3)
    while box is not None:
        value, *rest = ray.get(box, timeout=LIMIT)
        assert ray.get(value, timeout=LIMIT)[0] == 1
        box = rest[0] if rest else None


def errors(_: random.Random) -> None:
    for ref in [fails.remote() for _ in range(10)]:
        try:
            ray.get(ref, timeout=LIMIT)
        except ValueError:
            continue
        raise AssertionError("it did not fail")


def deaths(_: random.Random) -> None:
    try:
        ray.get(dies.remote(), timeout=LIMIT)
    except ray.exceptions.WorkerCrashedError:
        return
    raise AssertionError("it did not die")


def cancels(chance: random.Random) -> None:
    refs = [sleeps.remote() for _ in range(5)]
    ray.wait(refs, timeout=0.01)
    for ref in refs:
        ray.cancel(ref, force=chance.random() < 0.3)
    for ref in refs:
        try:
            ray.get(ref, timeout=LIMIT)
        except (ray.exceptions.TaskCancelledError, ray.exceptions.WorkerCrashedError):
            continue
        raise AssertionError("it was not cancelled")


def actors(chance: random.Random) -> None:
    made = [Brief.remote() for _ in range(2)]
    assert ray.get([one.add.remote(i) for one in made for i in range(10)], timeout=LIMIT)[-1] == 10
    if chance.random() < 0.5:
        ray.kill(made[0])


def named_actors(chance: random.Random) -> None:
    title = f"n{chance.getrandbits(40)}"
    made = Brief.options(name=title).remote()
    assert ray.get(ray.get_actor(title).add.remote(1), timeout=LIMIT) == 2
    del made


def environments(chance: random.Random) -> None:
    """One of a few environments: each new one has a zygote of its own."""
    choice = {"env_vars": {"SOAK": str(chance.randrange(3))}}
    assert ray.get(plus.options(runtime_env=choice).remote(1, 1), timeout=LIMIT) == 2


#: Kinds of load with how often they are chosen; a new ability of the runtime adds its own.
LOAD: dict[Callable[[random.Random], None], int] = {
    small_tasks: 10,
    large_values: 5,
    nested: 3,
    errors: 3,
    deaths: 1,
    cancels: 1,
    actors: 1,
    named_actors: 1,
    environments: 1,
}


def measured(daemon: int, keepers: list[int]) -> dict[str, int]:
    """Bytes of each process that lives through the run."""
    found = {"driver": os.getpid(), "daemon": daemon}
    found |= {f"actor {number}": pid for number, pid in enumerate(keepers)}
    zygotes = sorted(pid for pid in children(daemon) if name(pid) == "eagleray-zygote")
    found |= {f"zygote {number}": pid for number, pid in enumerate(zygotes[:1])}
    return {key: pss(pid) for key, pid in found.items()}


def soak(seed: int, minutes: float, settled: float, out: Path) -> int:
    """Runs the load and compares; 1 when something grew."""
    from eagleray._private.state import process

    chance = random.Random(seed)
    daemon = process.require().daemon_pid
    keepers = [Keeper.remote() for _ in range(2)]
    pids = ray.get([keeper.pid.remote() for keeper in keepers], timeout=LIMIT)
    series: list[tuple[float, dict[str, int]]] = []
    start = time.monotonic()
    due = start + PACE
    rounds = 0
    while (now := time.monotonic()) < start + 60 * minutes:
        for load in chance.choices(list(LOAD), list(LOAD.values()), k=5):
            load(chance)
        for keeper in keepers:
            assert ray.get(keeper.keep.remote([ray.put(np.ones(LARGE))]), timeout=LIMIT) == LARGE
        rounds += 1
        if now >= due:
            gc.collect()
            series.append(((now - start) / 60, measured(daemon, pids)))
            due = now + PACE
    with out.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["minute", *series[0][1]])
        rows.writerows([f"{minute:.2f}", *values.values()] for minute, values in series)
    print(
        f"seed {seed}: {rounds} rounds of mixed load in {minutes:g} minutes; {len(workers(daemon))} workers at the end"
    )
    return compare(series, settled, minutes)


def compare(series: list[tuple[float, dict[str, int]]], settled: float, minutes: float) -> int:
    """Prints how the sizes went; 1 when a process ends larger than it was when the run had settled."""
    window = min(1.0, settled / 2)

    def around(minute: float, key: str) -> float:
        return statistics.median(
            values[key] for at, values in series if minute - window <= at <= minute + window and key in values
        )

    status = 0
    for key in series[-1][1]:
        first, last = around(settled, key), around(minutes, key)
        allowed = first + max(first * PART, SLACK)
        verdict = "" if last <= allowed else "  GREW"
        status |= bool(verdict)
        halves = [f"{around(minute, key) / (1 << 20):.1f}" for minute in marks(settled, minutes)]
        print(f"  {key:10} MiB: {' '.join(halves)}  ({(last / first - 1) * 100:+.1f} %){verdict}")
    return status


def marks(settled: float, minutes: float) -> list[float]:
    """The minutes that the table shows."""
    step = (minutes - settled) / 5
    return list(itertools.accumulate([settled, *[step] * 5]))


def main(words: list[str]) -> int:
    """Runs what the command line asks for; 1 when memory grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--settled", type=float, default=5, help="the minute that the end is compared with")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[3] / "build" / "soak.csv")
    given = parser.parse_args(words)
    os.environ["EAGLERAY_ROBUST_MARK"] = secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="er-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        os.environ["EAGLERAY_TMPDIR"] = folder
        with ray.init(address="local", num_cpus=2, object_store_memory=300_000_000, log_to_driver=False):
            return soak(given.seed, given.minutes, given.settled, given.out)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
