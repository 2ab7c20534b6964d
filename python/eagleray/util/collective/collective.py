"""The calls of a group's members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from eagleray._private.session import api
from eagleray.util.collective import bfloat16
from eagleray.util.collective import group as members
from eagleray.util.collective.types import Backend, ReduceOp

#: Milliseconds that calls wait for the other members.
_TIMEOUT_MS = 30_000


def nccl_available() -> bool:
    """Whether groups can use NCCL: never, so far."""
    return False


def gloo_available() -> bool:
    """Whether groups can be made on CPUs: that needs numpy."""
    import importlib.util

    return importlib.util.find_spec("numpy") is not None


def is_backend_available(backend: str) -> bool:
    """Whether groups of a backend can be made."""
    return gloo_available() if Backend(backend) == Backend.GLOO else nccl_available()


def register_collective_backend(name: str, group_cls: Any) -> NoReturn:
    """Always raises: there are no backends of one's own.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("collective groups take no backends of one's own: use the backend 'gloo'")


def _check(backend: Any, world_size: Any, group_name: Any, timeout: Any) -> None:
    if Backend(backend) == Backend.NCCL:
        raise NotImplementedError(
            "collective groups have no backend 'nccl' here: give backend='gloo' for arrays on CPUs, or use "
            "torch.distributed with nccl inside of the actors"
        )
    if not gloo_available():
        raise ImportError("collective groups need numpy: pip install 'eagleray[numpy]'", name="numpy")
    if not group_name or not isinstance(group_name, str):
        raise ValueError(f"group_name must be a text that is not empty, got {group_name!r}")
    if isinstance(world_size, bool) or not isinstance(world_size, int) or world_size <= 0:
        raise RuntimeError(f"World size must be greater than zero. Got '{world_size}'.")
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0:
        raise ValueError(f"gloo_timeout must be a number of milliseconds above 0, got {timeout!r}")


def init_collective_group(
    world_size: int,
    rank: int,
    backend: str = Backend.NCCL,
    group_name: str = "default",
    gloo_timeout: int = _TIMEOUT_MS,
) -> None:
    """Makes this task or actor a member of a group, and waits for the other members.

    Args:
        world_size: How many members there are.
        rank: The number of this one, from 0.
        backend: ``"gloo"``.
        group_name: The name of the group, in the namespace of the job.
        gloo_timeout: Milliseconds that calls wait for the other members.

    Raises:
        RuntimeError: this is a driver, the process is a member already, the numbers make no sense, or the others have
            not come in time.
        NotImplementedError: the backend is NCCL.
    """
    members.inside()
    _check(backend, world_size, group_name, gloo_timeout)
    if group_name in members.groups:
        raise RuntimeError(f"this process is a member of the collective group {group_name!r} already")
    if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < world_size:
        raise RuntimeError(f"rank must be from 0 to {world_size - 1}, as there are {world_size} members, got {rank!r}")
    exchange = members.make_exchange(group_name, world_size, gloo_timeout / 1000, None, new=False)
    members.join(group_name, rank, world_size, exchange)


def create_collective_group(
    actors: Sequence[Any],
    world_size: int,
    ranks: Sequence[int],
    backend: str = Backend.NCCL,
    group_name: str = "default",
    gloo_timeout: int = _TIMEOUT_MS,
) -> None:
    """Declares actors as members of a group. Each joins with its first call.

    The group ends when its last member has left it, or with the process that has called this.

    Args:
        actors: Handles.
        world_size: How many there are.
        ranks: The number of each, from 0.
        backend: ``"gloo"``.
        group_name: The name of the group, in the namespace of the job.
        gloo_timeout: Milliseconds that calls wait for the other members.

    Raises:
        RuntimeError: the group is there already, or the numbers make no sense.
        NotImplementedError: the backend is NCCL.
    """
    _check(backend, world_size, group_name, gloo_timeout)
    if len(ranks) != len(actors):
        raise RuntimeError(
            f"Each actor should correspond to one rank. Got '{len(ranks)}' ranks but '{len(actors)}' actors"
        )
    if sorted(ranks) != list(range(world_size)):
        raise RuntimeError(f"ranks must be the numbers from 0 to {world_size - 1}, each once, got {list(ranks)}")
    declared = {actor._actor_id.hex(): rank for actor, rank in zip(actors, ranks, strict=True)}
    if len(declared) != len(actors):
        raise RuntimeError("an actor is given more than once")
    try:
        exchange = members.make_exchange(group_name, world_size, gloo_timeout / 1000, declared, new=True)
        api.get(exchange.declared.remote())
    except ValueError:
        raise RuntimeError(f"there is a collective group {group_name!r} already") from None
    _made[group_name] = exchange


#: The groups that this process has declared.
_made: dict[str, Any] = {}


def is_group_initialized(group_name: str) -> bool:
    """Whether this process is a member of a group."""
    return group_name in members.groups


