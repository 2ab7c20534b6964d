"""joblib with loky, what scikit-learn runs its jobs with: a pool that stays, batches of jobs, large arrays in files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
_running: list[Any] = []


@contextmanager
def session(group: str, bench: Bench) -> Iterator[None]:
    if group not in WITHOUT:
        start()
    yield
    stop()


def start() -> None:
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=INIT["num_cpus"], backend="loky")
    parallel.__enter__()  # keeps its workers between calls
    assert parallel([delayed(jobs.one)()]) == [1]
    _running.append(parallel)


def stop() -> None:
    if _running:
        from joblib.externals.loky import get_reusable_executor

        _running.pop().__exit__(None, None, None)
        get_reusable_executor().shutdown(wait=True)


def run(func: Any, arguments: list[Any]) -> list[Any]:
    from joblib import delayed

    found: list[Any] = _running[0](delayed(func)(*given) for given in arguments)
    return found


@measures("importing")
def import_over_python(bench: Bench) -> float:
    return over_python("joblib")


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
    stop()
    return (time.perf_counter() - started) * 1000


@measures("tasks")
def task_sync(bench: Bench) -> float:
    def call() -> None:
        assert run(jobs.nothing, [()]) == [None]

    return bench.rate(call)


@measures("tasks")
def task_pipelined(bench: Bench) -> float:
    def call() -> None:
        assert run(jobs.nothing, [()] * MANY) == [None] * MANY

    return bench.rate(call, count=MANY)


@measures("objects")
def large_argument(bench: Bench) -> float:
    """Large arrays go through a file that workers map."""
    array = np.ones(LARGE_MIB * MIB, dtype=np.uint8)

    def call() -> None:
        assert run(jobs.ends, [(array,)]) == [2]

    return bench.rate(call)


@measures("pools")
def pool_map(bench: Bench) -> float:
    started = time.perf_counter()
    assert run(jobs.double, [(number,) for number in range(JOBS)]) == DOUBLED
    return JOBS / (time.perf_counter() - started)


def job(count: int, tasks: int) -> list[int]:
    return run(jobs.spin_one, [(count,)] * tasks)


@measures("speedup")
def speedup_10ms(bench: Bench) -> float:
    return share(bench, 10, job)


@measures("speedup")
def speedup_1ms(bench: Bench) -> float:
    return share(bench, 1, job)


@measures("speedup")
def speedup_100us(bench: Bench) -> float:
    return share(bench, 0.1, job)
