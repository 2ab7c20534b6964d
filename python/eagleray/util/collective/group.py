"""A process as a member of groups."""

from __future__ import annotations

from typing import Any

from eagleray._private.session import api
from eagleray._private.session.decorator import remote
from eagleray._private.state import WORKER, process
from eagleray.exceptions import RayActorError
from eagleray.runtime_context import get_runtime_context
from eagleray.util.collective import bfloat16
from eagleray.util.collective.exchange import Exchange
from eagleray.util.collective.types import Backend, ReduceOp

_PREFIX = "eagleray.collective:"


class Group:
    """This process's place in a group.

    Attributes:
        name: Of the group.
        rank: Of this process.
        world_size: How many members there are.
    """

    def __init__(self, name: str, rank: int, world_size: int, exchange: Any) -> None:
        self.name = name
        self.rank = rank
        self.world_size = world_size
        self._exchange = exchange
        self._calls = 0

    @classmethod
    def backend(cls) -> str:
        """The name of the backend."""
        return Backend.GLOO

    def join(self) -> None:
        """Waits until all members have come.

        Raises:
            RuntimeError: they have not come in time, or this rank is taken.
        """
        who = get_runtime_context().get_worker_id()
        self._raise(self._ask(self._exchange.join.remote(self.rank, self.world_size, who)))

    def leave(self) -> None:
        """Leaves the group. The last one ends it."""
        try:
            if api.get(self._exchange.leave.remote(self.rank)):
                api.kill(self._exchange)
        except RayActorError:
            pass  # another member has ended it

    def meet(self, call: tuple[Any, ...], part: Any) -> Any:
        """Makes a call that all members make, and returns what this one gets."""
        self._calls += 1
        problem, found = self._ask(self._exchange.meet.remote(self._calls, self.rank, call, part))
        self._raise(problem, call[0])
        return found

    def send(self, target: int, value: Any) -> None:
        """Sends a value to a member."""
        self._ask(self._exchange.send.remote(self.rank, target, value))

    def receive(self, source: int) -> Any:
        """Waits for a value of a member."""
        problem, found = self._ask(self._exchange.receive.remote(source, self.rank))
        self._raise(problem, "recv")
        return found

    def _ask(self, ref: Any) -> Any:
        try:
            return api.get(ref)
        except RayActorError as error:
            raise RuntimeError(
                f"collective group {self.name!r} has ended: its last member has left it, or the process that made it "
                f"has ended ({error})"
            ) from None

    def _raise(self, problem: str | None, what: str = "") -> None:
        if problem is not None:
            raise RuntimeError(f"collective group {self.name!r}{', ' + what if what else ''}: {problem}")


#: The groups of this process.
groups: dict[str, Group] = {}


def make_exchange(name: str, size: int, timeout: float, ranks: dict[str, int] | None, *, new: bool) -> Any:
    """Returns the actor of a group, which is made unless it is there."""
    made = remote(Exchange).options(
        name=_PREFIX + name, num_cpus=0, get_if_exists=not new, max_concurrency=max(1000, 4 * size)
    )
    return made.remote(size, timeout, ranks)


def find(name: str) -> Group:
    """Returns this process's place in a group. A member that a driver has declared joins with its first call.

    Raises:
        RuntimeError: the process is no member.
    """
    inside()
    found = groups.get(name)
    if found is not None:
        return found
    no = RuntimeError(
        f"this process is no member of the collective group {name!r}: call init_collective_group() in it, or "
        f"create_collective_group() with its actor in the driver"
    )
    try:
        exchange = api.get_actor(_PREFIX + name)
    except ValueError:
        raise no from None
    size, ranks = api.get(exchange.declared.remote())
    actor = get_runtime_context().get_actor_id()
    if ranks is None or actor not in ranks:
        raise no
    return join(name, ranks[actor], size, exchange)


def join(name: str, rank: int, size: int, exchange: Any) -> Group:
    """Makes this process a member of a group."""
    group = Group(name, rank, size, exchange)
    group.join()
    groups[name] = group
    return group


def inside() -> None:
    """Raises unless this is a task or an actor.

    Raises:
        RuntimeError: it is a driver.
    """
    session = process.session
    if session is None or session.role != WORKER:
        raise RuntimeError("collective calls can be made in tasks and actors only, and this is a driver")


def check_op(op: Any) -> ReduceOp:
    """Returns the operation.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op must be a ReduceOp, as ReduceOp.SUM, got {op!r}")
    return op


def array(tensor: Any) -> Any:
    """The numpy array that shares memory with a tensor of a CPU. That of ``bfloat16`` has ``bfloat16.TYPE``.

    Raises:
        TypeError: it is no numpy array and no torch tensor on a CPU, or numpy has no such array.
    """
    import sys

    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(tensor, numpy.ndarray):
        return tensor
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu":
        if tensor.dtype is torch.bfloat16:
            return tensor.detach().view(torch.int16).numpy().view(bfloat16.TYPE)
        try:
            return tensor.detach().numpy()
        except TypeError as error:
            raise TypeError(
                f"collective calls with the backend 'gloo' do not take tensors of {tensor.dtype} with the layout "
                f"{tensor.layout}, of which numpy has no array: {error}"
            ) from None
    raise TypeError(
        f"collective calls with the backend 'gloo' take numpy arrays and torch tensors on a CPU, got {type(tensor)}"
    )


def write(tensor: Any, value: Any) -> None:
    """Writes an array into a tensor of the same shape.

    Raises:
        RuntimeError: the shapes differ, or the tensor cannot be written.
    """
    target = array(tensor)
    if target.shape != value.shape or target.dtype != value.dtype:
        raise RuntimeError(
            f"the tensor has shape {target.shape} of {bfloat16.name(target.dtype)}, and what it gets has shape "
            f"{value.shape} of {bfloat16.name(value.dtype)}"
        )
    if not target.flags.writeable:
        raise RuntimeError("the tensor cannot be written: it is an argument from the object store, so copy it first")
    target[...] = value
