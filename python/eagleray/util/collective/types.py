"""Names of backends, operations, and options of calls."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

__all__ = [
    "AllGatherOptions",
    "AllReduceOptions",
    "Backend",
    "BarrierOptions",
    "BroadcastOptions",
    "RecvOptions",
    "ReduceOp",
    "ReduceOptions",
    "ReduceScatterOptions",
    "SendOptions",
]

#: The timeout of a call that names none: that of its group.
unset_timeout_ms: timedelta = timedelta(milliseconds=-1)


class Backend(str):
    """The name of a backend, in capitals: ``GLOO`` or ``NCCL``.

    Raises:
        ValueError: there is no such backend.
        TypeError: the name is not a string.
    """

    NCCL = "NCCL"
    GLOO = "GLOO"
    UNRECOGNIZED = "unrecognized"

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise TypeError(f"the name of a backend must be a string, got {type(name).__name__}")
        found = {"TORCH_GLOO": cls.GLOO}.get(name.upper(), name.upper())
        if found not in (cls.NCCL, cls.GLOO):
            raise ValueError(f"Unrecognized backend: {name!r}: there are 'gloo', for CPUs, and 'nccl'")
        return found


class ReduceOp(Enum):
    """How the values of all members become one."""

    SUM = 0
    PRODUCT = 1
    MIN = 2
    MAX = 3


@dataclass
class AllReduceOptions:
    """Options of ``allreduce``."""

    reduceOp: ReduceOp = ReduceOp.SUM
    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class BarrierOptions:
    """Options of ``barrier``."""

    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class ReduceOptions:
    """Options of ``reduce``."""

    reduceOp: ReduceOp = ReduceOp.SUM
    root_rank: int = 0
    root_tensor: int = 0
    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class AllGatherOptions:
    """Options of ``allgather``."""

    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class BroadcastOptions:
    """Options of ``broadcast``."""

    root_rank: int = 0
    root_tensor: int = 0
    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class ReduceScatterOptions:
    """Options of ``reducescatter``."""

    reduceOp: ReduceOp = ReduceOp.SUM
    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class SendOptions:
    """Options of ``send``."""

    dst_rank: int = 0
    dst_gpu_index: int = 0
    n_elements: int = 0
    timeout_ms: timedelta = unset_timeout_ms


@dataclass
class RecvOptions:
    """Options of ``recv``."""

    src_rank: int = 0
    src_gpu_index: int = 0
    n_elements: int = 0
    unset_timeout_ms: timedelta = unset_timeout_ms
