"""Tasks that do nothing: what the runtime itself costs."""

from __future__ import annotations

from book import Bench, figure


@figure("task, one after the other", "1/s", times=10)
def task_sync(bench: Bench) -> float:
    ray = bench.ray
    nothing = ray.remote(lambda: None)
    return bench.rate(lambda: ray.get(nothing.remote()))


@figure("task, 1,000 at once", "1/s", times=15)
def task_pipelined(bench: Bench) -> float:
    ray = bench.ray
    nothing = ray.remote(lambda: None)
    ray.get([nothing.remote() for _ in range(1000)])  # workers start
    return bench.rate(lambda: ray.get([nothing.remote() for _ in range(1000)]), count=1000)


@figure("wait over 100 tasks, one by one", "1/s")
def wait_one_by_one(bench: Bench) -> float:
    ray = bench.ray
    nothing = ray.remote(lambda: None)

    def drain() -> None:
        waiting = [nothing.remote() for _ in range(100)]
        while waiting:
            _, waiting = ray.wait(waiting)

    return bench.rate(drain, count=100)
