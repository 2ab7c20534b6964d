"""Calls beside the bare ones: two Python processes, a socket, and C that the calling thread runs itself.

The bare call one after the other is a frame of 100 bytes there and back in C alone. Both ends block, each on a core of
its own, so that it shows what waking costs on this machine; beside it stands what it takes on one core, where nobody
has to be woken. Of calls at once there are two: one where both processes call C once for each request and answer and
pickle them, as any runtime of Python has to, and one where C sends the frames by itself and Python sees none of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from bare.pair import Pair
from book import Bench, Taken, figure

MANY = 1000
BLOCK = 200


def timed(call: Callable[[], Any], count: int) -> Callable[[], float]:
    """Measures microseconds for each of the `count` that a call does."""

    def took() -> float:
        started = time.perf_counter()
        call()
        return (time.perf_counter() - started) / count * 1e6

    return took


def beside_roundtrip(bench: Bench, one: Callable[[], object]) -> float:
    def block() -> None:
        for _ in range(BLOCK):
            assert one() is None

    cores = sorted(os.sched_getaffinity(0))
    alone: list[float] = []

    with Pair("serve") as pair:

        def bare() -> float:
            alone.append(pair.roundtrips_between(BLOCK, cores[0], cores[0]) / BLOCK * 1e6)
            return pair.roundtrips_between(BLOCK, cores[0], cores[-1]) / BLOCK * 1e6

        ours, across = bench.turns(timed(block, BLOCK), bare)
    where = "on one core" if len(cores) > 1 else "on the only core"
    return Taken(median(ours), median(across), f"the bare round trip {where} takes {median(alone):.3g} us")


@figure("task, one after the other; bare: blocking round trip, 2 cores", "us", limit=20, over=4, alone=True)
def task_beside_roundtrip(bench: Bench) -> float:
    ray = bench.ray
    nothing = ray.remote(lambda: None)
    return beside_roundtrip(bench, lambda: ray.get(nothing.remote()))


@figure("actor call, one after the other; bare: round trip, 2 cores", "us", limit=20, over=4, alone=True)
def actor_beside_roundtrip(bench: Bench) -> float:
    ray = bench.ray

    class Nothing:
        def call(self) -> None:
            return None

    actor = ray.remote(num_cpus=0)(Nothing).remote()
    return beside_roundtrip(bench, lambda: ray.get(actor.call.remote()))


def tasks_at_once(bench: Bench, bare_per_s: Callable[[Pair], float], role: str) -> float:
    ray = bench.ray
    nothing = ray.remote(lambda: None)

    def per_s() -> float:
        started = time.perf_counter()
        assert ray.get([nothing.remote() for _ in range(MANY)]) == [None] * MANY
        return MANY / (time.perf_counter() - started)

    per_s()  # workers start
    with Pair(role) as pair:
        ours, bare = bench.turns(per_s, lambda: bare_per_s(pair))
    return Taken(median(ours), median(bare))


def pickled(pair: Pair) -> float:
    started = time.perf_counter()
    assert pair.call(MANY) == [None] * MANY
    return MANY / (time.perf_counter() - started)


@figure("tasks, 1,000 at once; bare: pickled calls through C, batched", "1/s", share=0.2, alone=True)
def tasks_beside_batch(bench: Bench) -> float:
    return tasks_at_once(bench, pickled, "call")


@figure("tasks, 1,000 at once; bare: frames between C and C, batched", "1/s", alone=True)
def tasks_beside_frames(bench: Bench) -> float:
    return tasks_at_once(bench, lambda pair: MANY / pair.talk.batch(MANY), "serve")
