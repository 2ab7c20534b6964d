"""A session from its start to its end: the three figures are of the same session, in this order."""

from __future__ import annotations

import time

import memory
import numpy  # noqa: F401  # a driver that uses numpy, so that its workers want it too
from book import INIT, Bench, figure


@figure("init to the first result", "ms", limit=250)
def init_to_first_result(bench: Bench) -> float:
    ray = bench.ray
    started = time.perf_counter()
    ray.init(**INIT)
    assert ray.get(ray.remote(lambda: 1).remote()) == 1
    return (time.perf_counter() - started) * 1000


@figure("idle session, all processes", "MB PSS", limit=60)
def idle_memory(bench: Bench) -> float:
    return memory.settled().pss / 1e6


@figure("idle session, processes", "count", limit=5)
def idle_processes(bench: Bench) -> float:
    return memory.settled().processes


@figure("shutdown", "ms", times=20)
def shutdown(bench: Bench) -> float:
    started = time.perf_counter()
    bench.ray.shutdown()
    return (time.perf_counter() - started) * 1000
