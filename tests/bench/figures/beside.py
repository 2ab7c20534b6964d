"""Calls one by one beside other processes that compute without end: what is won by looking must not be theirs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from book import Bench, figure


@contextmanager
def computing(count: int) -> Iterator[None]:
    """Has some processes compute meanwhile."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def calls_beside(bench: Bench, count: int) -> float:
    ray = bench.ray
    nothing = ray.remote(lambda: None)

    def call() -> None:
        assert ray.get(nothing.remote()) is None

    call()
    with computing(count):
        return 1e6 / bench.rate(call)


@figure("task, one after the other, beside 1 process that computes", "us")
def task_beside_one(bench: Bench) -> float:
    return calls_beside(bench, 1)


@figure("task, one after the other, beside 2 processes that compute", "us")
def task_beside_two(bench: Bench) -> float:
    return calls_beside(bench, 2)


@figure("task, one after the other, beside 4 processes that compute", "us")
def task_beside_four(bench: Bench) -> float:
    return calls_beside(bench, 4)
