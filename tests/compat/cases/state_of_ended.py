"""``util.state``: where tasks ran that have ended, creations of actors, logs of tasks, runtime environments."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from casebook import case, eventually


def api(ray: Any) -> Any:
    return import_module(f"{ray.__name__}.util.state")


def row_of(ray: Any, ref: Any, wanted: Callable[[Any], bool] = lambda row: True) -> Any:
    """The record of a task, with details, once it is as wanted."""
    found: list[Any] = []

    def look() -> bool:
        found[:] = [row for row in [api(ray).get_task(ref.task_id().hex())] if row is not None]
        return bool(found) and wanted(found[0])

    eventually(look, True)
    return found[0]


def ended(row: Any) -> bool:
    return bool(row.start_time_ms and row.end_time_ms and row.worker_pid)  # two processes tell Ray of these


def outcome(ray: Any, ref: Any) -> str:
    try:
        ray.get(ref)
        return "a value"
    except Exception as error:
        return type(error).__name__


def creations(ray: Any, actor: Any, state: str) -> None:
    """Prints the creation of an actor, once it has this state."""

    def look() -> list[Any]:
        rows = api(ray).list_tasks(filters=[("actor_id", "=", actor._actor_id.hex())], detail=True)
        return [
            (row.name, row.func_or_class_name, row.type, row.state, row.error_type, row.attempt_number)
            for row in rows
            if row.type == "ACTOR_CREATION_TASK" and row.state == state
        ]

    eventually(lambda: len(look()), 1)
    print(look())


@case
def where_and_when_a_finished_task_ran(ray: Any) -> None:
    ref = ray.remote(num_cpus=0)(lambda: os.getpid()).remote()
    pid = ray.get(ref)
    row = row_of(ray, ref, ended)
    print(row.state, row.worker_pid == pid, row.node_id == ray.get_runtime_context().get_node_id(), row.error_type)
    print(row.start_time_ms <= row.end_time_ms, abs(row.end_time_ms - time.time() * 1000) < 600_000)


@case
def where_and_when_a_failed_task_ran(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    def fails() -> None:
        raise ValueError("no")

    ref = fails.remote()
    print(outcome(ray, ref))
    row = row_of(ray, ref, ended)
    print(row.state, row.error_type, row.worker_pid > 0, row.start_time_ms <= row.end_time_ms, row.attempt_number)


@case
def where_a_call_of_an_actor_ran(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Counter:
        def where(self) -> Any:
            return os.getpid(), ray.get_runtime_context().get_worker_id()

    counter = Counter.remote()
    ref = counter.where.remote()
    pid, worker = ray.get(ref)
    row = row_of(ray, ref, ended)
    print(row.type, row.state, row.worker_pid == pid, row.worker_id == worker, row.start_time_ms <= row.end_time_ms)


@case
def where_an_async_call_ran(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Counter:
        async def where(self) -> Any:
            return os.getpid()

    counter = Counter.remote()
    ref = counter.where.remote()
    pid = ray.get(ref)
    row = row_of(ray, ref, ended)
    print(row.type, row.state, row.worker_pid == pid)


@case
def creation_of_an_actor_is_a_task(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Maker:
        def __init__(self) -> None:
            self.value = 1

    maker = Maker.remote()
    ray.get(maker.__ray_ready__.remote())
    creations(ray, maker, "FINISHED")


@case
def creation_that_raises_is_a_failed_task(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Maker:
        def __init__(self) -> None:
            raise ValueError("no")

    maker = Maker.remote()
    print(outcome(ray, maker.__ray_ready__.remote()))
    creations(ray, maker, "FAILED")


@case
def creation_that_waits_for_resources(ray: Any) -> None:
    @ray.remote(num_cpus=4)
    class Maker:
        def __init__(self) -> None:
            self.value = 1

    first = Maker.remote()
    ray.get(first.__ray_ready__.remote())
    second = Maker.remote()
    creations(ray, second, "PENDING_NODE_ASSIGNMENT")
    ray.kill(first)
    ray.kill(second)


@case
def creation_has_the_id_that_its_constructor_sees(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Maker:
        def __init__(self) -> None:
            self.task = ray.get_runtime_context().get_task_id()

        def seen(self) -> Any:
            return self.task

    maker = Maker.remote()
    seen = ray.get(maker.seen.remote())
    print(seen == "f" * 16 + maker._actor_id.hex())


@case
def creations_in_the_summary(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Summed:
        def __init__(self) -> None:
            self.value = 1

        def call(self) -> int:
            return 1

    both = [Summed.remote() for _ in range(2)]
    ray.get([one.call.remote() for one in both])

    def look() -> Any:
        found = api(ray).summarize_tasks()["cluster"]["summary"]
        rows = [found[name] for name in sorted(found) if name.startswith("creations_in_the_summary.<locals>.Summed.")]
        rows = rows or [found[name] for name in sorted(found) if "Summed." in name]
        return [(row["func_or_class_name"], row["type"], row["state_counts"]) for row in rows]

    eventually(lambda: [sum(counts.values()) for _, _, counts in look() if set(counts) == {"FINISHED"}], [2, 2])
    print(look())


@case
def call_that_ends_its_actor(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Leaver:
        def leave(self) -> None:
            ray.actor.exit_actor()

    leaver = Leaver.remote()
    ref = leaver.leave.remote()
    print(outcome(ray, ref))
    row = row_of(ray, ref, lambda row: row.state == "FINISHED")
    print(row.state, row.error_type)
    later = leaver.leave.remote()
    print(outcome(ray, later))
    row = row_of(ray, later, lambda row: row.state == "FAILED")
    print(row.state, row.error_type)


@case
def attempt_of_a_task_whose_worker_died_without_retries(ray: Any) -> None:
    @ray.remote(num_cpus=0, max_retries=0)
    def dies() -> None:
        os._exit(3)

    ref = dies.remote()
    print(outcome(ray, ref))
    row = row_of(ray, ref, lambda row: row.state == "FAILED")
    print(row.state, row.error_type, row.attempt_number)


def shown_name(ray: Any, actor: Any, wanted: str) -> None:
    print(eventually(lambda: api(ray).get_actor(actor._actor_id.hex()).repr_name, wanted))


@case
def repr_name_of_an_actor(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Named:
        def __repr__(self) -> str:
            return "the named one"

    @ray.remote(num_cpus=0)
    class Plain:
        pass

    named, plain = Named.remote(), Plain.remote()
    ray.get([named.__ray_ready__.remote(), plain.__ray_ready__.remote()])
    shown_name(ray, named, "the named one")
    shown_name(ray, plain, "")
    print(len(api(ray).list_actors(filters=[("repr_name", "=", "the named one")])))


def log(ray: Any, **how: Any) -> str:
    try:
        return "".join(api(ray).get_log(**how))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0].partition(':')[0][:60]}"


def speak(*lines: str) -> None:
    for line in lines:
        print(line)
        print(f"{line}!", file=sys.stderr)


@case
def log_of_a_task(ray: Any) -> None:
    refs = [ray.remote(num_cpus=4)(speak).remote(f"a{number}", f"b{number}") for number in range(3)]
    ray.get(refs)
    for number, ref in enumerate(refs):
        row_of(ray, ref, ended)
        task_id = ref.task_id().hex()
        print(repr(eventually(partial(log, ray, task_id=task_id), f"a{number}\nb{number}\n")))
        print(repr(log(ray, task_id=task_id, suffix="err")), repr(log(ray, task_id=task_id, tail=1)))


@case
def log_of_a_task_that_wrote_nothing(ray: Any) -> None:
    ref = ray.remote(num_cpus=0)(speak).remote()
    ray.get(ref)
    row_of(ray, ref, ended)
    print(repr(log(ray, task_id=ref.task_id().hex())))


@case
def log_of_an_unknown_task(ray: Any) -> None:
    print(log(ray, task_id="f" * 48))


def environments(ray: Any, wanted: Any, text: str) -> Any:
    return [
        row
        for row in api(ray).list_runtime_envs(detail=True)
        if text in str(row.runtime_env) and (wanted is None or row.success == wanted)
    ]


@case
def environment_of_an_actor(ray: Any) -> None:
    @ray.remote(num_cpus=0, runtime_env={"env_vars": {"OF_AN_ACTOR": "1"}})
    class Holder:
        pass

    holder = Holder.remote()
    ray.get(holder.__ray_ready__.remote())
    print(eventually(lambda: len(environments(ray, True, "OF_AN_ACTOR")), 1))
    (row,) = environments(ray, True, "OF_AN_ACTOR")
    print(row.runtime_env, row.success, row.ref_cnt, row.error, row.creation_time_ms > 0)
    print(row.node_id == ray.get_runtime_context().get_node_id())
    plain = [one for one in api(ray).list_runtime_envs() if "OF_AN_ACTOR" in str(one.runtime_env)]
    print(len(plain), plain[0].ref_cnt, plain[0].error)
    print(len([1 for one in api(ray).list_runtime_envs(filters=[("success", "!=", True)]) if one.success]))


@case
def environments_have_columns(ray: Any) -> None:
    kind = import_module(f"{ray.__name__}.util.state.common").RuntimeEnvState
    print("fields", sorted(kind.base_columns()))
    print("details", sorted(kind.columns() - kind.base_columns()))
    print("filters", sorted(kind.filterable_columns()))


@case
def limits_of_lists(ray: Any) -> None:
    print(len(api(ray).list_nodes(limit=0)), len(api(ray).list_nodes(limit=1)))
    for wrong in ({"limit": 10_001}, {"filters": [("is_head_node", "=", "perhaps")]}):
        try:
            api(ray).list_nodes(**wrong)
        except Exception as error:
            kind = import_module(f"{ray.__name__}.util.state.exception").RayStateApiException
            print(isinstance(error, kind))


@case
def old_names_of_the_runtime_context_warn(ray: Any) -> None:
    import warnings

    kind = import_module(f"{ray.__name__}.util.annotations").RayDeprecationWarning

    def old() -> list[Any]:
        context = ray.get_runtime_context()
        seen = []
        for name in ("job_id", "node_id", "current_placement_group_id", "get", "get_resource_ids"):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                value = getattr(context, name)
                if callable(value):
                    value()
            seen.append((name, [one.filename == __file__ for one in said if one.category is kind][:1]))
        return seen

    print(old())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ray.get_runtime_context().get_job_id()
    print(len([one for one in said if one.category is kind][:1]))
    print([name for name, found in ray.get(ray.remote(num_cpus=0)(old).remote()) if found])
