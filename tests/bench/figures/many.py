"""Very many of something: Ray's tests of what one node can hold, the same for both, sized for a small machine."""

from __future__ import annotations

import time

import numpy as np
from book import Bench, figure

from figures.huge import GIB, put_and_read

ARGUMENTS = 10_000
RETURNS = 3_000


@figure("task with 10,000 references as arguments", "ms", times=10)
def many_arguments(bench: Bench) -> float:
    ray = bench.ray
    count = ray.remote(lambda *values: sum(values))
    refs = [ray.put(1) for _ in range(ARGUMENTS)]
    ray.get(count.remote(refs[0]))
    started = time.perf_counter()
    assert ray.get(count.remote(*refs)) == ARGUMENTS
    return (time.perf_counter() - started) * 1000


@figure("task with 3,000 results", "ms", times=10)
def many_returns(bench: Bench) -> float:
    ray = bench.ray
    numbers = ray.remote(num_returns=RETURNS)(lambda: list(range(RETURNS)))
    ray.get(ray.remote(lambda: 1).remote())
    started = time.perf_counter()
    assert ray.get(numbers.remote()) == list(range(RETURNS))
    return (time.perf_counter() - started) * 1000


@figure("get of 10,000 objects of the store at once", "ms", times=10)
def many_gets(bench: Bench) -> float:
    ray = bench.ray
    array = np.zeros(30_000, dtype=np.uint8)
    refs = [ray.put(array) for _ in range(ARGUMENTS)]
    started = time.perf_counter()
    values = ray.get(refs)
    took = (time.perf_counter() - started) * 1000
    assert len(values) == ARGUMENTS and all(len(value) == len(array) and not value[-1] for value in values)
    return took


@figure("4 GiB object of zeros, put and read", "s", times=10)
def huge_object(bench: Bench) -> float:
    return put_and_read(bench, np.zeros(4 * GIB, dtype=np.uint8), 0)
