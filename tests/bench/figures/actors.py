"""Actors: calls from one caller to one actor, and making them."""

from __future__ import annotations

from typing import Any

from book import Bench, figure


def actor_class(ray: Any) -> Any:
    class Nothing:
        def call(self) -> None:
            return None

    return ray.remote(num_cpus=0)(Nothing)


@figure("actor call, one after the other", "1/s")
def actor_sync(bench: Bench) -> float:
    ray = bench.ray
    actor = actor_class(ray).remote()
    return bench.rate(lambda: ray.get(actor.call.remote()))


@figure("actor call, 1,000 at once", "1/s")
def actor_pipelined(bench: Bench) -> float:
    ray = bench.ray
    actor = actor_class(ray).remote()
    return bench.rate(lambda: ray.get([actor.call.remote() for _ in range(1000)]), count=1000)


@figure("actor made, first call answered", "1/s")
def actor_create(bench: Bench) -> float:
    ray = bench.ray
    Nothing = actor_class(ray)

    def make() -> None:
        actor = Nothing.remote()
        ray.get(actor.call.remote())
        ray.kill(actor)

    return bench.rate(make)
