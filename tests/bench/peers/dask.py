"""Dask distributed: a scheduler, worker processes and a client, as `LocalCluster` starts them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import memory
import numpy as np
from book import INIT, Bench
from figures.actors import MANY as CALLS
from figures.importing import over_python
from figures.objects import LARGE_MIB, MIB
from figures.pools import DOUBLED, JOBS
from figures.speedup import share
from figures.tasks import MANY

from peers import Measured, jobs, registrar

FIGURES: dict[str, dict[str, Measured]] = {}
measures = registrar(FIGURES)
WITHOUT = ("importing", "startup")
_client: list[Any] = []


@contextmanager
def session(group: str, bench: Bench) -> Iterator[None]:
    if group not in WITHOUT:
        start()
    yield
    stop()


def start() -> Any:
    """A worker with one thread for each CPU, as for CPU-bound Python; no dashboard: its pages need further packages."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=INIT["num_cpus"], threads_per_worker=1, dashboard_address=None)
    _client.append(Client(cluster))
    assert _client[0].submit(jobs.one).result() == 1
    return _client[0]


def stop() -> None:
    if _client:
        client = _client.pop()
        cluster = client.cluster
        client.close()
        cluster.close()


@measures("importing")
def import_over_python(bench: Bench) -> float:
    return over_python("distributed")


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
    client = _client[0]

    def call() -> None:
        assert client.submit(jobs.nothing, pure=False).result() is None

    return bench.rate(call)


def at_once(bench: Bench, make: Any, expected: object) -> float:
    client = _client[0]

    def call() -> None:
        assert client.gather([make(client) for _ in range(MANY)]) == [expected] * MANY

    return bench.rate(call, count=MANY)


@measures("tasks")
def task_pipelined(bench: Bench) -> float:
    return at_once(bench, lambda client: client.submit(jobs.nothing, pure=False), None)


@measures("tasks")
def task_argument(bench: Bench) -> float:
    small = _client[0].scatter(7)
    return at_once(bench, lambda client: client.submit(jobs.same, small, pure=False), 7)


@measures("tasks")
def wait_one_by_one(bench: Bench) -> float:
    """Dask's own idiom for results one by one: as_completed."""
    from distributed import as_completed

    client = _client[0]

    def drain() -> None:
        futures = [client.submit(jobs.nothing, pure=False) for _ in range(MANY)]
        assert sum(1 for _ in as_completed(futures)) == MANY

    return bench.rate(drain)


@measures("objects")
def large_argument(bench: Bench) -> float:
    client = _client[0]
    array = client.scatter(np.ones(LARGE_MIB * MIB, dtype=np.uint8))

    def call() -> None:
        assert client.submit(jobs.ends, array, pure=False).result() == 2

    return bench.rate(call)


def job(count: int, tasks: int) -> list[int]:
    client = _client[0]
    values: list[int] = client.gather([client.submit(jobs.spin_one, count, pure=False) for _ in range(tasks)])
    return values


@measures("speedup")
def speedup_10ms(bench: Bench) -> float:
    return share(bench, 10, job)


@measures("speedup")
def speedup_1ms(bench: Bench) -> float:
    return share(bench, 1, job)


class Nothing:
    """What an actor of Dask is made of."""

    def call(self) -> None:
        return None


@measures("actors")
def actor_sync(bench: Bench) -> float:
    actor = _client[0].submit(Nothing, actor=True).result()

    def call() -> None:
        assert actor.call().result() is None

    return bench.rate(call)


@measures("actors")
def actor_pipelined(bench: Bench) -> float:
    actor = _client[0].submit(Nothing, actor=True).result()

    def call() -> None:
        assert [one.result() for one in [actor.call() for _ in range(CALLS)]] == [None] * CALLS

    return bench.rate(call, count=CALLS)


@measures("pools")
def actor_pool_map(bench: Bench) -> float:
    client = _client[0]
    started = time.perf_counter()
    assert client.gather(client.map(jobs.double, range(JOBS))) == DOUBLED
    return JOBS / (time.perf_counter() - started)
