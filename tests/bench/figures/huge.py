"""Objects of 4 GiB, each in the state that the store is in: new, and with the pages of one that was let go."""

from __future__ import annotations

import time

import numpy as np
from book import Bench, figure

GIB = 2**30


def put_and_read(bench: Bench, array: np.ndarray, value: int) -> float:
    ray = bench.ray
    started = time.perf_counter()
    found = ray.get(ray.put(array))
    assert found.nbytes == array.nbytes and found[-1] == value
    took = time.perf_counter() - started
    assert (found[:: 4096 + 1] == value).all()
    return took


HOST = "both copy 4 GiB, and who touches memory first waits for the host, which takes back what is free"
COPY = "both copy 4 GiB to memory that they have: one memcpy each, with all cores"


@figure("4 GiB object of sevens, put and read", "s", times=10, why={"ray": HOST})
def huge_object_full(bench: Bench) -> float:
    return put_and_read(bench, np.full(4 * GIB, 7, dtype=np.uint8), 7)


@figure("4 GiB object of sevens, after one that was let go", "s", why={"ray": COPY})
def huge_object_again(bench: Bench) -> float:
    return put_and_read(bench, np.full(4 * GIB, 7, dtype=np.uint8), 7)
