"""`wait`: what it returns, in which order, when, and what it refuses."""

from __future__ import annotations

import threading
from typing import Any

from casebook import attempt, case


def gate_class(ray: Any) -> Any:
    @ray.remote(num_cpus=0, max_concurrency=8)
    class Gate:
        def __init__(self) -> None:
            self.events = [threading.Event() for _ in range(4)]

        def block(self, index: int) -> int:
            self.events[index].wait(60)
            return index

        def release(self, index: int) -> None:
            self.events[index].set()

    return Gate


@case
def one_of_many(ray: Any) -> None:
    gate = gate_class(ray).remote()
    refs = [gate.block.remote(i) for i in range(3)]
    ray.get(gate.release.remote(1))
    ready, rest = ray.wait(refs, timeout=20)
    print([refs.index(ref) for ref in ready], [refs.index(ref) for ref in rest])
    ray.get([gate.release.remote(0), gate.release.remote(2)])
    ready, rest = ray.wait(refs, num_returns=3, timeout=20)
    print([refs.index(ref) for ref in ready], rest, ray.get(ready))


@case
def at_most_what_was_asked(ray: Any) -> None:
    refs = [ray.put(i) for i in range(5)]
    for number in (1, 3, 5):
        ready, rest = ray.wait(refs, num_returns=number)
        kept = [refs.index(ref) for ref in ready] + [refs.index(ref) for ref in rest]
        print(number, len(ready), len(rest), kept[:number] == sorted(kept[:number]), sorted(kept))


@case
def order_of_the_input(ray: Any) -> None:
    gate = gate_class(ray).remote()
    refs = [gate.block.remote(i) for i in range(4)]
    for index in (3, 1):
        ray.get(gate.release.remote(index))
        ray.get(refs[index])
    ready, rest = ray.wait(refs, num_returns=2, timeout=20)
    print([refs.index(ref) for ref in ready], [refs.index(ref) for ref in rest])
    ray.get([gate.release.remote(0), gate.release.remote(2)])
    ray.get(refs)


@case
def time_limits(ray: Any) -> None:
    gate = gate_class(ray).remote()
    blocked = gate.block.remote(0)
    done = ray.put(1)
    for timeout in (0, 0.05):
        ready, rest = ray.wait([blocked, done], num_returns=2, timeout=timeout)
        print(timeout, ready == [done], rest == [blocked])
    print(ray.wait([blocked], timeout=0.01) == ([], [blocked]))
    ray.get(gate.release.remote(0))
    print(ray.wait([blocked], timeout=None) == ([blocked], []))


@case
def polling(ray: Any) -> None:
    gate = gate_class(ray).remote()
    blocked = gate.block.remote(0)
    print(sum(len(ray.wait([blocked], timeout=0)[0]) for _ in range(50)))
    ray.get(gate.release.remote(0))
    ray.get(blocked)
    print(len(ray.wait([blocked], timeout=0)[0]))


@case
def failed_tasks_are_ready(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        raise ValueError("x")

    ref = fail.remote()
    ready, rest = ray.wait([ref], timeout=20)
    print(ready == [ref], rest)
    attempt("get", lambda: ray.get(ready[0]))


@case
def refused(ray: Any) -> None:
    ref = ray.put(1)
    attempt("a reference", lambda: ray.wait(ref))
    attempt("tuple", lambda: ray.wait((ref,)))
    attempt("set", lambda: ray.wait({ref}))
    attempt("number inside", lambda: ray.wait([1]))
    attempt("empty", lambda: ray.wait([]))
    attempt("twice the same", lambda: ray.wait([ref, ref]))
    attempt("more than given", lambda: ray.wait([ref], num_returns=2))
    attempt("zero", lambda: ray.wait([ref], num_returns=0))
    attempt("negative", lambda: ray.wait([ref], num_returns=-1))
    attempt("negative time", lambda: ray.wait([ref], timeout=-1))
    attempt("text as time", lambda: ray.wait([ref], timeout="1"))


@case
def keyword_only(ray: Any) -> None:
    refs = [ray.put(1), ray.put(2)]
    attempt("by position", lambda: ray.wait(refs, 2))
    print(len(ray.wait(ray_waitables=refs, num_returns=2, timeout=1.0, fetch_local=True)[0]))


@case
def without_fetching(ray: Any) -> None:
    ref = ray.remote(lambda: b"x" * 500_000).remote()
    ready, rest = ray.wait([ref], fetch_local=False, timeout=20)
    print(ready == [ref], rest, len(ray.get(ref)))


@case
def inside_a_task(ray: Any) -> None:
    @ray.remote
    def leaf(i: int) -> int:
        return i

    @ray.remote
    def collect() -> list[int]:
        waiting = [leaf.remote(i) for i in range(5)]
        values = []
        while waiting:
            ready, waiting = ray.wait(waiting)
            values += ray.get(ready)
        return sorted(values)

    print(ray.get(collect.remote()))


@case
def a_loop_over_many(ray: Any) -> None:
    leaf = ray.remote(lambda i: i)
    waiting = [leaf.remote(i) for i in range(100)]
    total = 0
    while waiting:
        ready, waiting = ray.wait(waiting)
        total += sum(ray.get(ready))
    print(total)


@case
def borrowed_references(ray: Any) -> None:
    gate = gate_class(ray).remote()

    @ray.remote
    def watch(box: list[Any]) -> tuple[int, int]:
        before = len(ray.wait(box, timeout=0)[0])
        ray.get(gate.release.remote(0))
        return before, len(ray.wait(box, timeout=20)[0])

    print(ray.get(watch.remote([gate.block.remote(0)])))
