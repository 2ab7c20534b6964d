"""Small helpers whose names and texts programs rely on."""

from __future__ import annotations

import os
import threading
import warnings
from importlib import import_module
from typing import Any

from casebook import attempt, case, own_session


def module(ray: Any, name: str) -> Any:
    return import_module(f"{ray.__name__}.{name}")


@own_session
def resources_that_a_variable_overrides(ray: Any) -> None:
    os.environ["RAY_OVERRIDE_RESOURCES"] = '{"disk": 1, "tape": 2, "CPU": 3, "GPU": 1}'
    try:
        ray.init("local", num_cpus=1, resources={"disk": 3, "rack": 3}, log_to_driver=False)
        total = ray.cluster_resources()
        print([(name, total[name]) for name in ("disk", "tape", "rack", "CPU", "GPU")])
        found = ray.remote(resources={"tape": 2})(lambda: "on a node with tapes")
        print(ray.get(found.remote(), timeout=60))
        ray.shutdown()
    finally:
        del os.environ["RAY_OVERRIDE_RESOURCES"]


@own_session
def memory_counts_in_whole_bytes(ray: Any) -> None:
    @ray.remote
    def f() -> str:
        return "ran"

    @ray.remote
    class A:
        def f(self) -> str:
            return "ran"

    for has, asked in ((2, 2.9), (0.2, 0.5), (2.2, 2.9)):
        ray.init("local", num_cpus=1, _memory=has, log_to_driver=False)
        print(has, asked, ray.get(f.options(memory=asked).remote(), timeout=60))
        print(ray.get(A.options(memory=asked).remote().f.remote(), timeout=60))
        ray.shutdown()


@case
def states_in_which_no_actor_can_be(ray: Any) -> None:
    actors = module(ray, "_private.state").actors

    class A:
        def ping(self) -> None:
            pass

    one = ray.remote(A).remote()
    ray.get(one.ping.remote())
    print(one._actor_id.hex() in actors(actor_state_name="ALIVE"))
    print(one._actor_id.hex() in actors(actor_state_name="DEAD"))
    try:
        actors(actor_state_name="ASLEEP")
    except ValueError as error:
        print("not a valid actor state name" in str(error))


@case
def calls_of_a_pool_that_wait_for_an_actor(ray: Any) -> None:
    class A:
        def double(self, x: int) -> int:
            return 2 * x

    one, two, three = (ray.remote(A).remote() for _ in range(3))
    pool = module(ray, "util").ActorPool([one])
    pool.submit(lambda a, v: a.double.remote(v), 1)
    print(pool.has_free(), pool.pop_idle())
    attempt("the same actor", lambda: pool.push(one))
    pool.push(two)
    print(pool.has_free())
    for value in (2, 3):
        pool.submit(lambda a, v: a.double.remote(v), value)
    print(pool.has_free(), len(pool._pending_submits))
    pool.push(three)
    print(pool.has_free(), len(pool._pending_submits), [pool.get_next() for _ in range(3)])


@case
def what_the_old_group_of_actors_says(ray: Any) -> None:
    class A:
        def echo(self, value: int) -> int:
            return value

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        group = module(ray, "util.actor_group").ActorGroup(A, num_actors=2)
    print(any("use ray.util.multiprocessing" in str(one.message) for one in caught))
    print(len(group), ray.get(group.echo.remote(1)))
    group.shutdown()


@case
def a_pickle_for_debugging(ray: Any) -> None:
    pickles = module(ray, "cloudpickle")
    lock = threading.Lock()

    def uses_lock() -> None:
        print(lock)

    for value in (lock, uses_lock, [1, {"a": lock}]):
        try:
            pickles.dumps_debug(value)
        except TypeError:
            print("TypeError")
    print(pickles.loads(pickles.dumps_debug({"a": [1]})))


@case
def the_old_place_of_queues(ray: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        old = module(ray, "experimental.queue")
    new = module(ray, "util.queue")
    print(old.Queue is new.Queue, old.Empty is new.Empty, old.Full is new.Full)
    print(any(issubclass(one.category, DeprecationWarning) for one in caught))


@case
def functions_that_become_coroutines(ray: Any) -> None:
    helpers = module(ray, "_private.async_compat")

    def plain() -> int:
        return 1

    async def coroutine() -> int:
        return 1

    for function in (plain, coroutine):
        made = helpers.sync_to_async(function)
        print(made is helpers.sync_to_async(function), helpers.is_async_func(function), helpers.is_async_func(made))
