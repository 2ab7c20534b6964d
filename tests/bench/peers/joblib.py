"""joblib with loky, what scikit-learn runs its jobs with: a pool that stays, batches of jobs, large arrays in files."""

from __future__ import annotations

from typing import Any

import numpy as np
from book import INIT, Bench
from figures.objects import LARGE_MIB, MIB
from figures.pools import JOBS
from figures.tasks import MANY

from peers import jobs
from peers.peer import Peer, doubled


def start() -> Any:
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=INIT["num_cpus"], backend="loky")
    parallel.__enter__()  # keeps its workers between calls
    assert parallel([delayed(jobs.one)()]) == [1]
    return parallel


def stop(parallel: Any) -> None:
    from joblib.externals.loky import get_reusable_executor

    parallel.__exit__(None, None, None)
    get_reusable_executor().shutdown(wait=True)


peer = Peer("joblib", start, stop)
session, FIGURES = peer.session, peer.figures


def run(func: Any, arguments: list[Any]) -> list[Any]:
    from joblib import delayed

    found: list[Any] = peer.running(delayed(func)(*given) for given in arguments)
    return found


@peer.measures("tasks")
def task_sync(bench: Bench) -> float:
    def call() -> None:
        assert run(jobs.nothing, [()]) == [None]

    return bench.rate(call)


@peer.measures("tasks")
def task_pipelined(bench: Bench) -> float:
    def call() -> None:
        assert run(jobs.nothing, [()] * MANY) == [None] * MANY

    return bench.rate(call, count=MANY)


@peer.measures("objects")
def large_argument(bench: Bench) -> float:
    """Large arrays go through a file that workers map."""
    array = np.ones(LARGE_MIB * MIB, dtype=np.uint8)

    def call() -> None:
        assert run(jobs.ends, [(array,)]) == [2]

    return bench.rate(call)


@peer.measures("pools")
def pool_map(bench: Bench) -> float:
    return doubled(lambda: run(jobs.double, [(number,) for number in range(JOBS)]))


def job(count: int, tasks: int) -> list[int]:
    return run(jobs.spin_one, [(count,)] * tasks)


peer.speeds_up(job, {"speedup_10ms": 10, "speedup_1ms": 1, "speedup_100us": 0.1})
