"""How long `shutdown` takes, whatever the session holds: each figure has a session of its own, which it ends.

An idle session's end stands with its start, in `startup`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy
from book import INIT, Bench, figure

MANY = 1000
ACTORS = 4
OBJECTS = 400


def end(bench: Bench, fill: Callable[[Any], object]) -> float:
    """Milliseconds until a session has ended that was filled before; what `fill` returns is held meanwhile."""
    ray = bench.ray
    ray.init(**INIT)
    try:
        assert ray.get(ray.remote(lambda: 1).remote()) == 1
        held = fill(ray)
        started = time.perf_counter()
    finally:
        ray.shutdown()
    took = time.perf_counter() - started
    del held
    return took * 1000


@figure("shutdown after 1,000 tasks", "ms", times=20)
def end_after_tasks(bench: Bench) -> float:
    def fill(ray: Any) -> None:
        nothing = ray.remote(lambda: None)
        ray.get([nothing.remote() for _ in range(MANY)])

    return end(bench, fill)


@figure("shutdown with 4 actors", "ms", times=20)
def end_with_actors(bench: Bench) -> float:
    class Nothing:
        def call(self) -> None:
            return None

    def fill(ray: Any) -> list[Any]:
        actors = [ray.remote(num_cpus=0)(Nothing).remote() for _ in range(ACTORS)]
        ray.get([actor.call.remote() for actor in actors])
        return actors

    return end(bench, fill)


@figure("shutdown with 400 MiB in the store", "ms", times=20)
def end_with_objects(bench: Bench) -> float:
    def fill(ray: Any) -> list[Any]:
        return [ray.put(numpy.ones(2**20, dtype=numpy.uint8)) for _ in range(OBJECTS)]

    return end(bench, fill)


@figure("shutdown while tasks compute", "ms", times=20)
def end_while_computing(bench: Bench) -> float:
    class Told:
        def __init__(self) -> None:
            self.count = 0

        def add(self) -> None:
            self.count += 1

        def seen(self) -> int:
            return self.count

    def fill(ray: Any) -> list[Any]:
        def endless(told: Any) -> None:
            ray.get(told.add.remote())
            while True:
                pass

        told = ray.remote(num_cpus=0)(Told).remote()
        running = [ray.remote(endless).remote(told) for _ in range(INIT["num_cpus"])]
        while ray.get(told.seen.remote()) < len(running):
            time.sleep(0.01)
        return [told, *running]

    return end(bench, fill)
