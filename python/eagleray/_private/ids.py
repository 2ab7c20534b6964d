"""Identifiers as users see them: bytes of fixed length with a hex form."""

from __future__ import annotations

import os
from typing import ClassVar, TypeVar

_Self = TypeVar("_Self", bound="BaseID")


class BaseID:
    """Bytes with value semantics."""

    __slots__ = ("_bytes",)
    SIZE: ClassVar[int] = 28

    def __init__(self, id: bytes) -> None:  # the parameter has Ray's name
        if not isinstance(id, bytes) or len(id) != self.SIZE:
            raise ValueError(f"{type(self).__name__} takes {self.SIZE} bytes, got {id!r}")
        self._bytes = id

    @classmethod
    def from_binary(cls: type[_Self], id_bytes: bytes) -> _Self:
        """The id with these bytes."""
        return cls(id_bytes)

    @classmethod
    def from_hex(cls: type[_Self], hex_id: str | bytes) -> _Self:
        """The id with this hex form."""
        return cls(bytes.fromhex(hex_id if isinstance(hex_id, str) else hex_id.decode()))

    @classmethod
    def from_random(cls: type[_Self]) -> _Self:
        """A random id."""
        return cls(os.urandom(cls.SIZE))

    @classmethod
    def nil(cls: type[_Self]) -> _Self:
        """The id that names nothing."""
        return cls(b"\xff" * cls.SIZE)

    @classmethod
    def size(cls) -> int:
        """Length in bytes."""
        return cls.SIZE

    def is_nil(self) -> bool:
        """Whether this is the id that names nothing."""
        return self._bytes == b"\xff" * self.SIZE

    def binary(self) -> bytes:
        """The raw bytes."""
        return self._bytes

    def hex(self) -> str:
        """The hex form."""
        return self._bytes.hex()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaseID) and type(self) is type(other) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.hex()})"

    def __reduce__(self) -> tuple[type[BaseID], tuple[bytes]]:
        return type(self), (self._bytes,)


class UniqueID(BaseID):
    """28 random bytes."""

    __slots__ = ()


class NodeID(UniqueID):
    """A machine's daemon."""

    __slots__ = ()


class WorkerID(UniqueID):
    """A worker or driver process."""

    __slots__ = ()


class ClusterID(UniqueID):
    """A cluster."""

    __slots__ = ()


class FunctionID(UniqueID):
    """A function that tasks run."""

    __slots__ = ()


class ActorClassID(UniqueID):
    """A class of actors."""

    __slots__ = ()


class JobID(BaseID):
    """A driver's program."""

    __slots__ = ()
    SIZE: ClassVar[int] = 4

    @classmethod
    def from_int(cls, value: int) -> JobID:
        """The job with this number."""
        return cls(value.to_bytes(4, "big"))

    def int(self) -> int:
        """The job's number."""
        return int.from_bytes(self._bytes, "big")


class ActorID(BaseID):
    """An actor."""

    __slots__ = ()
    SIZE: ClassVar[int] = 16

    @property
    def job_id(self) -> JobID:
        """The job that made the actor."""
        return JobID(self._bytes[12:])


class TaskID(BaseID):
    """A task: the first 24 bytes of its first result's id."""

    __slots__ = ()
    SIZE: ClassVar[int] = 24

    def job_id(self) -> JobID:
        """The job that submitted the task."""
        return JobID(self._bytes[20:24])


def creation_of(actor_id: bytes) -> bytes:
    """Returns the id of the task that creates an actor."""
    return b"\xff" * 8 + actor_id


class PlacementGroupID(BaseID):
    """A placement group."""

    __slots__ = ()
    SIZE: ClassVar[int] = 18

    @classmethod
    def of(cls, job_id: JobID) -> PlacementGroupID:
        """A random id of a group that this job makes."""
        return cls(os.urandom(cls.SIZE - JobID.SIZE) + job_id.binary())
