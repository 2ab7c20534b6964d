"""Actors: calls between callers and actors, and making them."""

from __future__ import annotations

from typing import Any

from book import Bench, figure

MANY = 1000
SEVERAL = 4


def actor_class(ray: Any) -> Any:
    class Nothing:
        def call(self) -> None:
            return None

    return ray.remote(num_cpus=0)(Nothing)


def async_class(ray: Any) -> Any:
    class Nothing:
        async def call(self) -> None:
            return None

    return ray.remote(num_cpus=0)(Nothing)


def caller_class(ray: Any) -> Any:
    class Caller:
        def __init__(self, actors: list[Any]) -> None:
            self.actors = actors

        def call_all(self, count: int) -> int:
            return len(ray.get([actor.call.remote() for _ in range(count) for actor in self.actors]))

    return ray.remote(num_cpus=0)(Caller)


def sync(bench: Bench, actor: Any) -> float:
    def call() -> None:
        assert bench.ray.get(actor.call.remote()) is None

    return bench.rate(call)


def spread(bench: Bench, actors: list[Any]) -> float:
    """A thousand calls at once, the actors in turn."""

    def call() -> None:
        called = [actors[number % len(actors)].call.remote() for number in range(MANY)]
        assert bench.ray.get(called) == [None] * MANY

    return bench.rate(call, count=MANY)


def between(bench: Bench, actors: list[Any]) -> float:
    """As many callers as actors, each of which calls every actor."""
    ray = bench.ray
    callers = [caller_class(ray).remote(actors) for _ in range(SEVERAL)]
    each = MANY // SEVERAL

    def call() -> None:
        assert ray.get([caller.call_all.remote(each) for caller in callers]) == [each * len(actors)] * SEVERAL

    return bench.rate(call, count=SEVERAL * each * len(actors))


@figure("actor call, one after the other", "1/s", times=15)
def actor_sync(bench: Bench) -> float:
    return sync(bench, actor_class(bench.ray).remote())


@figure("actor calls, 1,000 at once, 1 to 1", "1/s", times=15)
def actor_pipelined(bench: Bench) -> float:
    return spread(bench, [actor_class(bench.ray).remote()])


@figure("actor calls, 1,000 at once, 1 to 4", "1/s", times=15)
def actor_one_to_several(bench: Bench) -> float:
    return spread(bench, [actor_class(bench.ray).remote() for _ in range(SEVERAL)])


@figure("actor calls, 4 to 4", "1/s", times=15)
def actor_several_to_several(bench: Bench) -> float:
    return between(bench, [actor_class(bench.ray).remote() for _ in range(SEVERAL)])


@figure("async actor call, one after the other", "1/s", times=15)
def async_actor_sync(bench: Bench) -> float:
    return sync(bench, async_class(bench.ray).remote())


@figure("async actor calls, 1,000 at once, 1 to 1", "1/s", times=15)
def async_actor_pipelined(bench: Bench) -> float:
    return spread(bench, [async_class(bench.ray).remote()])


@figure("async actor calls, 4 to 4", "1/s", times=15)
def async_actor_several_to_several(bench: Bench) -> float:
    return between(bench, [async_class(bench.ray).remote() for _ in range(SEVERAL)])


@figure("actor made, first call answered", "1/s", times=40)
def actor_create(bench: Bench) -> float:
    ray = bench.ray
    Nothing = actor_class(ray)

    def make() -> None:
        actor = Nothing.remote()
        assert ray.get(actor.call.remote()) is None
        ray.kill(actor)

    return bench.rate(make)
