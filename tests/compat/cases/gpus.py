"""Declared GPUs on a machine that has none: ids, fractions, the visibility variable, fresh workers."""

from __future__ import annotations

import functools
import importlib
import os
import sys
import time
from typing import Any

from casebook import accepts, attempt, case, eventually, gpu_case, own_session


def who_class(ray: Any) -> Any:
    @ray.remote
    class Who:
        def ids(self) -> Any:
            return ray.get_gpu_ids()

        def visible(self) -> str | None:
            return os.environ.get("CUDA_VISIBLE_DEVICES")

    return Who


def all_free(ray: Any) -> None:
    """Waits until the actors of an earlier case gave their GPUs back, so that ids start at 0."""
    eventually(lambda: ray.available_resources().get("GPU"), 4.0)


@gpu_case
def ids_of_a_task(ray: Any) -> None:
    @ray.remote
    def ids() -> tuple[Any, str | None]:
        return ray.get_gpu_ids(), os.environ.get("CUDA_VISIBLE_DEVICES")

    for number in (1, 2, 0.5):
        all_free(ray)
        print(number, ray.get(ids.options(num_gpus=number).remote()))


@gpu_case
def accelerator_ids(ray: Any) -> None:
    all_free(ray)

    @ray.remote(num_gpus=2)
    def ids() -> tuple[list[str], list[str]]:
        found = ray.get_runtime_context().get_accelerator_ids()
        return found["GPU"], [name for name, values in found.items() if values]

    print(ray.get(ids.remote()))
    print(ray.get(ids.options(num_gpus=0).remote()))
    print(ray.get_runtime_context().get_accelerator_ids()["GPU"])


@case
def ids_without_gpus(ray: Any) -> None:
    print(ray.get_gpu_ids(), ray.get(ray.remote(lambda: ray.get_gpu_ids()).remote()))


@case
def the_variable_without_a_gpu(ray: Any) -> None:
    read = ray.remote(lambda: os.environ.get("CUDA_VISIBLE_DEVICES"))
    print(repr(ray.get(read.remote())), repr(ray.get(read.options(num_gpus=0).remote())))


@gpu_case
def the_variable_without_a_gpu_beside_some(ray: Any) -> None:
    read = ray.remote(lambda: os.environ.get("CUDA_VISIBLE_DEVICES"))
    print(repr(ray.get(read.remote())), repr(ray.get(read.options(num_gpus=0).remote())))


@own_session
def fractions_are_packed(ray: Any) -> None:
    ray.init(num_cpus=4, num_gpus=3, log_to_driver=False)
    Who = who_class(ray)
    actors = []
    for _ in range(3):
        actors.append(Who.options(num_gpus=0.5).remote())
        print(ray.get(actors[-1].ids.remote()))


@own_session
def quarters_share_one(ray: Any) -> None:
    ray.init(num_cpus=4, num_gpus=1, log_to_driver=False)
    actors = [who_class(ray).options(num_gpus=0.25, num_cpus=0).remote() for _ in range(4)]
    print(ray.get([actor.ids.remote() for actor in actors], timeout=60))
    print(ray.get([actor.visible.remote() for actor in actors]))
    print(eventually(lambda: ray.available_resources().get("GPU", 0.0), 0.0))


@own_session
def lowest_first_and_returned(ray: Any) -> None:
    ray.init(num_cpus=4, num_gpus=3, log_to_driver=False)
    Who = who_class(ray)
    actors = []
    for _ in range(3):
        actors.append(Who.options(num_gpus=1, num_cpus=0).remote())
        print(ray.get(actors[-1].ids.remote()), ray.get(actors[-1].visible.remote()))
    ray.kill(actors[1])
    again = Who.options(num_gpus=1, num_cpus=0).remote()
    print("the freed one:", ray.get(again.ids.remote(), timeout=30))


@own_session
def a_whole_one_skips_a_shared_one(ray: Any) -> None:
    ray.init(num_cpus=4, num_gpus=2, log_to_driver=False)
    Who = who_class(ray)
    half = Who.options(num_gpus=0.5).remote()
    print(ray.get(half.ids.remote()))
    whole = Who.options(num_gpus=1).remote()
    print(ray.get(whole.ids.remote()))
    second = Who.options(num_gpus=0.5).remote()
    print(ray.get(second.ids.remote()))


@own_session
def actor_then_task(ray: Any) -> None:
    ray.init(num_cpus=2, num_gpus=2, log_to_driver=False)
    actor = who_class(ray).options(num_gpus=1).remote()
    print(ray.get(actor.ids.remote()), ray.get(actor.visible.remote()))
    ids = ray.remote(num_gpus=1)(lambda: (ray.get_gpu_ids(), os.environ["CUDA_VISIBLE_DEVICES"]))
    print(ray.get(ids.remote()))


@own_session
def a_task_waits_for_a_gpu(ray: Any) -> None:
    ray.init(num_cpus=2, num_gpus=1, log_to_driver=False)
    actor = who_class(ray).options(num_gpus=1).remote()
    ray.get(actor.ids.remote())
    ref = ray.remote(num_gpus=1)(lambda: ray.get_gpu_ids()).remote()
    print(len(ray.wait([ref], timeout=0.5)[0]))
    del actor
    print(ray.get(ref, timeout=30))


