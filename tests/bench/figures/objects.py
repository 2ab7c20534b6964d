"""The object store: small values, and arrays of 10 and 100 MiB."""

from __future__ import annotations

import numpy as np
from book import Bench, figure

MIB = 2**20
LARGE_MIB = 100
REFS = 10_000


@figure("put, small", "1/s", times=80)
def put_small(bench: Bench) -> float:
    return bench.rate(lambda: bench.ray.put(1))


@figure("get, small", "1/s", times=30)
def get_small(bench: Bench) -> float:
    ref = bench.ray.put(1)
    return bench.rate(lambda: bench.ray.get(ref))


def put_array(bench: Bench, mib: int) -> float:
    array = np.ones(mib * MIB, dtype=np.uint8)
    return bench.rate(lambda: bench.ray.put(array), count=mib)


@figure("put, 10 MiB array", "MiB/s")
def put_medium(bench: Bench) -> float:
    return put_array(bench, 10)


@figure("put, 100 MiB array", "MiB/s")
def put_large(bench: Bench) -> float:
    return put_array(bench, LARGE_MIB)


@figure("put, 100 MiB arrays, 2 clients", "MiB/s")
def put_large_clients(bench: Bench) -> float:
    ray = bench.ray

    @ray.remote(num_cpus=0)
    class Client:
        def __init__(self) -> None:
            self.array = np.ones(LARGE_MIB * MIB, dtype=np.uint8)

        def put(self) -> None:
            ray.put(self.array)

    clients = [Client.remote() for _ in range(2)]
    return bench.rate(lambda: ray.get([client.put.remote() for client in clients]), count=2 * LARGE_MIB)


@figure("get, 100 MiB array", "1/s", times=5)
def get_large(bench: Bench) -> float:
    ref = bench.ray.put(np.ones(LARGE_MIB * MIB, dtype=np.uint8))
    return bench.rate(lambda: bench.ray.get(ref))


@figure("task with a 100 MiB argument by reference", "1/s", times=25)
def large_argument(bench: Bench) -> float:
    ray = bench.ray
    ref = ray.put(np.ones(LARGE_MIB * MIB, dtype=np.uint8))
    first = ray.remote(lambda array: int(array[0]))
    return bench.rate(lambda: ray.get(first.remote(ref)))


@figure("get of a value that holds 10,000 references", "1/s", times=20)
def get_references(bench: Bench) -> float:
    ray = bench.ray
    ref = ray.put([ray.put(number) for number in range(REFS)])

    def call() -> None:
        assert len(ray.get(ref)) == REFS

    return bench.rate(call)
