"""What type checkers know about programs: checked by mypy and pyright, never run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import eagleray as ray
from eagleray import ObjectRef
from eagleray.actor import ActorClass, ActorHandle, ActorMethod, ActorProxy
from eagleray.util.placement_group import PlacementGroup
from eagleray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from typing_extensions import assert_type


@ray.remote
def f(x: int) -> int:
    return x


@ray.remote(num_gpus=1, max_calls=1)
def g(name: str, *, times: int = 1) -> list[str]:
    return [name] * times


@ray.remote(num_gpus=1, fallback=[{"num_cpus": 2}, (f, {"num_cpus": 1, "resources": {"slot": 1}})], fallback_after=0.5)
def h(x: int) -> int:
    return x


@ray.remote(num_returns=2)
def pair() -> tuple[int, str]:
    return 1, "a"


@ray.remote(num_returns="streaming")
def items(n: int) -> Iterator[int]:
    yield n


class Counter:
    def __init__(self, start: int = 0) -> None:
        self.n = start

    def add(self, n: int) -> int:
        self.n += n
        return self.n


class Server:
    @ray.method
    def ask(self, question: str) -> bytes:
        return question.encode()

    @ray.method(num_returns=2)
    def both(self) -> tuple[int, int]:
        return 1, 2


# mypy does not look at what a decorator makes of a class; pyright does. Called, it is known to both.
CounterActor = ray.remote(Counter)
ServerActor = ray.remote(max_concurrency=2)(Server)


def functions() -> None:
    assert_type(f.remote(1), ObjectRef[int])
    assert_type(ray.get(f.remote(1)), int)
    assert_type(ray.get([f.remote(1), f.remote(2)]), list[int])
    assert_type(ray.get(f.remote(1), timeout=1.5), int)
    assert_type(g.remote("a", times=2), ObjectRef[list[str]])
    assert_type(h.remote(1), ObjectRef[int])
    assert_type(f.options(num_cpus=2, name="other").remote(1), ObjectRef[int])
    assert_type(f.options(fallback=[{"num_cpus": 2}], fallback_after=30).remote(1), ObjectRef[int])
    assert_type(pair.remote(), list[ObjectRef[Any]])
    assert_type(g.options(num_returns=3).remote("a"), list[ObjectRef[Any]])


def generators() -> None:
    gen = items.remote(3)
    assert_type(gen, ray.ObjectRefGenerator[Any])
    for ref in gen:
        assert_type(ref, ObjectRef[Any])
    assert_type(g.options(num_returns="streaming").remote("a"), ray.ObjectRefGenerator[Any])
    ready, _ = ray.wait([gen])
    assert_type(ready, list[ray.ObjectRefGenerator[Any]])
    ray.cancel(gen)


def references_as_arguments() -> None:
    one = ray.put(1)
    assert_type(one, ObjectRef[int])
    assert_type(f.remote(one), ObjectRef[int])
    assert_type(g.remote(ray.put("a"), times=2), ObjectRef[list[str]])
    assert_type(f.remote(x=one), ObjectRef[int])


def waiting() -> None:
    refs = [f.remote(i) for i in range(3)]
    ready, rest = ray.wait(refs, num_returns=2, timeout=1.0, fetch_local=True)
    assert_type(ready, list[ObjectRef[int]])
    assert_type(rest, list[ObjectRef[int]])
    assert_type(refs[0].future().result(), int)
    assert_type(refs[0].hex(), str)


async def loops() -> None:
    assert_type(await f.remote(1), int)
    assert_type(await asyncio.gather(f.remote(1), g.remote("a")), tuple[int, list[str]])


def actors() -> None:
    assert_type(CounterActor, ActorClass[Counter])
    counter = CounterActor.remote(5)
    assert_type(counter, ActorHandle[Counter])
    assert_type(counter.add, ActorMethod[..., Any])
    assert_type(ray.get(counter.add.remote(1)), Any)
    assert_type(CounterActor.options(name="c", num_gpus=0.5).remote(), ActorHandle[Counter])
    assert_type(
        CounterActor.options(num_gpus=1, fallback=[{}, (Counter, {"num_cpus": 1})]).remote(), ActorHandle[Counter]
    )
    assert_type(ray.get_actor("c"), ActorHandle[Any])
    ray.kill(counter, no_restart=True)


def takes_actors(cls: ActorClass[Counter], handle: ActorHandle[Counter], gen: ray.ObjectRefGenerator[int]) -> None:
    assert_type(cls.remote(1), ActorHandle[Counter])
    ref = handle.add.remote(1)
    assert_type(ref, ObjectRef[Any])
    assert_type(gen._get_next_ref_n(2), list[ObjectRef[int]])
    assert_type(ray.put(1)._on_completed(print), ObjectRef[int])


def methods_with_types(server: ActorProxy[Server]) -> None:
    answer: bytes = ray.get(server.ask.remote("x"))
    print(answer)


def groups() -> None:
    group = ray.util.placement_group([{"CPU": 1, "GPU": 0.5}, {"gpu_memory": "8GiB"}], strategy="SPREAD")
    assert_type(group, PlacementGroup)
    assert_type(ray.get(group.ready()), PlacementGroup)
    assert_type(group.wait(timeout_seconds=1), bool)
    inside = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=0)
    assert_type(f.options(scheduling_strategy=inside).remote(1), ObjectRef[int])
    assert_type(ray.util.get_current_placement_group(), PlacementGroup | None)
    assert_type(ray.util.placement_group_table(group), dict[str, Any])
    ray.util.remove_placement_group(group)


def sessions() -> None:
    with ray.init(num_cpus=2, num_gpus=1, resources={"a": 1}, namespace="n") as context:
        assert_type(context.address_info, dict[str, Any])
    assert_type(ray.is_initialized(), bool)
    assert_type(ray.cluster_resources(), dict[str, float])
    assert_type(ray.nodes(), list[dict[str, Any]])
    assert_type(ray.get_runtime_context().get_job_id(), str)
    assert_type(ray.get_runtime_context().get_accelerator_ids(), dict[str, list[str]])
    ray.shutdown()
