"""Parallel iterators (`util.iter`) and groups of actors (`util.actor_group`)."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from casebook import attempt, case


def iter_of(ray: Any) -> Any:
    return importlib.import_module(f"{ray.__name__}.util.iter")


def group_of(ray: Any) -> Any:
    return importlib.import_module(f"{ray.__name__}.util.actor_group").ActorGroup


@case
def a_range_in_shards(ray: Any) -> None:
    it = iter_of(ray).from_range(10, num_shards=3)
    print(it, it.num_shards())
    print([list(shard) for shard in it.shards()])


@case
def items_are_dealt_in_turns(ray: Any) -> None:
    it = iter_of(ray).from_items(["a", "b", "c", "d", "e"], num_shards=2)
    print(it, [list(shard) for shard in it.shards()])
    print(iter_of(ray).from_items([], num_shards=1), list(iter_of(ray).from_items([], 1).gather_sync()))


@case
def functions_and_lists_as_shards(ray: Any) -> None:
    it = iter_of(ray).from_iterators([lambda: (x * x for x in range(3)), [7, 8]])
    print(it, list(it.gather_sync()))
    print(iter_of(ray).from_iterators([[1]], name="mine"))


@case
def generators_cannot_be_shards(ray: Any) -> None:
    attempt("generator", lambda: iter_of(ray).from_iterators([x for x in range(1)] and [(x for x in range(3))]))


@case
def steps_in_the_shards(ray: Any) -> None:
    it = iter_of(ray).from_range(12, 2)
    print(list(it.for_each(lambda x: x * 2).filter(lambda x: x % 3 == 0).gather_sync()))
    print(list(it.batch(4).gather_sync()))
    print(list(iter_of(ray).from_range(12, 2).batch(4).flatten().gather_sync()))
    print(list(iter_of(ray).from_range(4, 2).combine(lambda x: [x, -x]).gather_sync()))


@case
def names_of_chains(ray: Any) -> None:
    it = iter_of(ray).from_range(4, 2, repeat=True)
    print(it.for_each(lambda x: x).filter(bool).batch(2).flatten().combine(lambda x: [x]))
    print(it.local_shuffle(3), it.local_shuffle(3, seed=5))
    print(it.transform(lambda items: items))
    print(it.select_shards([0]), it.union(it))
    print(str(it) == repr(it), it.name)


@case
def names_of_local_chains(ray: Any) -> None:
    it = iter_of(ray).from_range(4, 2)
    for local in (it.gather_sync(), it.gather_async(), it.batch_across_shards(), it.get_shard(1)):
        print(local)
        print(local.for_each(lambda x: x).filter(bool).batch(2).flatten().shuffle(2).name)
    print([copy.name for copy in it.gather_sync().duplicate(2)])


@case
def lists_across_shards(ray: Any) -> None:
    print(list(iter_of(ray).from_iterators([range(3), range(10, 12), []]).batch_across_shards()))


@case
def gathering_without_order(ray: Any) -> None:
    module = iter_of(ray)
    print(sorted(module.from_range(20, 3).gather_async()))
    print(sorted(module.from_range(20, 3).gather_async(batch_ms=5, num_async=2)))


@case
def tasks_for_each_item(ray: Any) -> None:
    it = iter_of(ray).from_range(6, 1).for_each(lambda x: x + 1, max_concurrency=2, resources={"num_cpus": 0.1})
    print(sorted(it.gather_sync()))
    attempt("negative", lambda: it.for_each(lambda x: x, max_concurrency=-1))


@case
def another_number_of_shards(ray: Any) -> None:
    it = iter_of(ray).from_range(9, 2).repartition(3)
    print(it, it.num_shards(), [len(list(shard)) for shard in it.shards()])
    print(sorted(iter_of(ray).from_range(9, 2).repartition(4, batch_ms=2).gather_sync()))


@case
def united_shards(ray: Any) -> None:
    module = iter_of(ray)
    it = module.from_range(3, 1).union(module.from_range(4, 2).for_each(lambda x: x * 10))
    print(it.num_shards(), sorted(it.gather_sync()), list(it.get_shard(2)))
    attempt("with a list", lambda: it.union([1]))
    attempt("selected", lambda: it.select_shards([0]))


@case
def chosen_shards(ray: Any) -> None:
    it = iter_of(ray).from_range(9, 3)
    print(list(it.select_shards([0, 2]).gather_sync()))
    attempt("none", lambda: it.select_shards([]))
    attempt("unknown", lambda: it.select_shards([7]))
    attempt("get_shard(3)", lambda: it.get_shard(3))
    attempt("num_async", lambda: it.get_shard(0, num_async=0))
    attempt("batch_ms", lambda: it.gather_async(batch_ms=-1))


@case
def shuffled_with_a_seed(ray: Any) -> None:
    module = iter_of(ray)
    print(list(module.from_range(12, 1).local_shuffle(4, seed=7).gather_sync()))
    print(list(module.from_range(8, 2).gather_sync().shuffle(100, seed=3)))


@case
def copies_of_an_iterator(ray: Any) -> None:
    first, second = iter_of(ray).from_range(5, 1).gather_sync().duplicate(2)
    print([next(first), next(second), next(first), next(second)])
    attempt("one", lambda: first.duplicate(1))


@case
def united_local_iterators(ray: Any) -> None:
    module = iter_of(ray)

    def local(n: int, factor: int) -> Any:
        return module.from_range(n, 1).for_each(lambda x: x * factor).gather_sync()

    print(list(local(3, 1).union(local(4, 10), deterministic=True)))
    print(list(local(4, 1).union(local(2, 10), round_robin_weights=[2, 1])))
    print(sorted(local(4, 1).union(local(2, 10))))
    attempt("weights", lambda: local(1, 1).union(local(1, 1), round_robin_weights=[1]))
    attempt("a list", lambda: local(1, 1).union([1]))


@case
def endless_shards(ray: Any) -> None:
    module = iter_of(ray)
    print(module.from_items([1, 2], 1, repeat=True).take(5), module.from_range(2, 1, repeat=True).take(3))
    module.from_range(5, 1).show(2)


@case
def not_iterable_itself(ray: Any) -> None:
    it = iter_of(ray).from_range(2)
    attempt("iter", lambda: list(it))
    print(it.take(9))


@case
def a_shard_in_a_task(ray: Any) -> None:
    read = ray.remote(lambda shard: list(shard))
    print(ray.get([read.remote(shard) for shard in iter_of(ray).from_range(6, 2).for_each(lambda x: x + 1).shards()]))


@case
def numbers_of_a_chain(ray: Any) -> None:
    module = iter_of(ray)

    def count(x: int) -> int:
        metrics = module.LocalIterator.get_metrics()
        metrics.counters["seen"] += 1
        metrics.info["last"] = x
        return int(metrics.counters["seen"])

    it = module.from_range(4, 1).gather_sync().for_each(count)
    print(list(it), it.shared_metrics.get().save())
    metrics = module.MetricsContext()
    metrics.restore({"counters": {"a": 1}, "info": {}, "timers": None})
    print(dict(metrics.counters), metrics.counters["new"], metrics.current_actor)


@case
def actors_of_items(ray: Any) -> None:
    module = iter_of(ray)
    pairs = list(module.from_range(6, 3).gather_async().zip_with_source_actor())
    print(len({actor for actor, _ in pairs}), sorted(item for _, item in pairs))
    attempt("sync", lambda: list(module.from_range(2, 1).gather_sync().zip_with_source_actor()))


@case
def own_classes_of_actors(ray: Any) -> None:
    module = iter_of(ray)

    @ray.remote
    class Squares(module.ParallelIteratorWorker):  # type: ignore[misc, name-defined]
        def __init__(self, n: int) -> None:
            super().__init__(lambda: (x * x for x in range(n)), False)

        def other(self) -> str:
            return "other"

    actors = [Squares.remote(3), Squares.remote(2)]
    it = module.from_actors(actors)
    print(it, list(it.gather_sync()), ray.get(actors[0].other.remote()))


@case
def failing_steps(ray: Any) -> None:
    it = iter_of(ray).from_range(3, 1).for_each(lambda x: 1 // (x - 1))
    local = it.gather_sync()
    print(next(local))
    attempt("second", lambda: next(local))


@case
def a_group_of_actors(ray: Any) -> None:
    class Cell:
        def __init__(self, base: int, more: int = 0) -> None:
            self.base = base + more

        def add(self, x: int) -> int:
            return self.base + x

        def get_actor_metadata(self) -> str:
            return f"cell {self.base}"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        group = group_of(ray)(Cell, num_actors=2, num_cpus_per_actor=0, init_args=(1,), init_kwargs={"more": 2})
    print(len(group), ray.get(group.add.remote(10)), group.actor_metadata)
    print(ray.get(group[1].actor.add.remote(1)), group[1].metadata)
    attempt("direct call", lambda: group.add(1))
    attempt("start", group.start)
    group.add_actors(1)
    group.remove_actors([0])
    print(len(group), group.num_actors)
    group.shutdown()
    print(len(group))
    attempt("after shutdown", lambda: group.add.remote(1))
    group.start()
    print(len(group), ray.get(group.add.remote(0)))
    group.shutdown(patience_s=0)


@case
def refused_groups_of_actors(ray: Any) -> None:
    class Cell: ...

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attempt("none", lambda: group_of(ray)(Cell, num_actors=0))
        attempt("negative", lambda: group_of(ray)(Cell, num_cpus_per_actor=-1))
        attempt("negative GPUs", lambda: group_of(ray)(Cell, num_gpus_per_actor=-1))
