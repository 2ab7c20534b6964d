"""``util.ActorPool`` and ``util.queue.Queue``."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pace import PATIENCE_S


class Doubler:
    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.gate = asyncio.Event()

    async def who(self, _: Any) -> int:
        return self.number

    async def double(self, x: int) -> int:
        return 2 * x

    async def fail(self, x: int) -> None:
        raise KeyError(x)

    async def wait(self, x: Any) -> Any:
        await self.gate.wait()
        return x

    async def open(self) -> None:
        self.gate.set()

    async def both(self, x: int) -> tuple[int, int]:
        return x, -x


def double(actor: Any, value: int) -> Any:
    return actor.double.remote(value)


def wait(actor: Any, value: Any) -> Any:
    return actor.wait.remote(value)


def both(actor: Any, value: int) -> Any:
    return actor.both.options(num_returns=2).remote(value)


@pytest.fixture
def actors(ray: Any) -> Any:
    made = [ray.remote(num_cpus=0)(Doubler).remote(number) for number in range(2)]
    yield made
    for actor in made:
        ray.kill(actor)


@pytest.mark.parametrize("how", ["map", "map_unordered"])
def test_map_gives_no_result_of_an_earlier_submit(ray: Any, actors: Any, how: str) -> None:
    pool = ray.util.ActorPool(actors[:1])
    pool.submit(wait, "slow")
    pool.submit(wait, "waits for the actor")
    assert list(getattr(pool, how)(double, [1, 2, 3])) == [2, 4, 6]
    ray.get(actors[0].open.remote(), timeout=PATIENCE_S)
    assert list(getattr(pool, how)(double, [4])) == [8] and not pool.has_next()


def test_several_results_of_a_call_come_as_a_list(ray: Any, actors: Any) -> None:
    pool = ray.util.ActorPool(actors)
    assert list(pool.map(both, [1, 2, 3])) == [[1, -1], [2, -2], [3, -3]]
    assert sorted(pool.map_unordered(both, [1, 2, 3])) == [[1, -1], [2, -2], [3, -3]]
    pool.submit(lambda actor, value: [actor.double.remote(value), actor.wait.remote(value)], 5)
    with pytest.raises(TimeoutError):  # one of the two is there
        pool.get_next(timeout=0.05)
    with pytest.raises(TimeoutError):
        pool.get_next_unordered(timeout=0.05)
    ray.get([actor.open.remote() for actor in actors], timeout=PATIENCE_S)
    assert pool.get_next_unordered(timeout=PATIENCE_S) == [10, 5]


def test_a_result_that_is_late_stays_or_is_dropped_as_asked(ray: Any, actors: Any) -> None:
    pool = ray.util.ActorPool(actors)
    pool.submit(wait, "first")
    pool.submit(double, 2)
    with pytest.raises(TimeoutError):
        pool.get_next(timeout=0)
    with pytest.raises(TimeoutError, match="dropped"):
        pool.get_next(timeout=0, ignore_if_timedout=True)
    assert pool.get_next(timeout=PATIENCE_S) == 4 and not pool.has_next()
    with pytest.raises(StopIteration):
        pool.get_next()
    pool.submit(wait, "third")
    with pytest.raises(TimeoutError, match="dropped"):
        pool.get_next_unordered(timeout=0, ignore_if_timedout=True)
    with pytest.raises(StopIteration):
        pool.get_next_unordered()


def test_get_next_goes_on_after_results_were_taken_out_of_order(ray: Any, actors: Any) -> None:
    pool = ray.util.ActorPool(actors)
    pool.submit(wait, "first")
    pool.submit(double, 2)
    assert pool.get_next_unordered(timeout=PATIENCE_S) == 4
    ray.get([actor.open.remote() for actor in actors], timeout=PATIENCE_S)
    assert pool.get_next(timeout=PATIENCE_S) == "first"
    pool.submit(double, 3)
    assert pool.get_next(timeout=PATIENCE_S) == 6


def test_push_adds_an_actor_and_starts_what_waits(ray: Any, actors: Any) -> None:
    pool = ray.util.ActorPool(actors[:1])
    assert pool.has_free()
    pool.submit(wait, "slow")
    pool.submit(lambda actor, value: actor.who.remote(value), None)
    assert not pool.has_free() and pool.pop_idle() is None
    with pytest.raises(ValueError, match="already belongs"):
        pool.push(actors[0])  # it is busy
    pool.push(actors[1])
    with pytest.raises(ValueError, match="already belongs"):
        pool.push(actors[1])
    assert pool.get_next_unordered(timeout=PATIENCE_S) == 1
    assert pool.has_free()
    with pytest.raises(ValueError, match="already belongs"):
        pool.push(actors[1])  # it is idle
    assert pool.pop_idle() == actors[1] and pool.pop_idle() is None
    pool.push(actors[1])
    assert pool.pop_idle() == actors[1]


def test_an_actor_that_has_died_is_given_nothing_more(ray: Any, actors: Any) -> None:
    pool = ray.util.ActorPool(actors)
    with pytest.raises(KeyError):
        list(pool.map(lambda actor, value: actor.fail.remote(value), [1]))
    assert sorted(pool.map(double, range(3))) == [0, 2, 4]
    ray.kill(actors[1])
    died = 0
    for value in range(4):
        pool.submit(double, value)
        try:
            assert pool.get_next(timeout=PATIENCE_S) == 2 * value
        except ray.exceptions.ActorDiedError:
            died += 1
    assert died == 1 and pool.pop_idle() == actors[0] and pool.pop_idle() is None


def test_a_function_that_raises_gives_its_actor_back(ray: Any, actors: Any) -> None:
    pool = ray.util.ActorPool(actors[:1])
    with pytest.raises(AttributeError):
        pool.submit(lambda actor, value: actor.no_such_method.remote(value), 1)
    assert list(pool.map(double, [1])) == [2]


@pytest.fixture
def queue(ray: Any) -> Any:
    from eagleray.util.queue import Queue

    made = Queue(1)
    yield made
    made.shutdown(force=True)


def test_put_and_get_without_waiting(queue: Any) -> None:
    from eagleray.util.queue import Empty, Full

    queue.put_nowait(1)
    with pytest.raises(Full):
        queue.put_nowait(2)
    assert queue.get_nowait() == 1
    with pytest.raises(Empty):
        queue.get_nowait()
    queue.put(3, timeout=0)
    with pytest.raises(Full):
        queue.put(4, timeout=0)
    assert queue.get(timeout=0) == 3
    with pytest.raises(Empty):
        queue.get(block=False)

    async def both() -> Any:
        await queue.put_async(5, block=False)
        return await queue.get_async(block=False)

    assert asyncio.run(both()) == 5


def test_batches_that_are_none_are_refused(queue: Any) -> None:
    from eagleray.util.queue import Empty, Full

    with pytest.raises(TypeError, match="'items'"):
        queue.put_nowait_batch(5)
    with pytest.raises(TypeError, match="'num_items'"):
        queue.get_nowait_batch("x")
    with pytest.raises(ValueError, match="'num_items'"):
        queue.get_nowait_batch(-1)
    with pytest.raises(Full):
        queue.put_nowait_batch([1, 2])
    with pytest.raises(Empty):
        queue.get_nowait_batch(1)
    with pytest.raises(ValueError, match="'timeout'"):
        queue.get(timeout=-1)


@pytest.mark.parametrize("force", [False, True])
def test_a_queue_that_was_shut_down_has_no_actor(ray: Any, force: bool) -> None:
    from eagleray.util.queue import Queue

    queue = Queue()
    queue.put(1)
    queue.shutdown(force=force)
    assert queue.actor is None
    queue.shutdown()
    with pytest.raises(ray.exceptions.ActorDiedError, match="this queue was shut down"):
        queue.get()
