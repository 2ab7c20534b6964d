"""Placement groups: made, worked in, inherited by children, removed, and what is refused."""

from __future__ import annotations

from typing import Any

from casebook import accepts, attempt, case, eventually, gpu_case


def strategy(ray: Any, *args: Any, **kwargs: Any) -> Any:
    from importlib import import_module

    module = import_module(f"{ray.__name__}.util.scheduling_strategies")
    return module.PlacementGroupSchedulingStrategy(*args, **kwargs)


def where(ray: Any) -> Any:
    @ray.remote(num_cpus=0)
    def group_id() -> str | None:
        return ray.get_runtime_context().get_placement_group_id()

    return group_id


@case
def made_and_removed(ray: Any) -> None:
    group = ray.util.placement_group([{"CPU": 1}, {"CPU": 2}], strategy="SPREAD")
    found = ray.get(group.ready(), timeout=60)
    print(type(group).__name__, found == group, hash(found) == hash(group), group.wait(10), group.is_empty)
    print(group.bundle_count, group.bundle_specs, found.bundle_specs, type(group.id).__name__, len(group.id.binary()))
    table = ray.util.placement_group_table(group)
    print(sorted(table), sorted(table["stats"]))
    print(table["state"], table["strategy"], repr(table["name"]), table["bundles"], sorted(table["bundles_to_node_id"]))
    print(table["placement_group_id"] == group.id.hex(), group.id.hex() in ray.util.placement_group_table())
    print(eventually(lambda: ray.available_resources().get("CPU"), 1.0))
    print(ray.util.remove_placement_group(group), ray.util.remove_placement_group(group))
    print(eventually(lambda: ray.util.placement_group_table(group)["state"], "REMOVED"))
    print(eventually(lambda: ray.available_resources().get("CPU"), 4.0))


@case
def work_in_a_group(ray: Any) -> None:
    group = ray.util.placement_group([{"CPU": 1}, {"CPU": 2}])
    group_id = where(ray)

    @ray.remote(num_cpus=1)
    class Member:
        def group_id(self) -> str | None:
            return ray.get_runtime_context().get_placement_group_id()

    def inside(call: Any) -> bool:
        return bool(ray.get(call, timeout=60) == group.id.hex())

    for index in (0, 1, -1):
        print(inside(group_id.options(scheduling_strategy=strategy(ray, group, index)).remote()))
    print(inside(group_id.options(placement_group=group, placement_group_bundle_index=1, num_cpus=2).remote()))
    member = Member.options(scheduling_strategy=strategy(ray, placement_group=group)).remote()
    print(inside(member.group_id.remote()), ray.get(group_id.remote()))
    runtime = ray.get_runtime_context()
    print(runtime.get_placement_group_id(), runtime.current_placement_group_id.is_nil())
    print(ray.util.get_current_placement_group())
    ray.util.remove_placement_group(group)


@case
def children(ray: Any) -> None:
    group = ray.util.placement_group([{"CPU": 2}])
    group_id = where(ray)

    @ray.remote(num_cpus=0)
    class Member:
        def group_id(self) -> str | None:
            return ray.get_runtime_context().get_placement_group_id()

    @ray.remote(num_cpus=0)
    def parent(own: str) -> list[Any]:
        outside = [{}, {"placement_group": None}, {"scheduling_strategy": "DEFAULT"}, {"scheduling_strategy": "SPREAD"}]
        refs = [group_id.options(**options).remote() for options in outside]
        member = Member.options(num_cpus=1).remote()
        refs.append(member.group_id.remote())
        context = ray.get_runtime_context()
        captures = context.should_capture_child_tasks_in_placement_group
        current = ray.util.get_current_placement_group()
        found = [found == own if found else None for found in ray.get(refs)]
        return [captures, current is not None and current.id.hex() == own, *found]

    for capture in (None, False, True):
        inside = strategy(ray, group, placement_group_capture_child_tasks=capture)
        print(capture, ray.get(parent.options(scheduling_strategy=inside).remote(group.id.hex()), timeout=60))
    ray.util.remove_placement_group(group)