@gpu_case
def a_fresh_worker_each_time(ray: Any) -> None:
    pid = ray.remote(num_gpus=1)(lambda: os.getpid())
    print(len({ray.get(pid.remote()) for _ in range(3)}))


@gpu_case
def reuse_when_asked(ray: Any) -> None:
    pid = ray.remote(num_gpus=1, max_calls=0)(lambda: os.getpid())
    print("used again:", len({ray.get(pid.remote()) for _ in range(4)}) < 4)


@gpu_case
def the_variable_is_set_again(ray: Any) -> None:
    all_free(ray)

    @ray.remote(num_gpus=1, max_calls=0)
    def change() -> str | None:
        before = os.environ.get("CUDA_VISIBLE_DEVICES")
        os.environ["CUDA_VISIBLE_DEVICES"] = "7"
        return before

    print([ray.get(change.remote()) for _ in range(3)])


@gpu_case
def set_before_the_function_arrives(ray: Any) -> None:
    all_free(ray)

    class Recorder:
        """Notes the variable when it is unpickled, as an import of a GPU library would."""

        def __reduce__(self) -> Any:
            return (eval, ("__import__('os').environ.get('CUDA_VISIBLE_DEVICES')",))

    recorder = Recorder()
    print(ray.get(ray.remote(num_gpus=1)(lambda: recorder).remote()))
    all_free(ray)

    @ray.remote(num_gpus=1)
    class Actor:
        seen = recorder

        def read(self) -> Any:
            return self.seen

    print(ray.get(Actor.remote().read.remote()))


@gpu_case
def setting_it_from_the_ids(ray: Any) -> None:
    all_free(ray)

    @ray.remote(num_gpus=2)
    def use() -> str:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, ray.get_gpu_ids()))
        return f"This function is allowed to use GPUs {os.environ['CUDA_VISIBLE_DEVICES']}."

    print(ray.get(use.remote()))


@gpu_case
def assigned_to_an_actor(ray: Any) -> None:
    @ray.remote(num_gpus=0.5)
    class Who:
        def assigned(self) -> list[tuple[str, float]]:
            return sorted(ray.get_runtime_context().get_assigned_resources().items())

    print(ray.get(Who.remote().assigned.remote()))
    print(ray.get(Who.options(num_cpus=2, num_gpus=1).remote().assigned.remote()))


@own_session
def a_visibility_list_for_the_node(ray: Any) -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = "5,7"
    try:
        ray.init(num_cpus=2, num_gpus=2, log_to_driver=False)
        actors = [who_class(ray).options(num_gpus=1).remote() for _ in range(2)]
        print(sorted(ray.get([actor.ids.remote() for actor in actors])))
        print(sorted(ray.get([actor.visible.remote() for actor in actors])))
    finally:
        del os.environ["CUDA_VISIBLE_DEVICES"]


@own_session
def a_visibility_list_that_is_too_short(ray: Any) -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    try:
        accepts("two of one", lambda: ray.init(num_cpus=1, num_gpus=2, log_to_driver=False))
    finally:
        del os.environ["CUDA_VISIBLE_DEVICES"]


@own_session
def no_gpus_declared(ray: Any) -> None:
    ray.init(num_cpus=1, num_gpus=0, log_to_driver=False)
    print("GPU" in ray.cluster_resources())
    ref = ray.remote(num_gpus=1)(lambda: 1).remote()
    started = time.monotonic()
    print("ready:", len(ray.wait([ref], timeout=3)[0]), "known early:", time.monotonic() - started < 2)
    attempt("get", lambda: ray.get(ref, timeout=1))


@own_session
def an_actor_that_never_fits(ray: Any) -> None:
    ray.init(num_cpus=1, num_gpus=1, log_to_driver=False)
    accepts("two of one GPU", lambda: who_class(ray).options(num_gpus=2).remote())
    accepts("CPUs", lambda: who_class(ray).options(num_cpus=2).remote())
    accepts("unknown", lambda: who_class(ray).options(resources={"disk": 1}).remote())
    accepts("what is there", lambda: who_class(ray).options(num_gpus=1).remote())


@case
def names_of_types(ray: Any) -> None:
    found = importlib.import_module(ray.__name__ + ".util.accelerators")
    inner = sys.modules.get(found.__name__ + ".accelerators", found)  # Ray's package has them in a module
    for name in sorted(name for name in vars(inner) if name[0].isupper() and isinstance(getattr(inner, name), str)):
        print(name, getattr(inner, name))
    print(found.NVIDIA_TESLA_A100)


@gpu_case
def parts_of_devices(ray: Any) -> None:
    def decorate(**options: Any) -> Any:
        return ray.remote(**options)(lambda: None)

    for name in ("TPU", "neuron_cores", "HPU"):
        for amount in (0.5, 1.5):
            attempt(f"{amount} {name}", functools.partial(decorate, resources={name: amount}))
    attempt("3 TPU", lambda: decorate(resources={"TPU": 3}))
    attempt("1.5 GPU", lambda: decorate(num_gpus=1.5).remote())
    attempt("1.5 NPU", lambda: decorate(resources={"NPU": 1.5}).remote())
