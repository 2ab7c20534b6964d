"""Behaviour that once differed: each program was run under both systems."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
from casebook import DEFAULT_INIT, attempt, case, eventually, gpu_case, own_session


@case
def a_queue_of_one_without_waiting(ray: Any) -> None:
    from importlib import import_module

    queue = import_module(f"{ray.__name__}.util.queue")
    q = queue.Queue(1)
    attempt("put", lambda: q.put_nowait(1))
    attempt("full", lambda: q.put_nowait(2))
    attempt("get", q.get_nowait)
    attempt("empty", q.get_nowait)
    q.shutdown()
    print(q.actor)


@own_session
def arguments_of_ended_tasks_leave_room(ray: Any) -> None:
    with ray.init(**DEFAULT_INIT, object_store_memory=150 * 1024**2):
        f = ray.remote(lambda x: x.nbytes)
        print({ray.get(f.remote(np.zeros(10 << 20, np.uint8))) for _ in range(30)})


@case
def a_put_outlives_an_actor_that_came_and_went(ray: Any) -> None:
    @ray.remote
    class Short:
        def ping(self) -> int:
            return 1

    @ray.remote
    def make() -> Any:
        return ray.put(np.ones(10_000_000))

    ref = ray.get(make.remote())
    actor = Short.remote()
    print(ray.get(actor.ping.remote()))
    del actor
    gc.collect()
    print(ray.get(ref).sum())


@own_session
def ten_thousand_kinds_of_resources(ray: Any) -> None:
    with ray.init(**DEFAULT_INIT, resources={f"kind_{i}": 1 for i in range(10_000)}):
        print(len([name for name in ray.cluster_resources() if name.startswith("kind_")]))
        print(ray.get(ray.remote(resources={"kind_77": 1})(lambda: 5).remote()))


@case
def a_future_without_a_running_loop(ray: Any) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        print(loop.run_until_complete(ray.put(3).as_future()))
    finally:
        asyncio.set_event_loop(None)
        loop.close()


@case
def unread_results_of_a_pool(ray: Any) -> None:
    from importlib import import_module

    pool_kind = import_module(f"{ray.__name__}.util").ActorPool

    @ray.remote
    class Worker:
        def double(self, x: int) -> int:
            return 2 * x

        @ray.method(num_returns=2)
        def two(self, x: int) -> Any:
            return x, x + 1

    pool = pool_kind([Worker.remote(), Worker.remote()])
    pool.submit(lambda a, v: a.double.remote(v), 100)
    print(list(pool.map(lambda a, v: a.double.remote(v), [1, 2, 3])))


@case
def a_title_for_the_process(ray: Any) -> None:
    def title() -> str:
        with open("/proc/self/cmdline", "rb") as file:
            return file.read().split(b"\0")[0].decode().strip()

    @ray.remote
    class Foo:
        def m(self) -> str:
            return title()

    print(ray.get(ray.remote(title).remote()).rpartition("::")[2])
    print(ray.get(Foo.remote().m.remote()).rpartition("::")[2])


@own_session
def the_store_in_use_is_not_available(ray: Any) -> None:
    with ray.init(**DEFAULT_INIT, object_store_memory=500 * 1024**2):
        ref = ray.put(np.zeros(150 << 20, np.uint8))
        used = eventually(
            lambda: (
                round(
                    (ray.cluster_resources()["object_store_memory"] - ray.available_resources()["object_store_memory"])
                    / 2**20
                )
                >= 150
            ),
            True,
        )
        print(used)
        del ref


@case
def names_that_are_nothing(ray: Any) -> None:
    class Plain:
        pass

    attempt("namespace", lambda: ray.remote(Plain).options(namespace="").remote())
    attempt("name", lambda: ray.remote(Plain).options(name="").remote())
    attempt("get_actor(None)", lambda: ray.get_actor(None))
    attempt("get_actor('')", lambda: ray.get_actor(""))
    attempt("namespace of get_actor", lambda: ray.get_actor("x", namespace=""))


@case
def kinds_of_ids(ray: Any) -> None:
    print(ray.ObjectID is ray.ObjectRef)

    @ray.remote
    def look() -> Any:
        context = ray.get_runtime_context()
        old = [type(context.task_id).__name__, type(context.node_id).__name__, type(context.job_id).__name__]
        new = [
            type(found).__name__
            for found in (context.get_task_id(), context.get_node_id(), context.get_job_id(), context.get_worker_id())
        ]
        return old, new

    print(ray.get(look.remote()))
    context = ray.get_runtime_context()
    print(sorted(key for key in context.get()), [type(v).__name__ for _, v in sorted(context.get().items())])


@case
def an_exception_that_forbids_subclasses(ray: Any) -> None:
    class Final(Exception):
        def __init_subclass__(cls, **kwargs: Any) -> None:
            raise TypeError("no subclasses")

    def fail() -> None:
        raise Final("x")

    try:
        ray.get(ray.remote(fail).remote())
    except Exception as error:
        print(type(error).__name__, type(error.cause).__name__, isinstance(error, ray.exceptions.RayTaskError))


@case
def a_subprocess_of_an_actor(ray: Any) -> None:
    @ray.remote
    class Shell:
        def run(self) -> str:
            code = "import os; print(os.getppid())"
            out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            return "parent" if int(out.stdout) == os.getpid() else "other"

    print(ray.get(Shell.remote().run.remote()))


@case
def an_argument_that_was_fetched_frees_the_worker(ray: Any) -> None:
    f = ray.remote(lambda x: x.sum())
    ref = ray.put(np.ones(1_000_000))
    print(ray.get([f.remote(ref) for _ in range(5)]))
    del ref
    print(ray.get(ray.remote(lambda: 1).remote()))


@case
def texts_that_programs_match(ray: Any) -> None:
    @ray.remote
    class Plain:
        def wait(self) -> None:
            time.sleep(0.5)

    actor = Plain.remote()
    ref = actor.wait.remote()
    try:
        ray.cancel(ref, force=True)
    except Exception as error:
        print(type(error).__name__, "force=True is not supported" in str(error))
    try:
        Plain()
    except Exception as error:
        print(type(error).__name__, "cannot be instantiated directly" in str(error), ".remote()" in str(error))
    try:
        actor.wait()
    except Exception as error:
        print(type(error).__name__, "cannot be called directly" in str(error))


@case
def a_function_that_is_too_large(ray: Any) -> None:
    big = bytes(120 * 1024 * 1024)

    @ray.remote
    def heavy() -> int:
        return len(big)

    try:
        ray.get(heavy.remote())
    except Exception as error:
        print(type(error).__name__, "is too large" in str(error), "heavy" in str(error))


@gpu_case
def a_worker_without_gpus_is_not_used_for_them(ray: Any) -> None:
    pid = ray.remote(lambda: os.getpid())
    first = ray.get(pid.remote())
    print(ray.get(pid.options(num_gpus=1).remote()) == first, ray.get(pid.remote()) == first)
