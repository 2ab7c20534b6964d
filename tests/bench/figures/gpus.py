"""A task with a GPU gets a process of its own by default: what that costs."""

from __future__ import annotations

import time

from book import Bench, figure

CALLS = 5


@figure("GPU task in its fresh worker", "ms", limit=15, times=40)
def fresh_gpu_worker(bench: Bench) -> float:
    ray = bench.ray
    nothing = ray.remote(num_gpus=1)(lambda: None)
    for _ in range(CALLS):  # the zygote still imports what it found time for
        ray.get(nothing.remote())
    started = time.perf_counter()
    for _ in range(CALLS):
        ray.get(nothing.remote())
    return (time.perf_counter() - started) * 1000 / CALLS
