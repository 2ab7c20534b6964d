"""A CPU-bound job cut into tasks, beside the same job in bare processes, one for each core, that share nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

from book import Bench, figure

CORES = len(os.sched_getaffinity(0))
STEPS = 200_000
SPIN = """
def spin(count):
    value = 0
    for number in range(count):
        value += number & 7
    return value
"""
BARE = f"""{SPIN}
import sys, time
tasks, count = map(int, sys.argv[1:])
spin(count)
print("ready", flush=True)
sys.stdin.readline()
begun = time.monotonic()
for _ in range(tasks):
    spin(count)
print(begun, time.monotonic())
"""
exec(SPIN)  # the same code object in both: what differs is who runs it


def bare(tasks: int, count: int) -> float:
    """Seconds from the first process's beginning to the last one's end."""
    command = [sys.executable, "-c", BARE, str(tasks // CORES), str(count)]
    pipe = subprocess.PIPE
    running = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(CORES)]
    for one in running:
        assert one.stdout is not None and one.stdout.readline() == "ready\n"
    for one in running:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    spans = [[float(word) for word in one.communicate()[0].split()] for one in running]
    return max(end for _, end in spans) - min(begin for begin, _ in spans)


def share(bench: Bench, milliseconds: float, job: Callable[[int, int], list[int]]) -> float:
    """What part of the bare processes' speed a job reaches, in per cent: the median of three turns.

    The bare processes run before and after each turn: the machine's own speed changes by some per cent within seconds.
    `job` runs spin(count) a number of times in parallel and gives the results.
    """
    spin = globals()["spin"]
    started = time.perf_counter()
    spin(STEPS)
    count = max(1, round(STEPS * milliseconds / 1000 / (time.perf_counter() - started)))
    # A second at least: one task of the last few that ends later than the others counts in a short job.
    tasks = CORES * round(max(1.0, bench.seconds / 2) * 1000 / milliseconds)
    right = [spin(count)] * tasks
    assert job(count, tasks) == right
    found = []
    before = bare(tasks, count)
    for _ in range(3):
        started = time.perf_counter()
        values = job(count, tasks)
        took = time.perf_counter() - started
        assert values == right
        after = bare(tasks, count)
        found.append(100 * (before + after) / 2 / took)
        before = after
    return sorted(found)[1]


def tasks_of(bench: Bench) -> Callable[[int, int], list[int]]:
    ray = bench.ray
    work = ray.remote(globals()["spin"])
    return lambda count, tasks: ray.get([work.remote(count) for _ in range(tasks)])


#: Why joblib is faster than all others where calls are short.
BATCHES = "joblib joins calls that are short into batches, which answer together after 0.2 s and more"


@figure("job of 10 ms tasks", "% of bare", floor=98, why={"joblib": BATCHES})
def speedup_10ms(bench: Bench) -> float:
    return share(bench, 10, tasks_of(bench))


@figure("job of 1 ms tasks", "% of bare", floor=95, why={"joblib": BATCHES})
def speedup_1ms(bench: Bench) -> float:
    return share(bench, 1, tasks_of(bench))


@figure("job of 100 us tasks", "% of bare", floor=85, why={"joblib": BATCHES})
def speedup_100us(bench: Bench) -> float:
    return share(bench, 0.1, tasks_of(bench))
