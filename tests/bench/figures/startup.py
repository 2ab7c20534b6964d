"""A session from its start to its end: the figures are of the same session, in this order."""

from __future__ import annotations

import os
import time

import memory
import numpy  # noqa: F401  # a driver that uses numpy, so that its workers want it too
from book import INIT, Bench, figure

WORKERS = 4
#: Why the standard library's pool is the smaller one.
FORKS = "it forks its workers from the driver: no store, no daemon, nothing that survives a crash of either"
FEW = "it has its workers and no more: no store, no daemon, no zygote that starts others in milliseconds"


@figure("init to the first result", "ms", limit=250, why={"executor": FORKS})
def init_to_first_result(bench: Bench) -> float:
    ray = bench.ray
    started = time.perf_counter()
    ray.init(**INIT)
    assert ray.get(ray.remote(lambda: 1).remote()) == 1
    return (time.perf_counter() - started) * 1000


@figure("idle session, all processes", "MB PSS", limit=60, why={"executor": FEW})
def idle_memory(bench: Bench) -> float:
    return memory.settled().pss / 1e6


@figure("idle session, processes", "count", limit=5, why={"executor": FEW})
def idle_processes(bench: Bench) -> float:
    return memory.settled().processes


@figure("private memory of a worker", "MB", limit=6)
def worker_memory(bench: Bench) -> float:
    """Of idle actors: the most that one of them has."""
    ray = bench.ray

    class Worker:
        def pid(self) -> int:
            return os.getpid()

    workers = [ray.remote(num_cpus=0)(Worker).remote() for _ in range(WORKERS)]
    pids = ray.get([worker.pid.remote() for worker in workers])
    assert len(set(pids)) == WORKERS
    memory.settled()
    return max(memory.private_bytes(pid) for pid in pids) / 1e6


@figure("shutdown", "ms", times=20, why={"executor": FEW})
def shutdown(bench: Bench) -> float:
    started = time.perf_counter()
    bench.ray.shutdown()
    return (time.perf_counter() - started) * 1000
