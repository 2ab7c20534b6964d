"""concurrent.futures.ProcessPoolExecutor of the standard library: processes, two queues and pickled calls."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait

import numpy as np
from book import INIT, Bench
from figures.objects import LARGE_MIB, MIB
from figures.pools import JOBS
from figures.tasks import MANY

from peers import jobs
from peers.peer import Peer, doubled


def start() -> ProcessPoolExecutor:
    pool = ProcessPoolExecutor(INIT["num_cpus"])
    assert pool.submit(jobs.one).result() == 1
    return pool


peer = Peer("concurrent.futures.process", start, ProcessPoolExecutor.shutdown)
session, FIGURES = peer.session, peer.figures


@peer.measures("tasks")
def task_sync(bench: Bench) -> float:
    pool = peer.running

    def call() -> None:
        assert pool.submit(jobs.nothing).result() is None

    return bench.rate(call)


@peer.measures("tasks")
def task_pipelined(bench: Bench) -> float:
    pool = peer.running

    def call() -> None:
        futures = [pool.submit(jobs.nothing) for _ in range(MANY)]
        assert [future.result() for future in futures] == [None] * MANY

    return bench.rate(call, count=MANY)


@peer.measures("tasks")
def wait_one_by_one(bench: Bench) -> float:
    pool = peer.running

    def drain() -> None:
        waiting = {pool.submit(jobs.nothing) for _ in range(MANY)}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            waiting.remove(done.pop())

    return bench.rate(drain)


@peer.measures("objects")
def large_argument(bench: Bench) -> float:
    """It has no references: the array is pickled and sent for each call."""
    pool = peer.running
    array = np.ones(LARGE_MIB * MIB, dtype=np.uint8)

    def call() -> None:
        assert pool.submit(jobs.ends, array).result() == 2

    return bench.rate(call)


def mapped(chunk: int) -> float:
    return doubled(lambda: list(peer.running.map(jobs.double, range(JOBS), chunksize=chunk)))


@peer.measures("pools")
def actor_pool_map(bench: Bench) -> float:
    """One message for each job, as with an ActorPool."""
    return mapped(1)


@peer.measures("pools")
def pool_map(bench: Bench) -> float:
    """In chunks of the size that multiprocessing.Pool.map chooses."""
    return mapped(-(-JOBS // (4 * INIT["num_cpus"])))


def job(count: int, tasks: int) -> list[int]:
    futures = [peer.running.submit(jobs.spin_one, count) for _ in range(tasks)]
    return [future.result() for future in futures]


peer.speeds_up(job, {"speedup_10ms": 10, "speedup_1ms": 1, "speedup_100us": 0.1})