@case
def what_is_refused(ray: Any) -> None:
    make = ray.util.placement_group
    attempt("no bundles", lambda: make([]))
    attempt("a dictionary", lambda: make({"CPU": 1}))
    attempt("an empty bundle", lambda: make([{"CPU": 1}, {}]))
    attempt("a bundle of nothing", lambda: make([{"CPU": 0}]))
    attempt("a text", lambda: make([{"CPU": "1"}]))
    attempt("a number as name", lambda: make([{1: 1}]))
    attempt("a strategy", lambda: make([{"CPU": 1}], strategy="TIGHT"))
    attempt("a lifetime", lambda: make([{"CPU": 1}], lifetime="forever"))
    attempt("no name", lambda: ray.util.get_placement_group(""))
    attempt("nobody", lambda: ray.util.get_placement_group("nobody"))
    group = make([{"CPU": 1}])
    group_id = where(ray)
    for index in (1, -2):
        inside = group_id.options(scheduling_strategy=strategy(ray, group, index))
        attempt(f"index {index}", inside.remote)
    attempt("an index without a group", lambda: group_id.options(placement_group_bundle_index=0).remote())
    attempt("too much", lambda: group_id.options(num_cpus=2, placement_group=group).remote())
    attempt("another resource", lambda: group_id.options(resources={"slot": 1}, placement_group=group).remote())
    attempt("twice", lambda: group_id.options(placement_group=group, scheduling_strategy=strategy(ray, group)).remote())
    accepts(
        "none and a strategy", lambda: group_id.options(placement_group=None, scheduling_strategy="SPREAD").remote()
    )
    ray.util.remove_placement_group(group)


@case
def removed_with_work(ray: Any) -> None:
    import time

    @ray.remote
    def stays() -> None:
        time.sleep(600)

    @ray.remote
    class Stays:
        def there(self) -> bool:
            return True

    group = ray.util.placement_group([{"CPU": 2}])
    inside = strategy(ray, group)
    actor = Stays.options(num_cpus=1, scheduling_strategy=inside).remote()
    print(ray.get(actor.there.remote(), timeout=60))
    waits = [stays.options(num_cpus=2, scheduling_strategy=inside).remote() for _ in range(2)]
    time.sleep(1)
    ray.util.remove_placement_group(group)
    attempt("tasks that wait", lambda: ray.get(waits[0], timeout=60))
    attempt("tasks that wait", lambda: ray.get(waits[1], timeout=60))

    def how() -> str:
        try:
            return str(ray.get(actor.there.remote(), timeout=60))
        except ray.exceptions.RayActorError:
            return "RayActorError"

    print("an actor:", eventually(how, "RayActorError"))
    attempt("ready", lambda: ray.get(group.ready(), timeout=60))


@case
def names(ray: Any) -> None:
    group = ray.util.placement_group([{"CPU": 1}], name="a_group")
    group.wait(30)
    print(ray.util.get_placement_group("a_group") == group)

    @ray.remote(num_cpus=0)
    def find() -> bool:
        return bool(ray.util.get_placement_group("a_group").bundle_specs == [{"CPU": 1.0}])

    print(ray.get(find.remote(), timeout=60))
    attempt("again", lambda: ray.util.placement_group([{"CPU": 1}], name="a_group"))
    ray.util.remove_placement_group(group)

    def look() -> str:
        try:
            ray.util.get_placement_group("a_group")
            return "there"
        except ValueError:
            return "gone"

    print(eventually(look, "gone"))


@gpu_case
def devices(ray: Any) -> None:
    group = ray.util.placement_group([{"GPU": 1}, {"GPU": 2}, {"GPU": 0.5}])
    ray.get(group.ready(), timeout=60)

    @ray.remote(num_cpus=0)
    def ids() -> list[int]:
        return sorted(ray.get_gpu_ids())

    found = [
        ray.get(ids.options(num_gpus=count, scheduling_strategy=strategy(ray, group, index)).remote(), timeout=60)
        for index, count in ((0, 1), (1, 2), (2, 0.5))
    ]
    print([len(some) for some in found], len({one for some in found for one in some}))
    attempt("too much", lambda: ids.options(num_gpus=3, placement_group=group).remote())
    ray.util.remove_placement_group(group)
    print(eventually(lambda: ray.available_resources().get("GPU"), 4.0))


@case
def an_empty_handle(ray: Any) -> None:
    group = ray.util.placement_group([{"CPU": 1}])
    empty = type(group).empty()
    ray.util.remove_placement_group(group)
    print(empty.is_empty, empty.id.is_nil(), empty == type(empty).empty())
    print(ray.get(where(ray).options(placement_group=empty).remote(), timeout=60))
