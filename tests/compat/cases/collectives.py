"""``util.collective``: names, and what is refused before anybody is asked."""

from __future__ import annotations

import importlib
from typing import Any

from casebook import attempt, case


def collective(ray: Any) -> Any:
    return importlib.import_module(f"{ray.__name__}.util.collective")


def types(ray: Any) -> Any:
    return importlib.import_module(f"{ray.__name__}.util.collective.types")


@case
def names_of_backends(ray: Any) -> None:
    for name in ("gloo", "GLOO", "nccl", "torch_gloo", "mpi", "", "x"):
        attempt(repr(name), lambda name=name: types(ray).Backend(name))
    print(types(ray).Backend.NCCL, types(ray).Backend.GLOO)


@case
def operations(ray: Any) -> None:
    print([(one.name, one.value) for one in types(ray).ReduceOp])


@case
def options_of_calls(ray: Any) -> None:
    found = types(ray)
    print(found.AllReduceOptions().reduceOp, found.ReduceOptions().root_rank, found.BroadcastOptions().root_tensor)
    print(found.SendOptions().dst_rank, found.RecvOptions().src_rank, found.BarrierOptions().timeout_ms)


@case
def a_driver_is_no_member(ray: Any) -> None:
    found = collective(ray)
    print(found.is_group_initialized("none"))
    attempt("rank", lambda: found.get_rank("none"))
    attempt("size", lambda: found.get_collective_group_size("none"))
    attempt("init", lambda: found.init_collective_group(2, 0, "gloo"))


@case
def a_task_without_a_group(ray: Any) -> None:
    found = collective(ray)

    @ray.remote
    def ask() -> Any:
        return found.is_group_initialized("none"), found.get_rank("none"), found.get_collective_group_size("none")

    print(ray.get(ask.remote()))


@case
def ranks_of_declared_actors(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Member:
        pass

    made = [Member.remote() for _ in range(2)]
    for size, ranks in ((2, [0, 0]), (3, [0, 1, 2]), (2, [0]), (2, [0, -1]), (2, [0, 2]), (0, [0, 1])):
        attempt(
            f"{size} {ranks}",
            lambda size=size, ranks=ranks: collective(ray).create_collective_group(made, size, ranks, "gloo"),
        )


@case
def several_gpus_need_nccl(ray: Any) -> None:
    for name in ("allreduce", "reduce", "broadcast"):
        attempt(name, lambda name=name: getattr(collective(ray), f"{name}_multigpu")([1]))
    print(collective(ray).nccl_available())
