"""Kernels on the CPU beside numpy, and data that stays with an actor beside data that travels with each call.

The ratios are taken within one process, in turns, so that a busy machine is unfair to both sides. Large arrays have
64 MiB: far beyond the caches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from book import Bench, figure

LARGE = 2**24  # float32: 64 MiB
ROUNDS = 9


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def times_faster(ours: Callable[[], object], theirs: Callable[[], object]) -> float:
    """How many times faster ours is: the median over rounds in which both take a turn."""
    ours(), theirs()
    return median(1 / (seconds(ours) / seconds(theirs)) for _ in range(ROUNDS))


def kernels() -> Any:
    from eagleray import kernels

    return kernels


def large(value: float = 1.0) -> tuple[Any, np.ndarray]:
    """The same numbers as an Array on the CPU and as a numpy array."""
    host = np.full(LARGE, value, dtype=np.float32)
    return kernels().array(host, device="cpu"), host


@figure("mul_two in place beside numpy", "times", floor=0.95, alone=True)
def mul_two_in_place(bench: Bench) -> float:
    array, host = large(0.0)
    return times_faster(lambda: kernels().mul_two(array, out=array), lambda: np.multiply(host, 2, out=host))


@figure("add in place beside numpy", "times", floor=0.95, alone=True)
def add_in_place(bench: Bench) -> float:
    array, host = large()
    other, host_other = large()
    return times_faster(lambda: kernels().add(array, other, out=array), lambda: np.add(host, host_other, out=host))


@figure("clip in place beside numpy", "times", floor=0.95, alone=True)
def clip_in_place(bench: Bench) -> float:
    array, host = large()
    return times_faster(lambda: kernels().clip(array, 0, 2, out=array), lambda: np.clip(host, 0, 2, out=host))


@figure("fused chain of 4 beside numpy's 4 passes", "times", floor=3, alone=True)
def fused_chain(bench: Bench) -> float:
    array, host = large()
    chain = kernels().fuse().scale(0.5).add(1).clip(0, 2).relu()

    def numpy_chain() -> None:
        np.multiply(host, 0.5, out=host)
        np.add(host, 1, out=host)
        np.clip(host, 0, 2, out=host)
        np.maximum(host, 0, out=host)

    return times_faster(lambda: chain(array, out=array), numpy_chain)


@figure("exp beside numpy", "times", alone=True)
def exp(bench: Bench) -> float:
    array, host = large()
    out, host_out = kernels().empty(LARGE, dtype="float32", device="cpu"), np.empty_like(host)
    return times_faster(lambda: kernels().exp(array, out=out), lambda: np.exp(host, out=host_out))


@figure("matmul 1024 beside numpy's BLAS", "times", alone=True)
def matmul(bench: Bench) -> float:
    host = np.random.default_rng(1).random((1024, 1024), dtype=np.float32)
    array = kernels().array(host, device="cpu")
    return times_faster(lambda: kernels().matmul(array, array), lambda: host @ host)


@figure("kernel on 16 numbers from Python, beyond the call from C", "us", limit=1, alone=True)
def overhead(bench: Bench) -> float:
    """What a call costs more from a loop of Python's, itself included, than from one in C."""
    from eagleray.kernels import _native

    array = kernels().zeros(16, dtype="float32", device="cpu")
    mul_two, repeat = kernels().mul_two, _native.load().repeat
    count = 20_000

    def from_python() -> None:
        for _ in range(count):
            mul_two(array, out=array)

    from_python(), repeat(array, count)
    return median(seconds(from_python) - seconds(lambda: repeat(array, count)) for _ in range(ROUNDS)) / count * 1e6


@figure("100 calls on resident data beside copying at each call", "times", alone=True)
def resident(bench: Bench) -> float:
    ray = bench.ray

    @ray.remote
    class Holder:
        def __init__(self) -> None:
            self.array = kernels().full(2**20, 1.0, dtype="float32", device="cpu")

        def step(self) -> None:
            kernels().mul_two(self.array, out=self.array)

        def copied(self, array: np.ndarray) -> np.ndarray:
            return kernels().mul_two(array)

    holder = Holder.remote()
    start = np.zeros(2**20, dtype=np.float32)

    def stays() -> None:
        ray.get([holder.step.remote() for _ in range(100)])

    def travels() -> None:
        array = start
        for _ in range(100):
            array = ray.get(holder.copied.remote(array))

    stays(), travels()
    return median(1 / (seconds(stays) / seconds(travels)) for _ in range(3))
