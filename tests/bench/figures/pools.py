"""Ray's pools over many small jobs, and groups of placement."""

from __future__ import annotations

import importlib
import time
from typing import Any

from book import INIT, Bench, figure

JOBS = 10_000
DOUBLED = [2 * number for number in range(JOBS)]


def double(number: int) -> int:
    return 2 * number


def module(bench: Bench, name: str) -> Any:
    return importlib.import_module(f"{bench.module}.util{name}")


@figure("ActorPool.map of 10,000 over 2 actors", "1/s", times=10, needs="util.ActorPool")
def actor_pool_map(bench: Bench) -> float:
    class Doubler:
        def double(self, number: int) -> int:
            return 2 * number

    ray = bench.ray
    pool = module(bench, "").ActorPool([ray.remote(num_cpus=0)(Doubler).remote() for _ in range(2)])

    def jobs(count: int) -> list[int]:
        return list(pool.map(lambda actor, number: actor.double.remote(number), range(count)))

    assert jobs(100) == DOUBLED[:100]
    started = time.perf_counter()
    assert jobs(JOBS) == DOUBLED
    return JOBS / (time.perf_counter() - started)


@figure("multiprocessing.Pool.map of 10,000", "1/s", times=5, needs="util.multiprocessing")
def pool_map(bench: Bench) -> float:
    pool = module(bench, ".multiprocessing").Pool(processes=INIT["num_cpus"])
    assert pool.map(double, range(100)) == DOUBLED[:100]
    started = time.perf_counter()
    assert pool.map(double, range(JOBS)) == DOUBLED
    took = time.perf_counter() - started
    pool.terminate()
    pool.join()
    return JOBS / took


@figure("placement group made, ready and removed", "1/s", times=40, needs="util.placement_group")
def placement_group(bench: Bench) -> float:
    ray, util = bench.ray, module(bench, "")

    def make() -> None:
        group = util.placement_group([{"CPU": 1}], strategy="PACK")
        ray.get(group.ready())
        util.remove_placement_group(group)

    return bench.rate(make)
