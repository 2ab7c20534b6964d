"""What Ray's own libraries use of Ray beside its API: keys and values, hooks, marks, sizes, states of actors."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from typing import Any

from casebook import case, own_session


def module(ray: Any, name: str) -> Any:
    return importlib.import_module(f"{ray.__name__}.{name}")


def wait_for(found: Callable[[], Any], wanted: Any) -> Any:
    """What is found, as soon as it is what is wanted, or after a minute."""
    deadline = time.monotonic() + 60
    while found() != wanted and time.monotonic() < deadline:
        time.sleep(0.02)
    return found()


@case
def keys_and_values(ray: Any) -> None:
    kv = module(ray, "experimental.internal_kv")
    print(kv._internal_kv_initialized(), kv._internal_kv_get("a"), kv._internal_kv_exists(b"a"))
    print(kv._internal_kv_put("a", "1"), kv._internal_kv_put(b"a", b"2"), kv._internal_kv_get(b"a"))
    print(kv._internal_kv_put("a", "3", overwrite=False), kv._internal_kv_get("a"), kv._internal_kv_exists("a"))
    print(kv._internal_kv_del("a"), kv._internal_kv_del("a"), kv._internal_kv_get("a"))


@case
def namespaces_of_keys(ray: Any) -> None:
    kv = module(ray, "experimental.internal_kv")
    for key in ("x1", "x2", "y"):
        kv._internal_kv_put(key, key.upper(), namespace="space")
    kv._internal_kv_put("x1", "other", namespace=b"elsewhere")
    print(sorted(kv._internal_kv_list("x", namespace="space")), kv._internal_kv_list("x", namespace="none"))
    print(kv._internal_kv_get("x1", namespace=b"space"), kv._internal_kv_get("x1", namespace="elsewhere"))
    print(kv._internal_kv_get("x1"), kv._internal_kv_del("x", del_by_prefix=True, namespace="space"))
    print(kv._internal_kv_list("", namespace="space"), kv._internal_kv_list("", namespace="elsewhere"))
    kv._internal_kv_del("", del_by_prefix=True, namespace="elsewhere")


@case
def tasks_read_the_drivers_keys(ray: Any) -> None:
    kv = module(ray, "experimental.internal_kv")
    kv._internal_kv_put("from", "driver", namespace="tasks")
    name = ray.__name__

    @ray.remote
    def answer() -> bytes | None:
        there = importlib.import_module(f"{name}.experimental.internal_kv")
        there._internal_kv_put("back", b"task", namespace="tasks")
        return there._internal_kv_get("from", namespace="tasks")

    print(ray.get(answer.remote()), kv._internal_kv_get("back", namespace="tasks"))
    kv._internal_kv_del("", del_by_prefix=True, namespace="tasks")


@case
def a_value_may_be_empty(ray: Any) -> None:
    kv = module(ray, "experimental.internal_kv")
    print(kv._internal_kv_put("empty", b""), kv._internal_kv_get("empty"), kv._internal_kv_exists("empty"))
    print(kv._internal_kv_del("empty"))


@own_session
def hooks_after_init(ray: Any) -> None:
    hooks = module(ray, "_private.worker")._post_init_hooks
    said: list[Any] = []

    def hook() -> None:
        said.append(ray.is_initialized())

    hooks.append(hook)
    print(said)
    ray.init(num_cpus=1, log_to_driver=False)
    print(said)
    ray.shutdown()
    ray.init(num_cpus=1, log_to_driver=False)
    hooks.remove(hook)
    print(said)
    ray.shutdown()
    ray.init(num_cpus=1, log_to_driver=False)
    print(said)


@case
def the_size_of_a_value(ray: Any) -> None:
    context = module(ray, "_private.worker").global_worker.get_serialization_context()
    large, small = context.serialize(bytes(1_000_000)), context.serialize({"a": 1})
    print(1_000_000 <= large.total_bytes < 1_010_000, 0 < small.total_bytes < 10_000)
    ref = ray.put(1)
    print(context.serialize([ref, {"b": ref}]).contained_object_refs.count(ref) > 0)


@case
def reducers_of_a_class(ray: Any) -> None:
    context = module(ray, "_private.worker").global_worker.get_serialization_context()
    context._register_cloudpickle_reducer(Odd, lambda odd: (str, ("reduced",)))
    print(ray.get(ray.put(Odd())))
    context._unregister_cloudpickle_reducer(Odd)
    print(type(ray.get(ray.put(Odd()))).__name__)


class Odd: ...


@case
def marks_of_libraries(ray: Any) -> None:
    found = module(ray, "util.annotations")

    @found.DeveloperAPI(stability="alpha")
    def young() -> int:
        """Gives one."""
        return 1

    class Holder:
        @found.Deprecated("use b")
        def a(self) -> int:
            """Gives two."""
            return 2

    print(young(), young._annotated_type.value, (young.__doc__ or "").startswith("Gives one."), Holder().a())


@case
def the_local_state_of_an_actor(ray: Any) -> None:
    @ray.remote(max_restarts=1, max_task_retries=-1)
    class Counter:
        def pid(self) -> int:
            return os.getpid()

        def end(self) -> None:
            os._exit(1)

    counter = Counter.remote()
    first = ray.get(counter.pid.remote())
    print(counter._get_local_state())
    os.kill(first, 9)
    print(ray.get(counter.pid.remote(), timeout=60) != first, wait_for(counter._get_local_state, 2))
    ray.kill(counter)
    print(wait_for(counter._get_local_state, 4))


@case
def marks_of_calls_are_texts(ray: Any) -> None:
    @ray.remote
    class Adder:
        def add(self, x: int) -> int:
            return x + 1

    one = ray.remote(lambda: 1)
    print(ray.get(one.options(_labels={"library": "x"}).remote()))
    adder = Adder.options(_labels={"library": "x"}).remote()
    print(ray.get(adder.add.options(_labels={"call": "y"}).remote(1)))


@case
def numbers_in_variables(ray: Any) -> None:
    constants = module(ray, "_private.ray_constants")
    os.environ["COMPAT_NUMBER"] = "2.5"
    print(constants.env_float("COMPAT_NUMBER", None), constants.env_float("COMPAT_NONE", None))
    os.environ["COMPAT_NUMBER"] = "3"
    print(constants.env_integer("COMPAT_NUMBER", 1), constants.env_integer("COMPAT_NONE", None))
    os.environ["COMPAT_NUMBER"] = "True"
    print(constants.env_bool("COMPAT_NUMBER", False), constants.env_bool("COMPAT_NONE", True))
    os.environ["COMPAT_NUMBER"] = "many"
    print(constants.env_integer("COMPAT_NUMBER", 7), constants.env_float("COMPAT_NUMBER", 7.5))


@case
def tables_of_further_nodes(ray: Any) -> None:
    state = module(ray, "_private.state").state
    print(state.get_draining_nodes(), state.get_max_resources_from_cluster_config())
