"""Tasks that do nothing: what the runtime itself costs."""

from __future__ import annotations

from book import Bench, figure

MANY = 1000


@figure("task, one after the other", "1/s", times=30)
def task_sync(bench: Bench) -> float:
    ray = bench.ray
    nothing = ray.remote(lambda: None)

    def call() -> None:
        assert ray.get(nothing.remote()) is None

    return bench.rate(call)


@figure("task, 1,000 at once", "1/s", times=50)
def task_pipelined(bench: Bench) -> float:
    ray = bench.ray
    nothing = ray.remote(lambda: None)

    def call() -> None:
        assert ray.get([nothing.remote() for _ in range(MANY)]) == [None] * MANY

    call()  # workers start
    return bench.rate(call, count=MANY)


@figure("task with a small reference as argument, 1,000 at once", "1/s", times=40)
def task_argument(bench: Bench) -> float:
    ray = bench.ray
    same = ray.remote(lambda value: value)
    small = ray.put(7)

    def call() -> None:
        assert ray.get([same.remote(small) for _ in range(MANY)]) == [7] * MANY

    call()
    return bench.rate(call, count=MANY)


@figure("wait over 1,000 tasks, one by one, and the tasks", "rounds/s", times=40)
def wait_one_by_one(bench: Bench) -> float:
    ray = bench.ray
    nothing = ray.remote(lambda: None)

    def drain() -> None:
        waiting = [nothing.remote() for _ in range(MANY)]
        while waiting:
            ready, waiting = ray.wait(waiting)
            assert len(ready) == 1

    return bench.rate(drain)
