"""Ray's enumerations, with the methods that those of Protocol Buffers have."""

from __future__ import annotations

from collections.abc import Iterator


class Enumeration:
    """Names with numbers.

    Args:
        names: The names, in the order of their numbers; an empty text leaves a number out.
    """

    def __init__(self, *names: str) -> None:
        self._numbers = {name: number for number, name in enumerate(names) if name}
        self._names = {number: name for name, number in self._numbers.items()}

    def Name(self, number: int) -> str:
        """Returns the name of a number.

        Raises:
            ValueError: no name has it.
        """
        if number not in self._names:
            raise ValueError(f"no name has the number {number}: the numbers are {sorted(self._names)}")
        return self._names[number]

    def Value(self, name: str) -> int:
        """Returns the number of a name.

        Raises:
            ValueError: there is no such name.
        """
        if name not in self._numbers:
            raise ValueError(f"there is no name {name!r}: the names are {', '.join(self._numbers)}")
        return self._numbers[name]

    def keys(self) -> list[str]:
        """Returns the names."""
        return list(self._numbers)

    def values(self) -> list[int]:
        """Returns the numbers."""
        return list(self._names)

    def items(self) -> list[tuple[str, int]]:
        """Returns the names with their numbers."""
        return list(self._numbers.items())

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __getattr__(self, name: str) -> int:
        if name.startswith("_") or name not in self._numbers:
            raise AttributeError(f"there is no name {name!r} in this enumeration")
        return self._numbers[name]


class Holder:
    """What stands for a message that has an enumeration inside: the enumeration and its values are attributes.

    Args:
        name: The enumeration's name.
        inside: The enumeration.
    """

    def __init__(self, name: str, inside: Enumeration) -> None:
        self.DESCRIPTOR = name
        setattr(self, name, inside)
        for value, number in inside.items():
            setattr(self, value, number)


ACTOR_STATES = Enumeration("DEPENDENCIES_UNREADY", "PENDING_CREATION", "ALIVE", "RESTARTING", "DEAD")

COMMON: dict[str, Enumeration | Holder] = {
    "Language": Enumeration("PYTHON", "JAVA", "CPP"),
    "WorkerType": Enumeration("WORKER", "DRIVER", "SPILL_WORKER", "RESTORE_WORKER"),
    "TaskType": Enumeration("NORMAL_TASK", "ACTOR_CREATION_TASK", "ACTOR_TASK", "DRIVER_TASK"),
    "WorkerExitType": Enumeration(
        *("SYSTEM_ERROR", "INTENDED_SYSTEM_EXIT", "USER_ERROR", "INTENDED_USER_EXIT", "NODE_OUT_OF_MEMORY")
    ),
    "TaskStatus": Enumeration(
        *("NIL", "PENDING_ARGS_AVAIL", "PENDING_NODE_ASSIGNMENT", "PENDING_OBJ_STORE_MEM_AVAIL", "PENDING_ARGS_FETCH"),
        *("SUBMITTED_TO_WORKER", "PENDING_ACTOR_TASK_ARGS_FETCH", "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY"),
        *("RUNNING", "RUNNING_IN_RAY_GET", "RUNNING_IN_RAY_WAIT", "FINISHED", "FAILED", "GETTING_AND_PINNING_ARGS"),
    ),
    "ErrorType": Enumeration(
        *("WORKER_DIED", "ACTOR_DIED", "", "TASK_EXECUTION_EXCEPTION", "OBJECT_IN_PLASMA", "TASK_CANCELLED"),
        *("ACTOR_CREATION_FAILED", "RUNTIME_ENV_SETUP_FAILED", "OBJECT_LOST", "OWNER_DIED", "OBJECT_DELETED"),
        *("DEPENDENCY_RESOLUTION_FAILED", "OBJECT_UNRECONSTRUCTABLE_MAX_ATTEMPTS_EXCEEDED"),
        *("OBJECT_UNRECONSTRUCTABLE_LINEAGE_EVICTED", "OBJECT_FETCH_TIMED_OUT", "LOCAL_RAYLET_DIED"),
        *("TASK_PLACEMENT_GROUP_REMOVED", "ACTOR_PLACEMENT_GROUP_REMOVED", "TASK_UNSCHEDULABLE_ERROR"),
        *("ACTOR_UNSCHEDULABLE_ERROR", "OUT_OF_DISK_ERROR", "OBJECT_FREED", "OUT_OF_MEMORY", "NODE_DIED"),
        *("END_OF_STREAMING_GENERATOR", "ACTOR_UNAVAILABLE", "GENERATOR_TASK_FAILED_FOR_OBJECT_RECONSTRUCTION"),
        *("OBJECT_UNRECONSTRUCTABLE_PUT", "OBJECT_UNRECONSTRUCTABLE_RETRIES_DISABLED"),
        *("OBJECT_UNRECONSTRUCTABLE_BORROWED", "OBJECT_UNRECONSTRUCTABLE_REF_NOT_FOUND"),
        *("OBJECT_UNRECONSTRUCTABLE_TASK_CANCELLED", "OBJECT_UNRECONSTRUCTABLE_LINEAGE_DISABLED"),
        *("WORKER_STARTUP_FAILED", "STREAMING_GENERATOR_REPLAY_INCONSISTENT"),
    ),
    "PlacementStrategy": Enumeration("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"),
}

GCS: dict[str, Enumeration | Holder] = {
    "ActorTableData": Holder("ActorState", ACTOR_STATES),
    "GcsNodeInfo": Holder("GcsNodeState", Enumeration("ALIVE", "DEAD")),
    "PlacementGroupTableData": Holder(
        "PlacementGroupState", Enumeration("PENDING", "PREPARED", "CREATED", "REMOVED", "RESCHEDULING")
    ),
}
