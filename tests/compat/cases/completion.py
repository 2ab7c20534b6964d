"""``util.as_completed`` and ``util.map_unordered``: results in the order in which they come."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from casebook import attempt, case

from cases.objects import never


def double(x: int) -> int:
    return 2 * x


def fails_at_two(x: int) -> int:
    if x == 2:
        raise KeyError("two")
    return x


@case
def signatures(ray: Any) -> None:
    for func in (ray.util.as_completed, ray.util.map_unordered):
        for one in inspect.signature(func).parameters.values():
            print(one.name, one.kind.name, None if one.default is one.empty else one.default)


@case
def all_results_come(ray: Any) -> None:
    remote = ray.remote(double)
    refs = [remote.remote(x) for x in range(25)]
    print(sorted(ray.util.as_completed(refs)) == [2 * x for x in range(25)])
    print(sorted(ray.util.as_completed(refs, chunk_size=1)) == [2 * x for x in range(25)])
    print(set(ray.util.as_completed(refs, chunk_size=100, yield_obj_refs=True)) == set(refs))
    print(list(ray.util.as_completed([])), len(refs))
    print(sorted(ray.util.map_unordered(remote, range(25))) == [2 * x for x in range(25)])
    print(sorted(ray.util.map_unordered(remote, iter(range(5)), backpressure_size=None)))
    print(sorted(ray.util.map_unordered(remote, range(5), backpressure_size=1, chunk_size=1)))
    print(sorted(ray.util.map_unordered(remote, range(5), backpressure_size=2, chunk_size=10)))
    print(sorted(ray.get(list(ray.util.map_unordered(remote, range(5), yield_obj_refs=True)))))
    print(list(ray.util.map_unordered(remote, [])))


@case
def what_is_ready_comes_first(ray: Any) -> None:
    gate, blocked = never(ray)
    results = ray.util.as_completed([blocked, ray.put(1), ray.put(2)], chunk_size=2)
    print(next(results), next(results))
    ray.get(gate.release.remote())
    print(list(results))


@case
def no_more_calls_than_allowed(ray: Any) -> None:
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        for x in range(100):
            taken.append(x)
            yield x

    results = ray.util.map_unordered(ray.remote(double), numbers(), backpressure_size=4, chunk_size=1)
    for _ in range(3):
        next(results)
        print(len(taken))


@case
def refused(ray: Any) -> None:
    ref = ray.put(1)
    remote = ray.remote(double)
    attempt("no chunk", lambda: list(ray.util.as_completed([ref], chunk_size=0)))
    attempt("num_returns", lambda: list(ray.util.as_completed([ref], num_returns=1)))
    attempt("twice", lambda: list(ray.util.as_completed([ref, ref])))
    attempt("a number", lambda: list(ray.util.as_completed([1])))
    attempt("no chunk", lambda: list(ray.util.map_unordered(remote, [1], chunk_size=0)))
    attempt("no calls", lambda: list(ray.util.map_unordered(remote, [1], backpressure_size=0)))
    attempt("num_returns", lambda: list(ray.util.map_unordered(remote, [1], num_returns=1)))
    attempt("no remote function", lambda: list(ray.util.map_unordered(double, [1])))
    attempt("nothing is checked before the first result", lambda: bool(ray.util.as_completed([ref], chunk_size=0)))


@case
def exceptions(ray: Any) -> None:
    remote = ray.remote(fails_at_two)
    attempt("as_completed", lambda: list(ray.util.as_completed([remote.remote(2)])))
    attempt("map_unordered", lambda: list(ray.util.map_unordered(remote, range(4))))
    attempt("references", lambda: len(list(ray.util.map_unordered(remote, range(4), yield_obj_refs=True))))
    gate, blocked = never(ray)
    attempt("time limit", lambda: next(ray.util.as_completed([ray.put(1), blocked], timeout=0.2)))
    ray.get(gate.release.remote())
