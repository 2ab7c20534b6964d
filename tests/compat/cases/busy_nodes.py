"""Work that names a node and does not wait for room there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from casebook import eventually, own_session


def affinity(ray: Any, **how: bool) -> Any:
    kind = import_module(f"{ray.__name__}.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    return kind(ray.nodes()[0]["NodeID"], "_spill_on_unavailable" in how, **how)


def said(ray: Any, ref: Any) -> None:
    try:
        print(ray.get(ref, timeout=60))
    except Exception as error:
        print(type(error).__name__, isinstance(error, ray.exceptions.RayError))


class Holder:
    def one(self) -> int:
        return 1


def full(ray: Any) -> tuple[Any, Any, Any]:
    """A session whose only CPU an actor holds, with a task and a class that need it, too."""
    ray.init(num_cpus=1, log_to_driver=False)
    task, actor = ray.remote(num_cpus=1)(lambda: 7), ray.remote(num_cpus=1)(Holder)
    holder = actor.remote()
    print(ray.get(holder.one.remote()))
    eventually(lambda: ray.available_resources().get("CPU"), None)
    return task, actor, holder


@own_session
def a_task_fails_when_its_node_is_full(ray: Any) -> None:
    task, _, holder = full(ray)
    now = task.options(scheduling_strategy=affinity(ray, _fail_on_unavailable=True))
    said(ray, now.remote())
    ray.kill(holder)
    eventually(lambda: ray.available_resources().get("CPU"), 1.0)
    said(ray, now.remote())


@own_session
def an_actor_fails_when_its_node_is_full_and_stays_dead(ray: Any) -> None:
    _, actor, holder = full(ray)
    now = actor.options(scheduling_strategy=affinity(ray, _fail_on_unavailable=True))
    dead = now.remote()
    said(ray, dead.one.remote())
    ray.kill(holder)
    eventually(lambda: ray.available_resources().get("CPU"), 1.0)
    said(ray, dead.one.remote())
    said(ray, now.remote().one.remote())


@own_session
def a_task_that_spills_waits_when_there_is_one_node(ray: Any) -> None:
    task, _, holder = full(ray)
    ref = task.options(scheduling_strategy=affinity(ray, _spill_on_unavailable=True)).remote()
    print(len(ray.wait([ref], timeout=1)[0]))
    ray.kill(holder)
    said(ray, ref)


@own_session
def an_actor_that_spills_waits_when_there_is_one_node(ray: Any) -> None:
    _, actor, holder = full(ray)
    ref = actor.options(scheduling_strategy=affinity(ray, _spill_on_unavailable=True)).remote().one.remote()
    print(len(ray.wait([ref], timeout=1)[0]))
    ray.kill(holder)
    said(ray, ref)
