"""An object lives exactly as long as somebody, anywhere, can reach it."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from arena import BIG, settles, stats

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


def big(tag: int) -> Any:
    """A value for the arena."""
    return np.full(BIG, tag)


@pytest.fixture(autouse=True)
def nothing_stays(ray: Any) -> Iterator[None]:
    """After each test the store is as empty as before, and so is this process's table."""
    settles(objects=0, used=0, pinned=0, owned=0, borrowed=0)
    yield
    settles(objects=0, used=0, pinned=0, owned=0, borrowed=0)


@pytest.fixture
def holder(ray: Any) -> Iterator[Any]:
    """Makes actors that keep what they are given."""

    @ray.remote(num_cpus=0)
    class Holder:
        def __init__(self) -> None:
            self.kept: dict[str, Any] = {}

        def keep(self, name: str, value: Any) -> None:
            self.kept[name] = value

        def value(self, name: str) -> int:
            return int(ray.get(self.kept[name][0])[0])

        def get(self, name: str) -> Any:
            return self.kept[name]

        def view(self, name: str) -> None:
            self.kept["view"] = ray.get(self.kept[name][0])

        def drop(self, name: str) -> None:
            del self.kept[name]

        def give(self, name: str, other: Any) -> None:
            ray.get(other.keep.remote(name, self.kept[name]))

        def make(self, tag: int) -> Any:
            return [ray.put(big(tag))]

        def stats(self) -> dict[str, int]:
            return stats()

        def pid(self) -> int:
            return os.getpid()

    yield Holder


def test_put(ray: Any) -> None:
    ref = ray.put(big(1))
    settles(objects=1)
    other = ref
    del ref
    settles(objects=1)
    del other
    settles(objects=0)


def test_a_view_outlives_the_reference(ray: Any) -> None:
    ref = ray.put({"a": big(1), "b": [big(2)]})
    value = ray.get(ref)
    part = value["b"][0][5:10]
    del ref, value
    others = [ray.put(big(i)) for i in range(50)]  # the room must not be given to others
    settles(objects=51, pinned=1)
    assert part.tolist() == [2] * 5
    del part
    settles(objects=50, pinned=0)
    del others


def test_results(ray: Any) -> None:
    @ray.remote
    def make(tag: int) -> Any:
        return big(tag)

    refs = [make.remote(i) for i in range(20)]
    ray.wait(refs, num_returns=20, timeout=LIMIT)
    settles(objects=20)
    del refs[5:]
    settles(objects=5)
    assert [int(value[-1]) for value in ray.get(refs)] == list(range(5))
    refs.clear()
    settles(objects=0)
    for i in range(20):
        make.remote(i)  # nobody waits for it
    settles(objects=0, owned=0)


def test_one_of_several_results(ray: Any) -> None:
    @ray.remote(num_returns=3)
    def make() -> Any:
        return big(0), big(1), big(2)

    _, kept, _ = make.remote()
    del _
    assert ray.get(kept, timeout=LIMIT)[0] == 1
    settles(objects=1)


def test_nested(ray: Any) -> None:
    inner = [ray.put(big(i)) for i in range(3)]
    outer = ray.put([ray.put({"refs": inner}), big(9)])
    del inner
    settles(objects=4)
    found = ray.get(ray.get(outer)[0])["refs"]
    del outer
    settles(objects=3)
    assert [int(ray.get(ref)[0]) for ref in found] == [0, 1, 2]


def test_arguments_dropped_at_once(ray: Any) -> None:
    @ray.remote
    def look(value: Any, nested: Any) -> int:
        time.sleep(0.05)
        return int(value[0]) + int(ray.get(nested[0])[0])

    found = [look.remote(ray.put(big(i)), [ray.put(big(10 * i))]) for i in range(10)]
    assert ray.get(found, timeout=LIMIT) == [11 * i for i in range(10)]
    settles(objects=0)
    found = [look.remote(big(i), [ray.put(big(1))]) for i in range(10)]  # arguments too large for a message
    assert ray.get(found, timeout=LIMIT) == [i + 1 for i in range(10)]


def test_arguments_of_what_never_runs(ray: Any) -> None:
    @ray.remote
    def fails() -> None:
        raise ValueError

    @ray.remote
    def look(*values: Any) -> int:
        time.sleep(0.5)
        return len(values)

    @ray.remote(resources={"slot": 3})
    def never(value: Any) -> None: ...

    with pytest.raises(ValueError):
        ray.get(look.remote(fails.remote(), ray.put(big(1))), timeout=LIMIT)
    infeasible = never.remote(ray.put(big(1)))
    with pytest.raises(ray.exceptions.TaskUnschedulableError):
        ray.get(infeasible, timeout=LIMIT)
    ray.cancel(infeasible)  # until then it would run should a third slot come
    refs = [look.remote(ray.put(big(i))) for i in range(8)]
    for ref in refs:
        ray.cancel(ref)
    ray.wait(refs, num_returns=8, timeout=LIMIT)