def destroy_collective_group(group_name: str = "default") -> None:
    """Leaves a group. Without a group of this name nothing happens."""
    made = _made.pop(group_name, None)
    if made is not None:
        api.kill(made)
        return
    members.inside()
    group = members.groups.pop(group_name, None)
    if group is not None:
        group.leave()


def get_rank(group_name: str = "default") -> int:
    """The number of this process in a group; -1 without one."""
    members.inside()
    group = members.groups.get(group_name)
    return -1 if group is None else group.rank


def get_collective_group_size(group_name: str = "default") -> int:
    """How many members a group has; -1 when this process is none of them."""
    members.inside()
    group = members.groups.get(group_name)
    return -1 if group is None else group.world_size


def get_group_handle(group_name: str = "default") -> members.Group:
    """This process's place in a group.

    Raises:
        RuntimeError: the process is no member.
    """
    return members.find(group_name)


def _rank(group: members.Group, what: str, rank: Any) -> Any:
    if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < group.world_size:
        raise ValueError(f"{what} must be from 0 to {group.world_size - 1}, got {rank!r}")
    return rank


def _form(tensor: Any) -> tuple[tuple[int, ...], str]:
    array = members.array(tensor)
    return array.shape, bfloat16.name(array.dtype)


def allreduce(tensor: Any, group_name: str = "default", op: ReduceOp = ReduceOp.SUM) -> None:
    """Combines the tensors of all members, and writes the result into each."""
    array = members.array(tensor)
    group = members.find(group_name)
    members.write(tensor, group.meet(("allreduce", members.check_op(op), *_form(tensor)), array))


def reduce(tensor: Any, dst_rank: int = 0, group_name: str = "default", op: ReduceOp = ReduceOp.SUM) -> None:
    """Combines the tensors of all members, and writes the result into that of one member."""
    array = members.array(tensor)
    group = members.find(group_name)
    found = group.meet(("reduce", members.check_op(op), _rank(group, "dst_rank", dst_rank), *_form(tensor)), array)
    if group.rank == dst_rank:
        members.write(tensor, found)


def broadcast(tensor: Any, src_rank: int = 0, group_name: str = "default") -> None:
    """Writes the tensor of one member into those of all others."""
    array = members.array(tensor)
    group = members.find(group_name)
    mine = group.rank == _rank(group, "src_rank", src_rank)
    found = group.meet(("broadcast", src_rank, *_form(tensor)), array if mine else None)
    if not mine:
        members.write(tensor, found)


def allgather(tensor_list: list[Any], tensor: Any, group_name: str = "default") -> None:
    """Writes the tensors of all members into a list of tensors, in the order of the ranks."""
    array = members.array(tensor)
    group = members.find(group_name)
    _check_list(tensor_list, group, "tensor_list")
    for one, value in zip(tensor_list, group.meet(("allgather", *_form(tensor)), array), strict=True):
        members.write(one, value)


def reducescatter(
    tensor: Any, tensor_list: list[Any], group_name: str = "default", op: ReduceOp = ReduceOp.SUM
) -> None:
    """Combines the lists of all members, and writes the result at the place of a member's rank into its tensor."""
    group = members.find(group_name)
    _check_list(tensor_list, group, "tensor_list")
    arrays = [members.array(one) for one in tensor_list]
    members.write(tensor, group.meet(("reducescatter", members.check_op(op), *_form(tensor)), arrays))


def _check_list(tensors: Any, group: members.Group, name: str) -> None:
    if not isinstance(tensors, list) or len(tensors) != group.world_size:
        raise RuntimeError(f"{name} must be a list of {group.world_size} tensors, one for each member")


def send(tensor: Any, dst_rank: int, group_name: str = "default") -> None:
    """Sends a tensor to a member, which receives it with ``recv``. It does not wait for that."""
    array = members.array(tensor)
    group = members.find(group_name)
    if _rank(group, "dst_rank", dst_rank) == group.rank:
        raise RuntimeError(f"The destination rank '{dst_rank}' is self.")
    group.send(dst_rank, array)


def recv(tensor: Any, src_rank: int, group_name: str = "default") -> None:
    """Waits for a tensor of a member, and writes it into this one."""
    members.array(tensor)
    group = members.find(group_name)
    if _rank(group, "src_rank", src_rank) == group.rank:
        raise RuntimeError(f"The destination rank '{src_rank}' is self.")
    members.write(tensor, group.receive(src_rank))


def barrier(group_name: str = "default") -> None:
    """Waits until all members have called this."""
    members.find(group_name).meet(("barrier",), None)


def _no_gpus(*args: Any, **kwargs: Any) -> NoReturn:
    """Always raises: the calls for several GPUs of a process need NCCL.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(
        "Multigpu calls requires NCCL and Cupy: collective groups have the backend 'gloo' for CPUs only. Use "
        "torch.distributed with nccl inside of the actors"
    )


allreduce_multigpu = _no_gpus
reduce_multigpu = _no_gpus
broadcast_multigpu = _no_gpus
allgather_multigpu = _no_gpus
reducescatter_multigpu = _no_gpus
send_multigpu = _no_gpus
recv_multigpu = _no_gpus
