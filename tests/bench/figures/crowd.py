"""A thousand actors, as fast as they can be made.

Ray's worker takes some 40 MB and 0.4 s: a thousand that are alive at once do not fit in a small machine. Both systems
therefore make them in waves that live together: each is made and called, then the whole wave is ended. The quick form
makes two waves and says so; the rates are comparable all the same, as the waves are.
"""

from __future__ import annotations

import time
from typing import Any

from book import Bench, Taken, figure

WAVE = 50
ACTORS = 1000


def counter_class(ray: Any) -> Any:
    class Counter:
        def __init__(self, number: int) -> None:
            self.number = number

        def call(self) -> int:
            return self.number

    return ray.remote(num_cpus=0)(Counter)


def make(ray: Any, count: int, first: int) -> list[Any]:
    """Actors that have answered their first call."""
    Counter = counter_class(ray)
    actors = [Counter.remote(first + number) for number in range(count)]
    assert ray.get([actor.call.remote() for actor in actors]) == list(range(first, first + count))
    return actors


@figure("1,000 actors made and called, 50 alive at once", "1/s", times=40)
def actors_thousand(bench: Bench) -> float:
    ray = bench.ray
    total = ACTORS if bench.long else 2 * WAVE
    started = time.perf_counter()
    for first in range(0, total, WAVE):
        for actor in make(ray, WAVE, first):
            ray.kill(actor)
    return Taken(total / (time.perf_counter() - started), note=f"{total:,} actors")


@figure("1,000 actors made and called, all alive at once", "1/s", alone=True)
def actors_thousand_alive(bench: Bench) -> float:
    ray = bench.ray
    started = time.perf_counter()
    actors = make(ray, ACTORS, 0)
    took = time.perf_counter() - started
    assert ray.get([actor.call.remote() for actor in actors]) == list(range(ACTORS))
    return ACTORS / took
