"""concurrent.futures.ProcessPoolExecutor of the standard library: processes, two queues and pickled calls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager

import memory
import numpy as np
from book import INIT, Bench
from figures.importing import over_python
from figures.objects import LARGE_MIB, MIB
from figures.pools import DOUBLED, JOBS
from figures.speedup import share
from figures.tasks import MANY

from peers import Measured, jobs, registrar

FIGURES: dict[str, dict[str, Measured]] = {}
measures = registrar(FIGURES)
WITHOUT = ("importing", "startup")
_pool: list[ProcessPoolExecutor] = []


@contextmanager
def session(group: str, bench: Bench) -> Iterator[None]:
    if group not in WITHOUT:
        start()
    yield
    if _pool:
        _pool.pop().shutdown()


def start() -> ProcessPoolExecutor:
    _pool.append(ProcessPoolExecutor(INIT["num_cpus"]))
    assert _pool[0].submit(jobs.one).result() == 1
    return _pool[0]


@measures("importing")
def import_over_python(bench: Bench) -> float:
    return over_python("concurrent.futures.process")


@measures("startup")
def init_to_first_result(bench: Bench) -> float:
    started = time.perf_counter()
    start()
    return (time.perf_counter() - started) * 1000


@measures("startup")
def idle_memory(bench: Bench) -> float:
    return memory.settled().pss / 1e6


@measures("startup")
def idle_processes(bench: Bench) -> float:
    return memory.settled().processes


@measures("startup")
def shutdown(bench: Bench) -> float:
    started = time.perf_counter()
    _pool.pop().shutdown()
    return (time.perf_counter() - started) * 1000


@measures("tasks")
def task_sync(bench: Bench) -> float:
    pool = _pool[0]

    def call() -> None:
        assert pool.submit(jobs.nothing).result() is None

    return bench.rate(call)


@measures("tasks")
def task_pipelined(bench: Bench) -> float:
    pool = _pool[0]

    def call() -> None:
        futures = [pool.submit(jobs.nothing) for _ in range(MANY)]
        assert [future.result() for future in futures] == [None] * MANY

    return bench.rate(call, count=MANY)


@measures("tasks")
def wait_one_by_one(bench: Bench) -> float:
    pool = _pool[0]

    def drain() -> None:
        waiting = {pool.submit(jobs.nothing) for _ in range(MANY)}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            waiting.remove(done.pop())

    return bench.rate(drain)


@measures("objects")
def large_argument(bench: Bench) -> float:
    """It has no references: the array is pickled and sent for each call."""
    array = np.ones(LARGE_MIB * MIB, dtype=np.uint8)

    def call() -> None:
        assert _pool[0].submit(jobs.ends, array).result() == 2

    return bench.rate(call)


def mapped(chunk: int) -> float:
    started = time.perf_counter()
    assert list(_pool[0].map(jobs.double, range(JOBS), chunksize=chunk)) == DOUBLED
    return JOBS / (time.perf_counter() - started)


@measures("pools")
def actor_pool_map(bench: Bench) -> float:
    """One message for each job, as with an ActorPool."""
    return mapped(1)


@measures("pools")
def pool_map(bench: Bench) -> float:
    """In chunks of the size that multiprocessing.Pool.map chooses."""
    return mapped(-(-JOBS // (4 * INIT["num_cpus"])))


def job(count: int, tasks: int) -> list[int]:
    futures = [_pool[0].submit(jobs.spin_one, count) for _ in range(tasks)]
    return [future.result() for future in futures]


@measures("speedup")
def speedup_10ms(bench: Bench) -> float:
    return share(bench, 10, job)


@measures("speedup")
def speedup_1ms(bench: Bench) -> float:
    return share(bench, 1, job)


@measures("speedup")
def speedup_100us(bench: Bench) -> float:
    return share(bench, 0.1, job)
