"""Dask distributed: a scheduler, worker processes and a client, as `LocalCluster` starts them."""

from __future__ import annotations

from typing import Any

import numpy as np
from book import INIT, Bench
from figures.actors import MANY as CALLS
from figures.objects import LARGE_MIB, MIB
from figures.pools import JOBS
from figures.tasks import MANY

from peers import jobs
from peers.peer import Peer, doubled


def start() -> Any:
    """A worker with one thread for each CPU, as for CPU-bound Python; no dashboard: its pages need further packages."""
    from distributed import Client, LocalCluster

    client = Client(LocalCluster(n_workers=INIT["num_cpus"], threads_per_worker=1, dashboard_address=None))
    assert client.submit(jobs.one).result() == 1
    return client


def stop(client: Any) -> None:
    cluster = client.cluster
    client.close()
    cluster.close()


peer = Peer("distributed", start, stop)
session, FIGURES = peer.session, peer.figures


@peer.measures("tasks")
def task_sync(bench: Bench) -> float:
    client = peer.running

    def call() -> None:
        assert client.submit(jobs.nothing, pure=False).result() is None

    return bench.rate(call)


def at_once(bench: Bench, make: Any, expected: object) -> float:
    client = peer.running

    def call() -> None:
        assert client.gather([make(client) for _ in range(MANY)]) == [expected] * MANY

    return bench.rate(call, count=MANY)


@peer.measures("tasks")
def task_pipelined(bench: Bench) -> float:
    return at_once(bench, lambda client: client.submit(jobs.nothing, pure=False), None)


@peer.measures("tasks")
def task_argument(bench: Bench) -> float:
    small = peer.running.scatter(7)
    return at_once(bench, lambda client: client.submit(jobs.same, small, pure=False), 7)


@peer.measures("tasks")
def wait_one_by_one(bench: Bench) -> float:
    """Dask's own idiom for results one by one: as_completed."""
    from distributed import as_completed

    client = peer.running

    def drain() -> None:
        futures = [client.submit(jobs.nothing, pure=False) for _ in range(MANY)]
        assert sum(1 for _ in as_completed(futures)) == MANY

    return bench.rate(drain)


@peer.measures("objects")
def large_argument(bench: Bench) -> float:
    client = peer.running
    array = client.scatter(np.ones(LARGE_MIB * MIB, dtype=np.uint8))

    def call() -> None:
        assert client.submit(jobs.ends, array, pure=False).result() == 2

    return bench.rate(call)


def job(count: int, tasks: int) -> list[int]:
    client = peer.running
    values: list[int] = client.gather([client.submit(jobs.spin_one, count, pure=False) for _ in range(tasks)])
    return values


peer.speeds_up(job, {"speedup_10ms": 10, "speedup_1ms": 1})


class Nothing:
    """What an actor of Dask is made of."""

    def call(self) -> None:
        return None


@peer.measures("actors")
def actor_sync(bench: Bench) -> float:
    actor = peer.running.submit(Nothing, actor=True).result()

    def call() -> None:
        assert actor.call().result() is None

    return bench.rate(call)


@peer.measures("actors")
def actor_pipelined(bench: Bench) -> float:
    actor = peer.running.submit(Nothing, actor=True).result()

    def call() -> None:
        assert [one.result() for one in [actor.call() for _ in range(CALLS)]] == [None] * CALLS

    return bench.rate(call, count=CALLS)


@peer.measures("pools")
def actor_pool_map(bench: Bench) -> float:
    client = peer.running
    return doubled(lambda: client.gather(client.map(jobs.double, range(JOBS))))
