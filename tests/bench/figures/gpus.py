"""A task with a GPU gets a process of its own by default: what that costs."""

from __future__ import annotations

import os
import time

from book import Bench, figure

CALLS = 5


@figure("GPU task in its fresh worker", "ms", limit=15, times=40)
def fresh_gpu_worker(bench: Bench) -> float:
    ray = bench.ray
    pid = ray.remote(num_gpus=1)(lambda: os.getpid())
    used = {ray.get(pid.remote()) for _ in range(CALLS)}  # the zygote still imports what it found time for
    started = time.perf_counter()
    pids = [ray.get(pid.remote()) for _ in range(CALLS)]
    took = time.perf_counter() - started
    assert len(used.union(pids)) == 2 * CALLS, "a worker was used twice"
    return took * 1000 / CALLS
