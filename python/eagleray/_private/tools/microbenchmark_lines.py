"""The lines of ``eagleray microbenchmark``: each has a name of Ray's suite and does the same work as that suite.

A line is a function that makes what the work needs. It returns the work, and the number of units that one call of
the work counts for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import eagleray as ray
from eagleray._private import numpy_extra

Work = tuple[Callable[[], Any], float]

MANY = 1000
LARGE_BYTES = 800 << 20  # what one client puts, which the suite calls 0.8 GB
PART_BYTES = 80 << 20  # what each of several puts, ten times
CLIENTS = 10
CALLERS = 4
NESTED_REFS = 10_000
GROUPS = 100


class Line(NamedTuple):
    """One line: its name, what makes the work, and what is missing for it here."""

    name: str
    make: Callable[[], Work] | None
    lacks: str = ""


LINES: list[Line] = []


def line(name: str) -> Callable[[Callable[[], Work]], Callable[[], Work]]:
    def add(make: Callable[[], Work]) -> Callable[[], Work]:
        LINES.append(Line(name, make))
        return make

    return add


# ---- what the lines run ----------------------------------------------------


@ray.remote
def small() -> bytes:
    return b"ok"


@ray.remote
def put_small(count: int) -> None:
    for _ in range(count):
        ray.put(0)


@ray.remote
def put_large(count: int, size: int) -> None:
    for _ in range(count):
        ray.put(_zeros(size))


@ray.remote
def holds_refs(count: int) -> list[Any]:
    return [ray.put(1) for _ in range(count)]


@ray.remote
def calls(actors: list[Any], count: int) -> None:
    ray.get([actors[number % len(actors)].small.remote() for number in range(count)])


class _Plain:
    def small(self) -> bytes:
        return b"ok"

    def small_of(self, value: Any) -> bytes:
        return b"ok"

    def tasks(self, count: int) -> None:
        ray.get([small.remote() for _ in range(count)])


class _Async:
    async def small(self) -> bytes:
        return b"ok"

    async def small_of(self, value: Any) -> bytes:
        return b"ok"


class _Caller:
    def __init__(self, actors: list[Any]) -> None:
        self.actors = actors

    def calls(self, count: int) -> None:
        ray.get([actor.small.remote() for actor in self.actors for _ in range(count)])

    def calls_with_ref(self, count: int) -> None:
        value = ray.put(0)
        ray.get([actor.small_of.remote(value) for actor in self.actors for _ in range(count)])


Plain = ray.remote(num_cpus=0)(_Plain)
Async = ray.remote(_Async)
Caller = ray.remote(num_cpus=0)(_Caller)


def _half() -> int:
    """How many actors the lines with several use."""
    return max((os.cpu_count() or 1) // 2, 1)


def _zeros(size: int) -> Any:
    np = numpy_extra.need("this line")
    return np.zeros(size // 8, dtype=np.int64)


def _all(kind: Any, count: int) -> list[Any]:
    return [kind.remote() for _ in range(count)]


# ---- objects -----------------------------------------------------------------


@line("single client get calls (Plasma Store)")
def _get_small() -> Work:
    value = ray.put(0)
    return lambda: ray.get(value), 1


@line("single client put calls (Plasma Store)")
def _put_small() -> Work:
    return lambda: ray.put(0), 1


@line("multi client put calls (Plasma Store)")
def _put_small_several() -> Work:
    each = 100
    return lambda: ray.get([put_small.remote(each) for _ in range(CLIENTS)]), CLIENTS * each


@line("single client put gigabytes")
def _put_large() -> Work:
    value = _zeros(LARGE_BYTES)
    return lambda: ray.put(value), 0.8


@line("single client tasks and get batch")
def _batch() -> Work:
    return lambda: ray.get([small.remote() for _ in range(MANY)]), 1


@line("multi client put gigabytes")
def _put_large_several() -> Work:
    each = 10
    return lambda: ray.get([put_large.remote(each, PART_BYTES) for _ in range(CLIENTS)]), 8.0


@line("single client get object containing 10k refs")
def _get_refs() -> Work:
    ref = holds_refs.remote(NESTED_REFS)
    return lambda: ray.get(ref), 1


@line("single client wait 1k refs")
def _wait() -> Work:
    def work() -> None:
        left = [small.remote() for _ in range(MANY)]
        fetch = True
        while left:
            _, left = ray.wait(left, fetch_local=fetch)
            fetch = False

    return work, 1


# ---- tasks -------------------------------------------------------------------


@line("single client tasks sync")
def _task() -> Work:
    return lambda: ray.get(small.remote()), 1


@line("single client tasks async")
def _tasks() -> Work:
    return lambda: ray.get([small.remote() for _ in range(MANY)]), MANY


@line("multi client tasks async")
def _tasks_of_several() -> Work:
    each = 10_000
    actors = _all(Plain, CALLERS)
    return lambda: ray.get([actor.tasks.remote(each) for actor in actors]), each * CALLERS


# ---- actors ------------------------------------------------------------------


def _one_by_one(actor: Any) -> Work:
    return lambda: ray.get(actor.small.remote()), 1


def _many_calls(actor: Any) -> Work:
    return lambda: ray.get([actor.small.remote() for _ in range(MANY)]), MANY


def _one_to_several(kind: Any) -> Work:
    each = 5000
    actors = _all(kind, _half())
    caller = Caller.remote(actors)
    return lambda: ray.get(caller.calls.remote(each)), each * len(actors)


def _several_to_several(kind: Any) -> Work:
    each = 5000
    actors = _all(kind, _half())
    return lambda: ray.get([calls.remote(actors, each) for _ in range(CALLERS)]), each * CALLERS


@line("1:1 actor calls sync")
def _actor() -> Work:
    return _one_by_one(Plain.remote())


@line("1:1 actor calls async")
def _actor_many() -> Work:
    return _many_calls(Plain.remote())


@line("1:1 actor calls concurrent")
def _actor_threads() -> Work:
    return _many_calls(Plain.options(max_concurrency=16).remote())


@line("1:n actor calls async")
def _actor_one_to_several() -> Work:
    return _one_to_several(Plain)


@line("n:n actor calls async")
def _actor_several_to_several() -> Work:
    return _several_to_several(Plain)


@line("n:n actor calls with arg async")
def _actor_argument() -> Work:
    callers = [Caller.remote([actor]) for actor in _all(Plain, _half())]
    return lambda: ray.get([caller.calls_with_ref.remote(MANY) for caller in callers]), MANY * len(callers)


@line("1:1 async-actor calls sync")
def _async_actor() -> Work:
    return _one_by_one(Async.remote())


@line("1:1 async-actor calls async")
def _async_actor_many() -> Work:
    return _many_calls(Async.remote())


@line("1:1 async-actor calls with args async")
def _async_actor_arguments() -> Work:
    actor = Async.remote()
    return lambda: ray.get([actor.small_of.remote(number) for number in range(MANY)]), MANY


@line("1:n async-actor calls async")
def _async_actor_one_to_several() -> Work:
    return _one_to_several(Async)


@line("n:n async-actor calls async")
def _async_actor_several_to_several() -> Work:
    return _several_to_several(Async)


# ---- placement groups ------------------------------------------------------


@line("placement group create/removal")
def _placement_groups() -> Work:
    def make_and_remove() -> None:
        groups = [ray.util.placement_group([{"CPU": 0.001}]) for _ in range(GROUPS)]
        for group in groups:
            group.wait()
        for group in groups:
            ray.util.remove_placement_group(group)

    return make_and_remove, GROUPS


# ---- what Ray's suite measures and Eagle Ray does not have ----------------------

LINES.extend(
    Line(f"client: {name}", None, "Ray client (ray://)")
    for name in (
        "get calls",
        "put calls",
        "put gigabytes",
        "tasks and put batch",
        "1:1 actor calls sync",
        "1:1 actor calls async",
        "1:1 actor calls concurrent",
        "tasks and get batch",
    )
)
