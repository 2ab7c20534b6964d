"""``util.multiprocessing.Pool``: calls, iterators, callbacks, exceptions, and what a closed pool refuses."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Iterator
from typing import Any

from casebook import attempt, case


def make(ray: Any, *args: Any, **kwargs: Any) -> Any:
    return importlib.import_module(f"{ray.__name__}.util.multiprocessing").Pool(*args, **kwargs)


def double(x: int) -> int:
    return 2 * x


def add(a: int, b: int = 0) -> int:
    return a + b


def fails_at_two(x: int) -> int:
    if x == 2:
        raise KeyError("two")
    return x


@case
def signatures(ray: Any) -> None:
    pool = make(ray, 1)
    for name in ("map", "map_async", "starmap", "imap", "imap_unordered", "close", "terminate", "join"):
        found = inspect.signature(getattr(pool, name))
        print(
            name, [(one.name, None if one.default is one.empty else one.default) for one in found.parameters.values()]
        )
    for name in ("apply", "apply_async", "starmap_async"):  # with more keywords behind them in ours
        print(name, list(inspect.signature(getattr(pool, name)).parameters)[: 3 if name == "apply" else 4])
    print(list(inspect.signature(type(pool)).parameters))
    pool.terminate()


@case
def calls(ray: Any) -> None:
    pool = make(ray, 2)
    print(pool.apply(add, (1,)), pool.apply(add, (1, 2)), pool.apply(add, (1,), {"b": 5}), pool.apply(add, [3]))
    print(pool.apply_async(add, (1,), {"b": 1}).get(30), pool.apply_async(add, args=(4,)).get())
    print(pool.map(double, range(10)), pool.map(double, [1, 2, 3], 1), pool.map(double, (1, 2), chunksize=50))
    print(pool.map(double, (x for x in range(3))), pool.map(double, []), pool.map(len, {"abc": 1}))
    print(pool.starmap(add, [(1, 2), (3,)]), pool.starmap(add, iter([(5, 5)]), 1))
    print(pool.map_async(double, range(3)).get(), pool.starmap_async(add, [(1, 1), (2, 2)]).get())
    print(list(pool.imap(double, range(5))), list(pool.imap(double, iter(range(5)), chunksize=2)))
    print(sorted(pool.imap_unordered(double, range(5))), sorted(pool.imap_unordered(double, iter(range(5)), 3)))
    pool.terminate()


@case
def exceptions(ray: Any) -> None:
    pool = make(ray, 2)
    attempt("apply", lambda: pool.apply(fails_at_two, (2,)))
    attempt("map", lambda: pool.map(fails_at_two, range(4)))
    attempt("starmap", lambda: pool.starmap(fails_at_two, [(1,), (2,)]))
    result = pool.map_async(fails_at_two, range(4))
    result.wait(30)
    print(result.ready(), result.successful())
    attempt("get", result.get)
    attempt("get again", result.get)
    attempt("the next call", lambda: pool.map(double, [1]))
    attempt("what is no function", lambda: pool.map(5, [1]))
    attempt("what is not iterable", lambda: pool.map(double, 5))
    attempt("imap of what is not iterable", lambda: pool.imap(double, 5))
    pool.terminate()


@case
def iterators_with_exceptions(ray: Any) -> None:
    pool = make(ray, 2)
    iterator = pool.imap(fails_at_two, range(4))
    for _ in range(5):
        attempt("imap", iterator.next)
    attempt("all", lambda: len(list(pool.imap_unordered(fails_at_two, range(4)))))
    pool.terminate()


@case
def exceptions_as_values(ray: Any) -> None:
    pool = make(ray, 1)
    attempt("returned", lambda: pool.apply(lambda: KeyError("a value")))
    pool.terminate()


@case
def results_and_time_limits(ray: Any) -> None:
    pool = make(ray, 1)
    gate = ray.remote(Gate).options(num_cpus=0, max_concurrency=2).remote()
    result = pool.apply_async(pass_gate, (gate,))
    print(result.ready(), result.wait(0.01))
    attempt("successful", result.successful)
    attempt("get", lambda: result.get(0.01))
    iterator = pool.imap(double, [1])
    attempt("next", lambda: iterator.next(timeout=0.01))
    ray.get(gate.open.remote())
    print(result.get(30), result.ready(), result.successful(), iterator.next(timeout=30))
    pool.terminate()


class Gate:
    def __init__(self) -> None:
        import threading

        self.event = threading.Event()

    def open(self) -> None:
        self.event.set()

    def wait(self) -> bool:
        return self.event.wait(60)


def pass_gate(gate: Any) -> Any:
    import sys

    return sys.modules["ray" if "ray" in sys.modules else "eagleray"].get(gate.wait.remote())


@case
def callbacks(ray: Any) -> None:
    pool = make(ray, 2)
    good: list[Any] = []
    bad: list[Any] = []
    pool.apply_async(add, (1, 2), callback=good.append, error_callback=bad.append).get(30)
    pool.map_async(double, range(3), 3, good.append, bad.append).get(30)
    pool.starmap_async(add, [(1, 1)], good.append, bad.append).get(30)
    pool.map_async(double, [], callback=good.append).get(30)
    print(good, bad)
    attempt("failed", lambda: pool.map_async(fails_at_two, range(4), 1, good.append, bad.append).get(30))
    print(len(good), len(bad))
    pool.terminate()


@case
def class_for_error_callbacks(ray: Any) -> None:
    pool = make(ray, 1)
    bad: list[Any] = []
    attempt("failed", lambda: pool.apply_async(fails_at_two, (2,), error_callback=bad.append).get(30))
    print([type(error).__name__ for error in bad])
    pool.terminate()


@case
def ended_pools(ray: Any) -> None:
    pool = make(ray, 2)
    attempt("join", pool.join)
    result = pool.map_async(double, range(6), 1)
    pool.close()
    attempt("close again", pool.close)
    for name in ("apply", "apply_async", "map", "map_async", "imap", "imap_unordered", "starmap", "starmap_async"):
        attempt(name, lambda name=name: getattr(pool, name)(double, [1]))
    attempt("with", pool.__enter__)
    pool.join()
    print(result.get(30))
    with make(ray, 1) as other:
        print(other.apply(double, (4,)))
    attempt("after with", lambda: other.apply(double, (4,)))
    attempt("join after with", other.join)


@case
def numbers_of_processes(ray: Any) -> None:
    attempt("none", lambda: make(ray, 0))
    attempt("fewer than none", lambda: make(ray, -1))
    attempt("too many", lambda: make(ray, 5))
    pool = make(ray)
    print(len(pool.map(double, range(100))))
    pool.terminate()


@case
def chunks_for_a_process(ray: Any) -> None:
    pool = make(ray, 1, maxtasksperchild=2)
    pids = pool.map(lambda _: os.getpid(), range(6), chunksize=1)
    print([pids.index(pid) for pid in pids])
    pool.terminate()


@case
def arguments_without_end(ray: Any) -> None:
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        while True:
            taken.append(len(taken))
            yield taken[-1]

    pool = make(ray, 2)
    iterator = pool.imap(double, numbers(), chunksize=2)
    print([next(iterator) for _ in range(6)], len(taken) <= 12)
    pool.terminate()


@case
def an_initializer(ray: Any) -> None:
    pool = make(ray, 1, os.putenv, ("compat_pool", "set"))
    print(pool.apply(double, (1,)))
    pool.terminate()
    attempt("fails", lambda: make(ray, 1, fails_at_two, (2,)))
