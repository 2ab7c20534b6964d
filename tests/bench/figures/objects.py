"""The object store: small values, and arrays of 10 and 100 MiB beside the machine's own copies."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from bare.memory_speed import THREADS, Recycled
from book import Bench, Taken, figure

MIB = 2**20
MEDIUM_MIB = 10
LARGE_MIB = 100
CLIENTS = 2
REFS = 10_000


def bytes_of(mib: int) -> np.ndarray:
    """Bytes that differ from place to place, so that a piece that is missing or misplaced is seen."""
    return np.resize(np.arange(251, dtype=np.uint8), mib * MIB)


@figure("put, small", "1/s", times=80)
def put_small(bench: Bench) -> float:
    rate = bench.rate(lambda: bench.ray.put(1))
    assert bench.ray.get(bench.ray.put(1)) == 1
    return rate


@figure("get, small", "1/s", times=30)
def get_small(bench: Bench) -> float:
    ref = bench.ray.put(1)
    assert bench.ray.get(ref) == 1
    return bench.rate(lambda: bench.ray.get(ref))


def several(call: Callable[[], object], seconds: float) -> Callable[[], float]:
    """Measures how long a call takes, by as many of them as fit into a part of the time."""

    def took() -> float:
        count = 0
        started = time.perf_counter()
        while not count or time.perf_counter() - started < seconds:
            call()
            count += 1
        return (time.perf_counter() - started) / count

    return took


def put_array(bench: Bench, mib: int, threads: tuple[int, ...] = (1,)) -> float:
    """Puts whose objects are freed at once, in turns with memcpy to pages that this process has mapped."""
    ray, array = bench.ray, bytes_of(mib)
    assert (ray.get(ray.put(array)) == array).all()
    if not bench.ours:
        return bench.rate(lambda: ray.put(array), count=mib)
    recycled = Recycled(array.nbytes)
    each = bench.seconds / 20
    found = []
    for number in threads:
        put = several(lambda: ray.put(array), each)
        copy = several(lambda number=number: recycled.copy(array, number), each)
        puts, copies = bench.turns(put, copy)
        found.append(Taken(mib / median(puts), mib / median(copies)))
    assert recycled.holds(array)
    return max(found, key=lambda one: one.bare or 0)


@figure("put, 10 MiB array; bare: memcpy to own recycled pages", "MiB/s", share=0.9)
def put_medium(bench: Bench) -> float:
    return put_array(bench, MEDIUM_MIB)


@figure("put, 100 MiB array; bare: memcpy to own recycled pages", "MiB/s", share=0.9)
def put_large(bench: Bench) -> float:
    return put_array(bench, LARGE_MIB)


@figure("put, 100 MiB array; bare: memcpy by as many threads as are best", "MiB/s", alone=True)
def put_large_all_threads(bench: Bench) -> float:
    return put_array(bench, LARGE_MIB, THREADS)


def client_class(ray: Any) -> Any:
    class Client:
        def __init__(self, mib: int) -> None:
            self.array = bytes_of(mib)
            self.recycled: Any = None

        def right(self) -> bool:
            return bool((ray.get(ray.put(self.array)) == self.array).all())

        def put(self, count: int) -> None:
            for _ in range(count):
                ray.put(self.array)

        def copy(self, count: int) -> None:
            self.recycled = self.recycled or Recycled(self.array.nbytes)
            for _ in range(count):
                self.recycled.copy(self.array, 1)

    return ray.remote(num_cpus=0)(Client)


def put_clients(bench: Bench, mib: int) -> float:
    """Several clients put at once, in turns with memcpy by all of them at once."""
    ray = bench.ray
    clients = [client_class(ray).remote(mib) for _ in range(CLIENTS)]
    assert all(ray.get([client.right.remote() for client in clients]))
    count = max(1, 400 // mib)
    total = CLIENTS * count * mib

    def puts() -> None:
        ray.get([client.put.remote(count) for client in clients])

    if not bench.ours:
        return bench.rate(puts, count=total)

    def copies() -> None:
        ray.get([client.copy.remote(count) for client in clients])

    put, copied = bench.turns(several(puts, 0), several(copies, 0))
    return Taken(total / median(put), total / median(copied))


@figure(f"put, 10 MiB arrays, {CLIENTS} clients; bare: memcpy by each", "MiB/s", share=0.9)
def put_medium_clients(bench: Bench) -> float:
    return put_clients(bench, MEDIUM_MIB)


@figure(f"put, 100 MiB arrays, {CLIENTS} clients; bare: memcpy by each", "MiB/s", share=0.9)
def put_large_clients(bench: Bench) -> float:
    return put_clients(bench, LARGE_MIB)


@figure("get, 100 MiB array", "1/s", times=5)
def get_large(bench: Bench) -> float:
    array = bytes_of(LARGE_MIB)
    ref = bench.ray.put(array)
    assert (bench.ray.get(ref) == array).all()
    return bench.rate(lambda: bench.ray.get(ref))


@figure("get of a mapped 100 MiB object", "us", limit=15)
def get_mapped(bench: Bench) -> float:
    ray, array = bench.ray, bytes_of(LARGE_MIB)
    ref = ray.put(array)
    assert (ray.get(ref) == array).all()
    return 1e6 / bench.rate(lambda: ray.get(ref))


@figure("first get of a 1 MiB object that another process put", "us")
def get_first(bench: Bench) -> float:
    ray = bench.ray
    count = 200

    @ray.remote
    def make(number: int) -> np.ndarray:
        return np.full(MIB, number % 251, dtype=np.uint8)

    refs = [make.remote(number) for number in range(count)]
    ray.wait(refs, num_returns=count, fetch_local=False)
    taken = []
    for number, ref in enumerate(refs):
        started = time.perf_counter()
        value = ray.get(ref)
        taken.append(time.perf_counter() - started)
        assert value[0] == value[-1] == number % 251
    return median(taken) * 1e6


@figure("task with a 100 MiB argument by reference", "1/s", times=25)
def large_argument(bench: Bench) -> float:
    ray = bench.ray
    ref = ray.put(np.ones(LARGE_MIB * MIB, dtype=np.uint8))
    ends = ray.remote(lambda array: int(array[0]) + int(array[-1]))

    def call() -> None:
        assert ray.get(ends.remote(ref)) == 2

    return bench.rate(call)


@figure("get of a value that holds 10,000 references", "1/s", times=20)
def get_references(bench: Bench) -> float:
    ray = bench.ray
    ref = ray.put([ray.put(number) for number in range(REFS)])
    assert ray.get(ray.get(ref)) == list(range(REFS))

    def call() -> None:
        assert len(ray.get(ref)) == REFS

    return bench.rate(call)
