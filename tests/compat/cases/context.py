"""The runtime context of drivers, tasks and actors."""

from __future__ import annotations

from typing import Any

from casebook import attempt, case


@case
def of_the_driver(ray: Any) -> None:
    context = ray.get_runtime_context()
    print(len(context.get_job_id()), len(context.get_node_id()), len(context.get_worker_id()))
    print(context.get_task_id(), context.get_actor_id(), context.get_actor_name(), context.get_task_name())
    print(context.get_task_function_name(), context.get_placement_group_id(), context.namespace)
    attempt("assigned", context.get_assigned_resources)
    attempt("current actor", lambda: context.current_actor)
    attempt("reconstructed", lambda: context.was_current_actor_reconstructed)


@case
def of_a_task(ray: Any) -> None:
    @ray.remote
    def look() -> list[Any]:
        context = ray.get_runtime_context()
        print("not seen by the driver")
        return [
            len(context.get_task_id()),
            len(context.get_worker_id()),
            context.get_actor_id(),
            context.get_actor_name(),
            context.get_task_name(),
            context.get_task_function_name(),
            context.get_assigned_resources(),
            context.namespace,
            context.get_placement_group_id(),
        ]

    for item in ray.get(look.remote()):
        print(item)


@case
def of_an_actor(ray: Any) -> None:
    @ray.remote(num_cpus=1)
    class Looker:
        def look(self) -> list[Any]:
            context = ray.get_runtime_context()
            return [
                len(context.get_task_id()),
                len(context.get_actor_id()),
                context.get_actor_name(),
                context.get_task_name(),
                context.get_task_function_name(),
                context.get_assigned_resources(),
                context.namespace,
                context.was_current_actor_reconstructed,
                type(context.current_actor).__name__,
            ]

    for item in ray.get(Looker.remote().look.remote()):
        print(item)
    print(ray.get(Looker.options(name="looker").remote().look.remote())[2])


@case
def the_same_everywhere(ray: Any) -> None:
    def ids() -> tuple[str, str]:
        context = ray.get_runtime_context()
        return context.get_job_id(), context.get_node_id()

    @ray.remote
    class Actor:
        def ids(self) -> tuple[str, str]:
            return ids()

    print(ray.get(ray.remote(ids).remote()) == ids(), ray.get(Actor.remote().ids.remote()) == ids())


@case
def ids_differ_where_they_should(ray: Any) -> None:
    @ray.remote
    def task_id() -> tuple[str, str]:
        context = ray.get_runtime_context()
        return context.get_task_id(), context.get_worker_id()

    @ray.remote
    class Actor:
        def ids(self) -> tuple[str, str, str]:
            context = ray.get_runtime_context()
            return context.get_task_id(), context.get_actor_id(), context.get_worker_id()

    print(len({ray.get(task_id.remote())[0] for _ in range(3)}))
    a, b = Actor.remote(), Actor.remote()
    first, again, other = ray.get([a.ids.remote(), a.ids.remote(), b.ids.remote()])
    print(first[0] != again[0], first[1] == again[1], first[1] != other[1], first[2] == again[2], first[2] != other[2])


@case
def an_actor_id_is_in_the_handle(ray: Any) -> None:
    @ray.remote
    class Actor:
        def id(self) -> str:
            return ray.get_runtime_context().get_actor_id()

    actor = Actor.remote()
    print(ray.get(actor.id.remote()) in repr(actor))


@case
def a_task_id_is_in_its_reference(ray: Any) -> None:
    task_id = ray.remote(lambda: ray.get_runtime_context().get_task_id())
    ref = task_id.remote()
    print(ref.hex().startswith(ray.get(ref)), len(ref.hex()[48:]))


@case
def names_of_tasks(ray: Any) -> None:
    @ray.remote(name="decorated")
    def name() -> str:
        return ray.get_runtime_context().get_task_name()

    print(ray.get(name.remote()), ray.get(name.options(name="overridden").remote()))
    print(ray.get(ray.remote(lambda: ray.get_runtime_context().get_task_name()).remote()))


@case
def of_a_thread_of_an_actor(ray: Any) -> None:
    @ray.remote(max_concurrency=2)
    class Actor:
        def ids(self) -> tuple[bool, bool]:
            context = ray.get_runtime_context()
            return len(context.get_task_id()) == 48, context.get_actor_id() is not None

    print(ray.get(Actor.remote().ids.remote()))


@case
def of_a_constructor(ray: Any) -> None:
    @ray.remote
    class Actor:
        def __init__(self) -> None:
            context = ray.get_runtime_context()
            self.seen = (context.get_task_name(), len(context.get_actor_id()))

        def read(self) -> Any:
            return self.seen

    print(ray.get(Actor.remote().read.remote()))


@case
def is_initialized_in_a_task(ray: Any) -> None:
    print(ray.get(ray.remote(lambda: ray.is_initialized()).remote()))


@case
def init_in_a_task(ray: Any) -> None:
    def again() -> str:
        try:
            ray.init()
        except Exception as error:
            return type(error).__name__
        return "accepted"

    print(ray.get(ray.remote(again).remote()))
