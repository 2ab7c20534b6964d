"""The object store: small values and 100 MiB arrays."""

from __future__ import annotations

import numpy as np
from book import Bench, figure

MIB = 2**20
LARGE_MIB = 100


@figure("put, small", "1/s")
def put_small(bench: Bench) -> float:
    return bench.rate(lambda: bench.ray.put(1))


@figure("get, small", "1/s")
def get_small(bench: Bench) -> float:
    ref = bench.ray.put(1)
    return bench.rate(lambda: bench.ray.get(ref))


@figure("put, 100 MiB array", "MiB/s")
def put_large(bench: Bench) -> float:
    array = np.ones(LARGE_MIB * MIB, dtype=np.uint8)
    return bench.rate(lambda: bench.ray.put(array), count=LARGE_MIB)


@figure("get, 100 MiB array", "1/s")
def get_large(bench: Bench) -> float:
    ref = bench.ray.put(np.ones(LARGE_MIB * MIB, dtype=np.uint8))
    return bench.rate(lambda: bench.ray.get(ref))


@figure("task with a 100 MiB argument by reference", "1/s")
def large_argument(bench: Bench) -> float:
    ray = bench.ray
    ref = ray.put(np.ones(LARGE_MIB * MIB, dtype=np.uint8))
    first = ray.remote(lambda array: int(array[0]))
    return bench.rate(lambda: ray.get(first.remote(ref)))