def test_an_exception_keeps_nothing(ray: Any) -> None:
    @ray.remote
    def fails(value: Any) -> None:
        raise ValueError(int(value[0]))

    for i in range(5):
        with pytest.raises(ValueError, match=str(i)):
            ray.get(fails.remote(ray.put(big(i))), timeout=LIMIT)


def test_an_exception_that_was_caught_keeps_nothing(ray: Any) -> None:
    """Not even until the garbage collector comes."""

    @ray.remote
    def fails() -> None:
        raise ValueError

    def attempt(wait: Any) -> None:
        ref = ray.put(big(1))
        view = ray.get(ref)
        with pytest.raises(ValueError):
            wait(fails.remote())
        assert view[0] == 1

    gc.collect()
    gc.disable()
    try:
        attempt(lambda ref: ray.get(ref, timeout=LIMIT))
        attempt(lambda ref: ray.get([ref], timeout=LIMIT))
        settles(objects=0, owned=0, collect=False)
    finally:
        gc.enable()


def test_held_by_an_actor(ray: Any, holder: Any) -> None:
    actor = holder.remote()
    ray.get(actor.keep.remote("x", [ray.put(big(5))]), timeout=LIMIT)
    settles(objects=1)
    assert ray.get(actor.value.remote("x"), timeout=LIMIT) == 5
    ray.get(actor.view.remote("x"), timeout=LIMIT)
    ray.get(actor.drop.remote("x"), timeout=LIMIT)
    settles(objects=1, pinned=1)
    ray.get(actor.drop.remote("view"), timeout=LIMIT)
    settles(objects=0)


@pytest.mark.parametrize("how", ["last handle", "kill", "kill -9"])
def test_an_actor_that_ends_holds_nothing(ray: Any, holder: Any, how: str) -> None:
    actor = holder.remote()
    ray.get(actor.keep.remote("x", [ray.put(big(5)), ray.put(big(6))]), timeout=LIMIT)
    ray.get(actor.view.remote("x"), timeout=LIMIT)
    settles(objects=2)
    if how == "kill":
        ray.kill(actor)
    elif how == "kill -9":
        os.kill(ray.get(actor.pid.remote()), signal.SIGKILL)
        with pytest.raises(ray.exceptions.ActorDiedError):
            ray.get(actor.pid.remote(), timeout=LIMIT)
    del actor
    settles(objects=0)


def test_passed_on_to_a_third(ray: Any, holder: Any) -> None:
    first, second, third = (holder.remote() for _ in range(3))
    ray.get(first.keep.remote("x", [ray.put(big(7))]), timeout=LIMIT)
    ray.get(first.give.remote("x", second), timeout=LIMIT)
    ray.get(first.drop.remote("x"), timeout=LIMIT)
    ray.get(second.give.remote("x", third), timeout=LIMIT)
    ray.get(second.drop.remote("x"), timeout=LIMIT)
    assert ray.get(third.value.remote("x"), timeout=LIMIT) == 7
    settles(objects=1)
    back = ray.get(third.get.remote("x"), timeout=LIMIT)
    ray.get(third.drop.remote("x"), timeout=LIMIT)
    assert int(ray.get(back[0])[0]) == 7
    del back
    settles(objects=0)
    assert all(ray.get(actor.stats.remote())["borrowed"] == 0 for actor in (first, second, third))


def test_owned_by_an_actor(ray: Any, holder: Any) -> None:
    first, second = holder.remote(), holder.remote()
    made = ray.get(first.make.remote(8), timeout=LIMIT)
    ray.get(second.keep.remote("x", made), timeout=LIMIT)
    del made
    settles(objects=1, borrowed=0)
    assert ray.get(second.value.remote("x"), timeout=LIMIT) == 8
    ray.get(second.drop.remote("x"), timeout=LIMIT)
    settles(objects=0)
    assert ray.get(first.stats.remote())["owned"] == 0


def test_returned_from_tasks_within_tasks(ray: Any) -> None:
    @ray.remote
    def make(depth: int) -> Any:
        if depth == 0:
            return [ray.put(big(42))]
        return [make.remote(depth - 1)]

    ref = make.remote(4)
    for _ in range(5):
        (ref,) = ray.get(ref, timeout=LIMIT)
    assert int(ray.get(ref, timeout=LIMIT)[0]) == 42


def test_references_that_cross(ray: Any, holder: Any) -> None:
    """The same object goes out and comes back many times, dropped in between."""
    actor, other = holder.remote(), holder.remote()
    ref = ray.put(big(3))
    calls = []
    for i in range(200):
        calls += [
            actor.keep.remote("x", [ref]),
            actor.give.remote("x", other),
            other.keep.remote("x", None),
            actor.drop.remote("x"),
        ]
        if i % 20 == 0:
            (ref,) = ray.get(actor.keep.remote("y", [ref])) or ray.get(actor.get.remote("y"))
    ray.get(calls, timeout=LIMIT)
    ray.get([actor.drop.remote("y"), other.drop.remote("x")], timeout=LIMIT)
    assert int(ray.get(ref)[0]) == 3
    del ref, calls
    settles(objects=0)
